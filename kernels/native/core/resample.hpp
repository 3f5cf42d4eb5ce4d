// From a decoded window of an image to a finished sample, in one call: antialiased bilinear
// resampling, a cut, mirroring, conversion and store.
//
// Rows are resampled first (resample_rows.hpp), one output row at a time, then columns
// (resample_columns.hpp); the byte that results is looked up (byte_values.hpp). So all types of one
// image agree, and memory is one row's. Within one level of Pillow's Image.resize(BILINEAR), which
// rounds to bytes between its passes; 15 bits are kept here.
//
// How a caller goes about it:
//   Span rows = needed({box.height, size.height, window.top, window.height});
//   Span columns = needed({box.width, size.width, window.left, window.width});
//   decode at least these rows and columns of the box, point `pixels` at the first of them, run().
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "byte_values.hpp"
#include "resample_axis.hpp"
#include "resample_columns.hpp"
#include "resample_rows.hpp"

namespace forebay::pixels {

struct Size {
  int height;
  int width;
  bool operator==(const Size&) const = default;
};

struct Window {
  int top;
  int left;
  int height;
  int width;
};

// The largest height or width that is taken, of source and result.
constexpr int kLargestSide = 1 << 20;

// What to make of which pixels: `box` pixels are resampled to `size`, `window` of that is kept, and
// mirrored left to right if `mirrored`. A box of the same size as `size` is copied. Of a box whose
// edges lie inside its outer pixels, `rows` and `columns` say where.
struct Resampling {
  const std::uint8_t* pixels;  // row needed(rows).first, column needed(columns).first of the box
  std::ptrdiff_t stride;       // bytes from row to row; may be negative
  int channels;                // 1 or 3, interleaved
  Size box;
  Size size;
  Window window;
  bool mirrored;
  Stretch rows{}, columns{};

  AxisShape vertical() const noexcept {
    return {box.height, size.height, window.top, window.height, rows};
  }
  AxisShape horizontal() const noexcept {
    return {box.width, size.width, window.left, window.width, columns};
  }
  bool copies() const noexcept { return box == size && rows == Stretch{} && columns == Stretch{}; }
};

// Where samples of one shape lie. The window's first pixel goes to (top, left) of it; the caller
// fills what the window leaves free with fill().
struct Place {
  void* data;  // (channels, height, width) in planar order, else (height, width, channels)
  Size size;
  int top;
  int left;
  Order order;
};

// Whether sides and channels are in range, the window lies inside size and, placed, inside the
// place, and the values are of as many channels.
bool fits(const Resampling& what, const ByteValues& values, const Place& place) noexcept;

enum class Outcome { done, bad_shape, no_memory };

// The scratch memory and weights of one thread: run() allocates nothing once it has met the
// largest image. Axes prepared last are kept, so images of one size cost no weights.
class Resampler {
 public:
  // `portable`: without vector instructions, to compare. The results are the same bits.
  explicit Resampler(bool portable = false) noexcept;

  // Writes window.height x window.width values to the place and nothing else. bad_shape: it does
  // not fit (see fits), and nothing was read or written.
  [[nodiscard]] Outcome run(const Resampling& what, const ByteValues& values,
                            const Place& place) noexcept;

 private:
  void prepare(const Resampling& what);

  bool avx2_;
  RowPass rows_;
  ColumnPass columns_;
  std::vector<std::int16_t> levels_;
  std::vector<std::uint8_t> bytes_;
};

// Gives every value of the place that of byte 0, for samples that an image does not fill.
// `channels` is 1 or 3, and that of `values` where these have any.
void fill(const ByteValues& values, const Place& place, int channels) noexcept;

}  // namespace forebay::pixels
