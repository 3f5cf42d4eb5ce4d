// Which source pixels, with what weights, make each output pixel of one axis.
//
// The filter is the antialiased triangle of Pillow's Image.resize(BILINEAR) (Pillow's manual,
// "Filters"; Turkowski, "Filters for common resampling tasks", 1990): output i is centred at
// (i + 0.5) * scale, scale = in / out; the triangle reaches max(scale, 1) to each side, and what of
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

// The source pixels that outputs [offset, offset + count) of an axis of `in` pixels resampled to
// `out` are made of. Asks for in, out, count > 0, offset >= 0 and offset + count <= out.
Span needed(int in, int out, int offset, int count) noexcept;

// Outputs [offset, offset + count) of an axis; two that compare equal have equal weights.
struct AxisShape {
  int in;
  int out;
  int offset;
  int count;
  bool operator==(const AxisShape&) const = default;
};

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
int most_taps(int in, int out) noexcept;

}  // namespace forebay::pixels
