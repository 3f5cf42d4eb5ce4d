// The vertical pass: rows of bytes to one row of 16-bit levels, 128 to a level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "resample_axis.hpp"

namespace forebay::pixels {

// Levels are kept with this many fractional bits between the passes; 255 levels fill 15 bits.
constexpr int kLevelBits = 7;

// Makes output row after output row of an axis. Not safe for two threads at once.
class RowPass {
 public:
  // Throws std::bad_alloc; the axis that was prepared last is kept.
  void prepare(const AxisShape& shape);

  // Writes row i (0 <= i < shape.count) to out[0, width). `source` is row needed().first of the
  // source, whose rows lie `stride` bytes apart and have `width` bytes each; nothing else of it is
  // read. Both paths give the same numbers.
  void row(int i, const std::uint8_t* source, std::ptrdiff_t stride, int width, std::int16_t* out,
           bool avx2) const noexcept;

 private:
  AxisShape shape_{0, 0, 0, 0};
  AxisWeights axis_;
  int shift_ = 0;                     // of sums in 32 bits; 0 where taps are few
  std::vector<std::uint16_t> words_;  // weights of few taps, taps() an output
  std::vector<std::int32_t> pairs_;   // weights of many taps, two 16-bit ones in a word
};

}  // namespace forebay::pixels
