// What becomes of a byte of an image: itself, or a number of a table, in one of four types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "resample_columns.hpp"

namespace forebay::pixels {

enum class ValueType { u8, f32, f16, bf16 };

// Bytes that one value takes.
constexpr std::size_t value_bytes(ValueType type) noexcept {
  return type == ValueType::u8 ? 1 : type == ValueType::f32 ? 4 : 2;
}

// Turns rows of bytes into rows of values. Made once for a field; many threads may share one.
class ByteValues {
 public:
  // Bytes stay bytes.
  ByteValues() noexcept = default;
  // Byte v of channel c becomes table[256 * c + v], for halves rounded to the nearest, ties to
  // even. `channels` is 1 or 3. The table is copied.
  ByteValues(const float* table, int channels, ValueType type) noexcept;

  ValueType type() const noexcept { return type_; }
  // 0 where bytes stay bytes, whatever the channels.
  int channels() const noexcept { return channels_; }
  // Whether the table is met by arithmetic on vectors, which is faster than looking it up.
  bool linear() const noexcept { return linear_; }

  // Writes the values of `count` bytes of one channel, or of `count` bytes of interleaved
  // channels from channel 0 on. `out` needs no alignment. Both paths give the same bits.
  void channel(const std::uint8_t* bytes, std::size_t count, int channel, void* out,
               bool avx2) const noexcept;
  void interleaved(const std::uint8_t* bytes, std::size_t count, void* out,
                   bool avx2) const noexcept;

 private:
  // v * high_slope + high_start is exact in float32, and so one rounding is left, of its sum with
  // v * low_slope + low_start.
  struct Line {
    float high_slope, low_slope, high_start, low_start;
  };
  static bool line_through(const float* table, Line& line) noexcept;
  bool line_meets_table(int channel) const noexcept;
  void look_up(const std::uint8_t* bytes, std::size_t from, std::size_t count, int channel,
               bool by_turns, void* out) const noexcept;

  ValueType type_ = ValueType::u8;
  int channels_ = 0;
  bool linear_ = false;
  std::array<Line, 3> lines_{};
  std::array<std::array<float, 256>, 3> full_{};
  std::array<std::array<std::uint16_t, 256>, 3> half_{};
};

// A float32 as the bits of the nearest float16 or bfloat16, ties to even; NaN stays NaN.
std::uint16_t to_float16(float value) noexcept;
std::uint16_t to_bfloat16(float value) noexcept;

}  // namespace forebay::pixels
