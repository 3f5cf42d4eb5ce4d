// The eight ways in which EXIF says that stored pixels lie (EXIF 2.3, tag 0x0112).
#pragma once

#include <cstddef>
#include <cstdint>

#include "decode.hpp"

namespace forebay::jpeg {

// Whether rows of the upright image are columns of the stored one.
constexpr bool is_transposed(unsigned orientation) noexcept { return orientation >= 5; }

// Where a window of the upright image lies in the stored one of these dimensions. The window must
// lie inside the upright image.
Window stored_window(const Window& upright, unsigned orientation, std::uint32_t stored_height,
                     std::uint32_t stored_width) noexcept;

// Writes stored pixels upright to `out`, which has room for all of them, row after row.
void turn_upright(const Pixels& stored, unsigned orientation, std::uint8_t* out) noexcept;

}  // namespace forebay::jpeg
