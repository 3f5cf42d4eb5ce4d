// Luma of RGB pixels as Pillow computes it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay::jpeg {

// Writes round((299 R + 587 G + 114 B) / 1000) of `count` RGB pixels in 16-bit fixed point: the
// weights 19595, 38470 and 7471 and the rounding half are those of Pillow's convert("L").
void rgb_to_luma(const std::uint8_t* rgb, std::size_t count, std::uint8_t* luma) noexcept;

}  // namespace forebay::jpeg
