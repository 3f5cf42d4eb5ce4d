#include "byte_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "simd.hpp"
#if defined(FOREBAY_AVX2)
#include <immintrin.h>
#endif

namespace forebay::pixels {
namespace {

// How far the line v * slope + start may be moved up and down and still round to every float of
// the table; negative where it does not at all. `start` is set to the middle of that.
double room_of(const std::array<double, 256>& low, const std::array<double, 256>& high,
               double slope, double& start) noexcept {
  double least = -std::numeric_limits<double>::infinity();
  double most = -least;
  for (int v = 0; v < 256; ++v) {
    const auto i = static_cast<std::size_t>(v);
    least = std::max(least, low[i] - slope * v);
    most = std::min(most, high[i] - slope * v);
  }
  start = 0.5 * (least + most);
  return most - least;
}

#if defined(FOREBAY_AVX2)

struct Lanes {
  __m256 high_slope, low_slope, high_start, low_start;
};

FOREBAY_AVX2_TARGET inline __m256 eight(const std::uint8_t* bytes, const Lanes& line) noexcept {
  const __m128i packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
  const __m256 level = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(packed));
  return _mm256_add_ps(_mm256_fmadd_ps(level, line.high_slope, line.high_start),
                       _mm256_fmadd_ps(level, line.low_slope, line.low_start));
}

template <ValueType Type>
FOREBAY_AVX2_TARGET inline void put(void* out, std::size_t at, __m256 values) noexcept {
  if constexpr (Type == ValueType::f32) {
    _mm256_storeu_ps(static_cast<float*>(out) + at, values);
    return;
  }
  auto* target = reinterpret_cast<__m128i*>(static_cast<std::uint16_t*>(out) + at);
  if constexpr (Type == ValueType::f16) {
    _mm_storeu_si128(target, _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
  } else {
    const __m256i bits = _mm256_castps_si256(values);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
    const __m256i upper = _mm256_srli_epi32(sum, 16);
    const __m256i packed = _mm256_packus_epi32(upper, upper);
    _mm_storeu_si128(target, _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
  }
}

// Bytes of one channel; returns how many were done.
template <ValueType Type>
FOREBAY_AVX2_TARGET std::size_t line_of_one(const std::uint8_t* bytes, std::size_t count,
                                            const float* line, void* out) noexcept {
  const Lanes lanes{_mm256_set1_ps(line[0]), _mm256_set1_ps(line[1]), _mm256_set1_ps(line[2]),
                    _mm256_set1_ps(line[3])};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) put<Type>(out, i, eight(bytes + i, lanes));
  return i;
}

// Bytes of three channels by turns: after 24 the channels fall on the same lanes again.
template <ValueType Type>
FOREBAY_AVX2_TARGET std::size_t line_of_three(const std::uint8_t* bytes, std::size_t count,
                                              const float (*lines)[4], void* out) noexcept {
  alignas(32) float spread[3][4][8];
  for (int k = 0; k < 24; ++k)
    for (int j = 0; j < 4; ++j) spread[k / 8][j][k % 8] = lines[k % 3][j];
  Lanes lanes[3];
  for (int r = 0; r < 3; ++r)
    lanes[r] = {_mm256_load_ps(spread[r][0]), _mm256_load_ps(spread[r][1]),
                _mm256_load_ps(spread[r][2]), _mm256_load_ps(spread[r][3])};
  std::size_t i = 0;
  for (; i + 24 <= count; i += 24)
    for (std::size_t r = 0; r < 3; ++r) {
      const std::size_t at = i + 8 * r;
      put<Type>(out, at, eight(bytes + at, lanes[r]));
    }
  return i;
}

std::size_t by_line(ValueType type, const std::uint8_t* bytes, std::size_t count,
                    const float (*lines)[4], bool by_turns, void* out) noexcept {
  switch (type) {
    case ValueType::f32:
      return by_turns ? line_of_three<ValueType::f32>(bytes, count, lines, out)
                      : line_of_one<ValueType::f32>(bytes, count, *lines, out);
    case ValueType::f16:
      return by_turns ? line_of_three<ValueType::f16>(bytes, count, lines, out)
                      : line_of_one<ValueType::f16>(bytes, count, *lines, out);
    case ValueType::bf16:
      return by_turns ? line_of_three<ValueType::bf16>(bytes, count, lines, out)
                      : line_of_one<ValueType::bf16>(bytes, count, *lines, out);
    case ValueType::u8:
      break;
  }
  return 0;
}

#endif

}  // namespace

ByteValues::ByteValues(const float* table, int channels, ValueType type) noexcept
    : type_(type), channels_(channels) {
  linear_ = type != ValueType::u8 && has_avx2();
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    for (std::size_t v = 0; v < 256; ++v) {
      const float value = table[256 * c + v];
      full_[c][v] = value;
      half_[c][v] = type == ValueType::bf16 ? to_bfloat16(value) : to_float16(value);
    }
    linear_ = linear_ && line_through(full_[c].data(), lines_[c]);
  }
  for (int c = 0; c < channels; ++c) linear_ = linear_ && line_meets_table(c);
}

// The table of a linear map, each value rounded to float32, leaves a thin strip for its line. The
// line in the middle of the strip is found by ternary search over the slope, for which the strip's
// room is concave.
bool ByteValues::line_through(const float* table, Line& line) noexcept {
  std::array<double, 256> low;
  std::array<double, 256> high;
  double largest = 0.0;
  for (std::size_t v = 0; v < 256; ++v) {
    if (!std::isfinite(table[v]) || std::abs(table[v]) > 1e30f) return false;
    const float down = std::nextafter(table[v], -std::numeric_limits<float>::infinity());
    const float up = std::nextafter(table[v], std::numeric_limits<float>::infinity());
    low[v] = 0.5 * (double{down} + double{table[v]});
    high[v] = 0.5 * (double{up} + double{table[v]});
    largest = std::max(largest, std::abs(double{table[v]}));
  }
  if (largest < 1e-30) return false;
  double least = (low[255] - high[0]) / 255.0;
  double most = (high[255] - low[0]) / 255.0;
  double start = 0.0;
  if (table[0] == 0.0f) {
    // A line that starts at zero has its slope alone to choose.
    least = low[255] / 255.0;
    most = high[255] / 255.0;
    for (std::size_t v = 1; v < 255; ++v) {
      least = std::max(least, low[v] / static_cast<double>(v));
      most = std::min(most, high[v] / static_cast<double>(v));
    }
  }
  for (int turn = 0; turn < 100 && table[0] != 0.0f; ++turn) {
    const double third = (most - least) / 3.0;
    if (room_of(low, high, least + third, start) < room_of(low, high, most - third, start)) {
      least += third;
    } else {
      most -= third;
    }
  }
  const double slope = 0.5 * (least + most);
  if (room_of(low, high, slope, start) < 0.0) return false;
  if (table[0] == 0.0f) start = 0.0;
  // Multiples of this grid up to twice the largest value have at most 24 bits.
  const double grid = std::ldexp(1.0, std::ilogb(largest) - 22);
  const double high_slope = std::nearbyint(slope / grid) * grid;
  const double high_start = std::nearbyint(start / grid) * grid;
  line = {static_cast<float>(high_slope), static_cast<float>(slope - high_slope),
          static_cast<float>(high_start), static_cast<float>(start - high_start)};
  return true;
}

// The arithmetic is used only where it gives every value of the table, bit for bit.
bool ByteValues::line_meets_table(int channel) const noexcept {
#if defined(FOREBAY_AVX2)
  std::array<std::uint8_t, 256> bytes;
  for (std::size_t v = 0; v < 256; ++v) bytes[v] = static_cast<std::uint8_t>(v);
  std::array<std::byte, 1024> values;
  const auto c = static_cast<std::size_t>(channel);
  const Line& line = lines_[c];
  const float parts[1][4] = {{line.high_slope, line.low_slope, line.high_start, line.low_start}};
  by_line(type_, bytes.data(), bytes.size(), parts, false, values.data());
  const void* expected = type_ == ValueType::f32 ? static_cast<const void*>(full_[c].data())
                                                 : static_cast<const void*>(half_[c].data());
  return std::memcmp(values.data(), expected, 256 * value_bytes(type_)) == 0;
#else
  static_cast<void>(channel);
  return false;
#endif
}

void ByteValues::channel(const std::uint8_t* bytes, std::size_t count, int channel, void* out,
                         bool avx2) const noexcept {
  std::size_t done = 0;
  if (type_ == ValueType::u8) {
    std::memcpy(out, bytes, count);
    return;
  }
#if defined(FOREBAY_AVX2)
  if (avx2 && linear_) {
    const Line& line = lines_[static_cast<std::size_t>(channel)];
    const float parts[1][4] = {{line.high_slope, line.low_slope, line.high_start, line.low_start}};
    done = by_line(type_, bytes, count, parts, false, out);
  }
#else
  static_cast<void>(avx2);
#endif
  look_up(bytes, done, count, channel, false, out);
}

void ByteValues::interleaved(const std::uint8_t* bytes, std::size_t count, void* out,
                             bool avx2) const noexcept {
  if (type_ == ValueType::u8 || channels_ == 1) return channel(bytes, count, 0, out, avx2);
  std::size_t done = 0;
#if defined(FOREBAY_AVX2)
  if (avx2 && linear_) {
    float parts[3][4];
    for (std::size_t c = 0; c < 3; ++c) {
      const float line[4] = {lines_[c].high_slope, lines_[c].low_slope, lines_[c].high_start,
                             lines_[c].low_start};
      std::memcpy(parts[c], line, sizeof line);
    }
    done = by_line(type_, bytes, count, parts, true, out);
  }
#endif
  look_up(bytes, done, count, 0, true, out);
}

void ByteValues::look_up(const std::uint8_t* bytes, std::size_t from, std::size_t count,
                         int channel, bool by_turns, void* out) const noexcept {
  const auto period = by_turns ? static_cast<std::size_t>(channels_) : std::size_t{1};
  const auto first = static_cast<std::size_t>(channel);
  for (std::size_t turn = 0; turn < period; ++turn) {
    // Where one starts is a whole number of periods from the first byte.
    if (type_ == ValueType::f32) {
      const float* table = full_[first + turn].data();
      for (std::size_t i = from + turn; i < count; i += period)
        static_cast<float*>(out)[i] = table[bytes[i]];
    } else {
      const std::uint16_t* table = half_[first + turn].data();
      for (std::size_t i = from + turn; i < count; i += period)
        static_cast<std::uint16_t*>(out)[i] = table[bytes[i]];
    }
  }
}

}  // namespace forebay::pixels
