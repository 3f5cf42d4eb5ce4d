// An image decoded at a part of its size by libjpeg's scaled inverse transform, and a box in it.
#pragma once

#include <cstdint>

#include "../resample.hpp"
#include "header.hpp"
#include "slice.hpp"

namespace forebay::jpeg {

// The upright image at 1/denominator of its size, where the edges of a box lie inside pixels: the
// pixels that it covers, and the stretches of them that it is.
struct Reduced {
  unsigned denominator;  // 1, 2, 4 or 8
  Window box;
  pixels::Stretch rows{}, columns{};
};

// Pixels of one side at 1/denominator of the size.
constexpr std::uint32_t reduced_side(std::uint32_t pixels, unsigned denominator) noexcept {
  return (pixels + denominator - 1) / denominator;
}

// The smallest image whose box has at least the pixels of `size`. The box is of the upright image
// and lies inside it.
Reduced reduced_box(const Header& header, const Window& box, pixels::Size size) noexcept;

}  // namespace forebay::jpeg
