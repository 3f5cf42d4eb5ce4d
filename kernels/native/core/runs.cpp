#include "runs.hpp"

#include <cstring>

namespace forebay {
namespace {

// A width known to the compiler makes each copy one load and one store.
template <std::size_t Width>
void take_known(const std::uint8_t* data, const std::int64_t* starts, std::size_t count,
                std::uint8_t* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) std::memcpy(out + i * Width, data + starts[i], Width);
}

}  // namespace

std::size_t run_outside(std::size_t size, const std::int64_t* starts, const std::int64_t* lengths,
                        std::size_t width, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (starts[i] < 0 || (lengths != nullptr && lengths[i] < 0)) return i;
    const auto start = static_cast<std::uint64_t>(starts[i]);
    const auto length = lengths != nullptr ? static_cast<std::uint64_t>(lengths[i]) : width;
    if (start > size || length > size - start) return i;
  }
  return count;
}

void take_runs(const std::uint8_t* data, const std::int64_t* starts, std::size_t width,
               std::size_t count, std::uint8_t* out) noexcept {
  switch (width) {
    case 1: return take_known<1>(data, starts, count, out);
    case 2: return take_known<2>(data, starts, count, out);
    case 4: return take_known<4>(data, starts, count, out);
    case 8: return take_known<8>(data, starts, count, out);
    case 16: return take_known<16>(data, starts, count, out);
    default: break;
  }
  for (std::size_t i = 0; i < count; ++i) std::memcpy(out + i * width, data + starts[i], width);
}

void copy_runs(const std::uint8_t* data, const std::int64_t* starts, std::uint8_t* out,
               const std::int64_t* out_starts, const std::int64_t* lengths,
               std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(out + out_starts[i], data + starts[i], static_cast<std::size_t>(lengths[i]));
}

std::size_t split_records(const std::uint8_t* data, const std::int64_t* starts,
                          const std::int64_t* lengths, std::size_t count, std::size_t prefix,
                          std::size_t sizes_at, std::size_t fields, std::int64_t* spans) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (lengths[i] < static_cast<std::int64_t>(prefix)) return i;
    const std::uint8_t* const sizes = data + starts[i] + sizes_at;
    std::int64_t at = starts[i] + static_cast<std::int64_t>(prefix);
    for (std::size_t f = 0; f < fields; ++f) {
      std::uint32_t size;
      std::memcpy(&size, sizes + 4 * f, sizeof size);
      spans[2 * f * count + i] = at;
      spans[(2 * f + 1) * count + i] = size;
      at += size;
    }
    if (at != starts[i] + lengths[i]) return i;
  }
  return count;
}

}  // namespace forebay
