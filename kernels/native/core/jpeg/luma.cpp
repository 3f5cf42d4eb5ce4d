#include "luma.hpp"

namespace forebay::jpeg {

void rgb_to_luma(const std::uint8_t* rgb, std::size_t count, std::uint8_t* luma) noexcept {
  for (std::size_t i = 0; i < count; ++i, rgb += 3) {
    const std::uint32_t sum = rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u;
    luma[i] = static_cast<std::uint8_t>(sum >> 16);
  }
}

}  // namespace forebay::jpeg
