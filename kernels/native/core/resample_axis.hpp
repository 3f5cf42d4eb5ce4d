// Which source pixels, with what weights, make each output pixel of one axis.
//
// The filter is the antialiased triangle of Pillow's Image.resize(BILINEAR) (Pillow's manual,
// "Filters"; Turkowski, "Filters for common resampling tasks", 1990): output i is centred at
// start + (i + 0.5) * scale, scale = in / out; the triangle reaches max(scale, 1) to each side, and what of
// it lies outside the image is left out, the rest normalised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::pixels {

// Pixels [first, last) of an axis.
struct Span {
  int first;
  int last;
};

// A stretch of an axis, in pixels; it may begin and end inside one. Length 0 is the whole axis.
struct Stretch {
  double start = 0.0;
  double length = 0.0;
  bool operator==(const Stretch&) const = default;
};

// Outputs [offset, offset + count) of an axis of `in` pixels, of which a stretch is resampled to
// `out`; two that compare equal have equal weights. Asks for in, out, count > 0, offset >= 0,
// offset + count <= out, and a stretch that lies inside the axis.
struct AxisShape {
  int in;
  int out;
  int offset;
  int count;
  Stretch stretch{};
  bool operator==(const AxisShape&) const = default;

  // Source pixels an output.
  double scale() const noexcept { return (stretch.length > 0.0 ? stretch.length : in) / out; }
};

// The source pixels that the outputs are made of.
Span needed(const AxisShape& shape) noexcept;

// Fixed-point weights of an axis. Storage grows and is kept: building again allocates only when
// an axis needs more than any before it.
class AxisWeights {
 public:
  // Weights of each output add up to 2**bits, and none exceeds `greatest`, to which a weight of
  // one is lowered. Throws std::bad_alloc.
  void build(const AxisShape& shape, int bits, int greatest);

  // The most taps that an output of the axis built last has.
  int taps() const noexcept { return taps_; }
  // Outputs of the axis built last.
  int count() const noexcept { return count_; }
  // First source pixel of output i, counted from needed().first.
  int first(int i) const noexcept { return first_[static_cast<std::size_t>(i)]; }
  // The taps of output i: as many as size(i) > 0; from there to taps() they are zero.
  const std::int32_t* of(int i) const noexcept {
    return weights_.data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(taps_);
  }
  int size(int i) const noexcept { return size_[static_cast<std::size_t>(i)]; }

 private:
  int taps_ = 0;
  int count_ = 0;
  std::vector<int> first_;
  std::vector<int> size_;
  std::vector<std::int32_t> weights_;
  std::vector<double> share_;
};

// The most taps that an output of this axis can have.
int most_taps(const AxisShape& shape) noexcept;

}  // namespace forebay::pixels
