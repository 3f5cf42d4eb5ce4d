// The horizontal pass: a row of 16-bit levels to a row of bytes, mirrored or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "resample_axis.hpp"

namespace forebay::pixels {

// How the channels of a row of bytes lie.
enum class Order { interleaved, planar };

// Resamples rows of 1 or 3 interleaved channels. Not safe for two threads at once.
class ColumnPass {
 public:
  // Throws std::bad_alloc; the axis that was prepared last is kept. `mirrored`: outputs
  // [offset, offset + count) are wanted from the last to the first.
  void prepare(const AxisShape& shape, int channels, bool mirrored);

  // Words that a row of levels must have: those of the needed() pixels, then words of any content.
  std::size_t level_words() const noexcept { return level_words_; }
  // Bytes that row() may write: at least count * channels.
  std::size_t byte_room() const noexcept;
  // From one channel to the next in planar order, in bytes.
  int pitch() const noexcept { return 8 * blocks_; }

  // Reads level_words() levels, of 128 to a level of a byte; writes the row of bytes and, up to
  // byte_room(), bytes of no meaning. Both paths give the same bytes.
  void row(const std::int16_t* levels, Order order, std::uint8_t* bytes, bool avx2) const noexcept;

 private:
  void pair_up();

  AxisShape shape_{0, 0, 0, 0};
  int channels_ = 0;
  bool mirrored_ = false;
  AxisWeights axis_;
  int blocks_ = 0;  // of eight outputs
  int pairs_ = 0;   // of neighbouring taps, for each output
  std::size_t level_words_ = 0;
  std::vector<std::int32_t> first_;   // (8 * blocks) first word of each output, in their order
  std::vector<std::int16_t> paired_;  // (blocks, pairs, 4, 16), see pair_up
};

}  // namespace forebay::pixels
