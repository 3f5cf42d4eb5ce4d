#include "resample_rows.hpp"

#include <algorithm>
#include <cmath>

#include "simd.hpp"
#if defined(FOREBAY_AVX2)
#include <immintrin.h>
#endif

namespace forebay::pixels {
namespace {

// Up to so many taps the products are summed in 16 bits: level * 256 * weight / 2**16, rounded
// down. The loss, half a unit of 1/256 level a tap on average, is added back at the start. Beyond,
// sums are in 32 bits, at twice the cost a tap.
constexpr int kFew = 8;
constexpr int kFewBits = 16;

struct Rows {
  const std::uint8_t* first;
  std::ptrdiff_t stride;
};

inline const std::uint8_t* at(const Rows& rows, int t) noexcept {
  return rows.first + t * rows.stride;
}

void few_portable(const Rows& rows, const std::uint16_t* weights, int taps, int from, int to,
                  std::int16_t* out) noexcept {
  for (int x = from; x < to; ++x) {
    std::uint32_t sum = static_cast<std::uint32_t>(taps) / 2;
    for (int t = 0; t < taps; ++t) {
      const std::uint32_t level = std::uint32_t{at(rows, t)[x]} << 8;
      sum += (level * weights[t]) >> 16;
    }
    out[x] = static_cast<std::int16_t>((sum + 1) >> 1);
  }
}

// The weight of the second row of a pair is the upper half of its word.
void many_portable(const Rows& rows, const std::int32_t* pairs, int taps, int shift, int from,
                   int to, std::int16_t* out) noexcept {
  for (int x = from; x < to; ++x) {
    std::int32_t sum = 1 << (shift - 1);
    for (int t = 0; t < taps; ++t) {
      const std::int32_t pair = pairs[t / 2];
      sum += at(rows, t)[x] * ((t & 1) != 0 ? pair >> 16 : pair & 0xFFFF);
    }
    out[x] = static_cast<std::int16_t>(sum >> shift);
  }
}

#if defined(FOREBAY_AVX2)

constexpr int kWide = 32;

FOREBAY_AVX2_TARGET inline __m256i load(const std::uint8_t* data) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data));
}

// Unpacking works in halves of a register: `low` has levels 0-7 and 16-23, `high` the others.
FOREBAY_AVX2_TARGET inline void store(std::int16_t* out, __m256i low, __m256i high) noexcept {
  auto* target = reinterpret_cast<__m256i*>(out);
  _mm256_storeu_si256(target, _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256(target + 1, _mm256_permute2x128_si256(low, high, 0x31));
}

template <int Taps>
FOREBAY_AVX2_TARGET void few_block(const Rows& rows, const __m256i* weights, int x,
                                   std::int16_t* out) noexcept {
  const __m256i zero = _mm256_setzero_si256();
  __m256i low = _mm256_set1_epi16(Taps / 2);
  __m256i high = low;
  for (int t = 0; t < Taps; ++t) {
    const __m256i levels = load(at(rows, t) + x);
    low = _mm256_add_epi16(
        low, _mm256_mulhi_epu16(_mm256_unpacklo_epi8(zero, levels), weights[t]));
    high = _mm256_add_epi16(
        high, _mm256_mulhi_epu16(_mm256_unpackhi_epi8(zero, levels), weights[t]));
  }
  store(out + x, _mm256_avg_epu16(low, zero), _mm256_avg_epu16(high, zero));
}

template <int Taps>
FOREBAY_AVX2_TARGET void few_avx2(const Rows& rows, const std::uint16_t* weights, int width,
                                  std::int16_t* out) noexcept {
  __m256i wide[Taps];
  for (int t = 0; t < Taps; ++t) wide[t] = _mm256_set1_epi16(static_cast<short>(weights[t]));
  int x = 0;
  for (; x + kWide <= width; x += kWide) few_block<Taps>(rows, wide, x, out);
  // The last block ends with the row: it does some of the one before again.
  if (x < width) few_block<Taps>(rows, wide, width - kWide, out);
}

FOREBAY_AVX2_TARGET void many_block(const Rows& rows, const std::int32_t* pairs, int taps,
                                    int shift, int x, std::int16_t* out) noexcept {
  const __m256i zero = _mm256_setzero_si256();
  const __m128i places = _mm_cvtsi32_si128(shift);
  __m256i sums[4];
  for (auto& sum : sums) sum = _mm256_set1_epi32(1 << (shift - 1));
  for (int t = 0; t < taps; t += 2) {
    const __m256i weights = _mm256_set1_epi32(pairs[t / 2]);
    const __m256i even = load(at(rows, t) + x);
    const __m256i odd = t + 1 < taps ? load(at(rows, t + 1) + x) : zero;
    const __m256i low = _mm256_unpacklo_epi8(even, odd);
    const __m256i high = _mm256_unpackhi_epi8(even, odd);
    const __m256i levels[4] = {_mm256_unpacklo_epi8(low, zero), _mm256_unpackhi_epi8(low, zero),
                               _mm256_unpacklo_epi8(high, zero), _mm256_unpackhi_epi8(high, zero)};
    for (int k = 0; k < 4; ++k)
      sums[k] = _mm256_add_epi32(sums[k], _mm256_madd_epi16(levels[k], weights));
  }
  for (auto& sum : sums) sum = _mm256_sra_epi32(sum, places);
  store(out + x, _mm256_packs_epi32(sums[0], sums[1]), _mm256_packs_epi32(sums[2], sums[3]));
}

FOREBAY_AVX2_TARGET void many_avx2(const Rows& rows, const std::int32_t* pairs, int taps,
                                   int shift, int width, std::int16_t* out) noexcept {
  int x = 0;
  for (; x + kWide <= width; x += kWide) many_block(rows, pairs, taps, shift, x, out);
  if (x < width) many_block(rows, pairs, taps, shift, width - kWide, out);
}

using Few = void (*)(const Rows&, const std::uint16_t*, int, std::int16_t*) noexcept;
constexpr Few kFewAvx2[kFew] = {few_avx2<1>, few_avx2<2>, few_avx2<3>, few_avx2<4>,
                                few_avx2<5>, few_avx2<6>, few_avx2<7>, few_avx2<8>};

#endif

}  // namespace

void RowPass::prepare(const AxisShape& shape) {
  if (shape == shape_) return;
  shape_ = {0, 0, 0, 0};
  if (most_taps(shape) <= kFew) {
    axis_.build(shape, kFewBits, 0xFFFF);
    words_.resize(static_cast<std::size_t>(shape.count) * static_cast<std::size_t>(axis_.taps()));
    std::transform(axis_.of(0), axis_.of(0) + words_.size(), words_.begin(),
                   [](std::int32_t w) { return static_cast<std::uint16_t>(w); });
    shift_ = 0;
  } else {
    // The greatest weight is about 1 / scale; it is to fill 15 bits, and the sum 31.
    const double scale = std::max(1.0, shape.scale());
    const int bits = std::min(22, 14 + static_cast<int>(std::log2(scale)));
    axis_.build(shape, bits, 0x7FFF);
    shift_ = bits - kLevelBits;
    const auto words = static_cast<std::size_t>((axis_.taps() + 1) / 2);
    pairs_.assign(static_cast<std::size_t>(shape.count) * words, 0);
    for (int i = 0; i < shape.count; ++i)
      for (int t = 0; t < axis_.size(i); ++t)
        pairs_[static_cast<std::size_t>(i) * words + static_cast<std::size_t>(t / 2)] |=
            axis_.of(i)[t] << (16 * (t & 1));
  }
  shape_ = shape;
}

void RowPass::row(int i, const std::uint8_t* source, std::ptrdiff_t stride, int width,
                  std::int16_t* out, bool avx2) const noexcept {
  const Rows rows{source + axis_.first(i) * stride, stride};
  const int taps = axis_.size(i);
  const auto place = static_cast<std::size_t>(i);
  const auto all = static_cast<std::size_t>(axis_.taps());
#if defined(FOREBAY_AVX2)
  const bool wide = avx2 && width >= kWide;
#else
  static_cast<void>(avx2);
  constexpr bool wide = false;
#endif
  if (shift_ == 0) {
    const std::uint16_t* weights = words_.data() + place * all;
#if defined(FOREBAY_AVX2)
    if (wide) return kFewAvx2[taps - 1](rows, weights, width, out);
#endif
    few_portable(rows, weights, taps, 0, width, out);
  } else {
    const std::int32_t* pairs = pairs_.data() + place * ((all + 1) / 2);
#if defined(FOREBAY_AVX2)
    if (wide) return many_avx2(rows, pairs, taps, shift_, width, out);
#endif
    many_portable(rows, pairs, taps, shift_, 0, width, out);
  }
}

}  // namespace forebay::pixels
