// A small JPEG, put together from only those restart segments of a seekable one that a window
// touches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "header.hpp"
#include "segments.hpp"

namespace forebay::jpeg {

// A rectangle of pixels.
struct Window {
  std::uint32_t top = 0, left = 0, height = 0, width = 0;

  bool inside(std::uint32_t rows, std::uint32_t columns) const noexcept {
    return height >= 1 && width >= 1 && top < rows && left < columns && height <= rows - top &&
           width <= columns - left;
  }
};

// Which segments a slice takes, and where its pixels lie in the image.
struct SlicePlan {
  std::uint32_t first_row, last_row;            // rows of MCUs, [first, last)
  std::uint32_t first_interval, last_interval;  // restart intervals of a row, [first, last)
  Window pixels;                                // of the slice, in the whole image
};

// What a slice must take so that the pixels of `window` (in the image, as stored) decode as they do
// in the whole image: whole intervals, with a margin of 2 * denominator pixels, since smooth
// upsampling of chroma looks one chroma sample further. `header.claims_seekable()` must hold and
// the window must lie inside the image.
SlicePlan plan_slice(const Header& header, const Window& window, unsigned denominator) noexcept;

// Bytes that write_slice() can take for any window: `out` must have room for so many.
std::size_t slice_bound(std::size_t size) noexcept;

// Writes the slice, an ordinary JPEG from SOI to EOI, to `out` and returns its size in bytes, at
// most slice_bound(size). Of the headers, only what decoding needs is kept: tables, JFIF, the Adobe
// transform, the frame with its dimensions patched; EXIF, ICC and comments are not. `segments` must
// hold the rows of the plan, found in the same data.
std::size_t write_slice(const std::uint8_t* data, std::size_t size, const Header& header,
                        const Segments& segments, const SlicePlan& plan,
                        std::uint8_t* out) noexcept;

}  // namespace forebay::jpeg
