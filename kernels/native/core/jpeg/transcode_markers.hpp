// Which segments in front of a JPEG's first scan a transcoded file gets. formats/jpeg/SPEC.md has
// the list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <jpeglib.h>

namespace forebay::jpeg {

// Number of segments of `size` bytes of a JPEG before its first scan, counted up to `most`. libjpeg
// walks its whole list for each one that it saves, so a file of many would take time quadratic in
// its size.
std::size_t count_segments(const std::uint8_t* data, std::size_t size, std::size_t most) noexcept;

// Asks libjpeg to save, until stop_saving(), the segments that write_markers() may need. `all`: of
// every kind. Both report errors by the error manager of `source`.
void save_markers(jpeg_decompress_struct& source, bool all);
void stop_saving(jpeg_decompress_struct& source);

// Writes what `source` saved to `target`, once jpeg_write_coefficients() was called on it. Reports
// errors by the error manager of `target`.
void write_markers(const jpeg_decompress_struct& source, bool all, jpeg_compress_struct& target);

}  // namespace forebay::jpeg
