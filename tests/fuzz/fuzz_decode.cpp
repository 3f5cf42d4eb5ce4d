// Decodes any bytes, by both entropy decoders: what libjpeg's finds damaged ours must, and where
// both decode their pixels must be equal. Windows must equal the whole.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "../../kernels/native/core/jpeg/decode.hpp"

namespace {

using namespace forebay::jpeg;

bool equal(const Pixels& part, const Pixels& whole, std::uint32_t top, std::uint32_t left) {
  for (std::uint32_t y = 0; y < part.height; ++y)
    if (std::memcmp(part.row(y), whole.row(top + y) + std::size_t{left} * whole.channels,
                    std::size_t{part.width} * part.channels) != 0)
      return false;
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A header may ask for more time than its bytes are worth to a fuzzer.
  static Decoder own(16 << 20), theirs(16 << 20), window(16 << 20);
  const unsigned denominator = 1u << size % 7 / 2;
  Request request{{}, Color::rgb, denominator, nullptr, Entropy::own};
  Pixels a, b, part;
  const DecodeStatus ours = own.decode(data, size, request, a);
  request.entropy = Entropy::libjpeg;
  const DecodeStatus libjpegs = theirs.decode(data, size, request, b);
  if (ours != DecodeStatus::ok && own.message()[0] == '\0') std::abort();
  if (libjpegs == DecodeStatus::damaged && ours != DecodeStatus::damaged) std::abort();
  if (ours != DecodeStatus::ok) return 0;
  if (libjpegs != DecodeStatus::ok || !equal(a, b, 0, 0)) std::abort();
  const std::uint32_t draw = static_cast<std::uint32_t>(size * 2654435761u);
  const std::uint32_t top = draw % a.height, left = (draw >> 8) % a.width;
  request.window = {top, left, 1 + (draw >> 4) % (a.height - top), 1 + (draw >> 12) % (a.width - left)};
  request.entropy = Entropy::own;
  if (window.decode(data, size, request, part) != DecodeStatus::ok) std::abort();
  if (!equal(part, a, top, left)) std::abort();
  return 0;
}
