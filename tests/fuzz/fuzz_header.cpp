// Parses any bytes: what the header says must hold together, and a longer input must not change it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "../../kernels/native/core/jpeg/header.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::jpeg;
  Header header;
  const HeaderStatus status = parse_header(data, size, header);
  if (sentence(status)[0] == '\0') std::abort();
  if (header.orientation < 1 || header.orientation > 8) std::abort();
  if (status != HeaderStatus::ok) return 0;
  if (header.height == 0 || header.width == 0) std::abort();
  if (header.components < 1 || header.components > 4) std::abort();
  if (header.max_h < 1 || header.max_h > 4 || header.max_v < 1 || header.max_v > 4) std::abort();
  if (header.entropy_at > size || header.scan_at >= header.entropy_at) std::abort();
  if (data[header.scan_at] != 0xFF || data[header.scan_at + 1] != 0xDA) std::abort();
  if (header.claims_seekable() && header.mcus_a_row() % header.restart_interval != 0) std::abort();
  // Nothing after the first scan header was looked at.
  Header again;
  if (parse_header(data, header.entropy_at, again) != HeaderStatus::ok) std::abort();
  if (header.entropy_at > 0 &&
      parse_header(data, header.entropy_at - 1, again) == HeaderStatus::ok)
    std::abort();
  return 0;
}
