// Transcodes any bytes, and what came out once more: that must give the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "../../kernels/native/core/jpeg/transcode.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::jpeg;
  // A file may ask for more time than its bytes are worth to a fuzzer: 65,536 MCUs are enough.
  if (size > 1 << 16) return 0;
  TranscodeOptions options;
  options.keep_metadata = size % 2 == 1;
  options.max_interval = 1 + static_cast<unsigned>(size / 2 % 9);
  const Transcoded done = transcode(data, size, options);
  if (done.outcome == Outcome::different) std::abort();
  if (done.outcome != Outcome::transcoded) {
    if (done.data != nullptr || done.detail[0] == '\0') std::abort();
    return 0;
  }
  const Transcoded again = transcode(done.data.get(), done.size, options);
  if (again.outcome != Outcome::transcoded || again.size != done.size) std::abort();
  if (std::memcmp(again.data.get(), done.data.get(), done.size) != 0) std::abort();
  return 0;
}
