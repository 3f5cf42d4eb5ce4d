#include "resample_columns.hpp"

#include <algorithm>

#include "resample_rows.hpp"
#include "simd.hpp"
#if defined(FOREBAY_AVX2)
#include <immintrin.h>
#endif

namespace forebay::pixels {
namespace {

// Weights of 15 bits over levels of 15 bits: sums stay below 2**30 + 2**22.
constexpr int kBits = 15;
constexpr int kShift = kBits + kLevelBits;
constexpr std::int32_t kHalf = 1 << (kShift - 1);
constexpr int kBlock = 8;
constexpr int kRegisters = 4;

struct Block {
  const std::int32_t* first;   // of eight outputs
  const std::int16_t* paired;  // (pairs, 4, 16)
  int pairs;
};

void block_portable(const std::int16_t* levels, const Block& block, int channels,
                    std::uint8_t (*pixels)[4]) noexcept {
  for (int j = 0; j < kBlock; ++j) {
    const std::int16_t* from = levels + block.first[j];
    for (int c = 0; c < channels; ++c) {
      std::int32_t sum = kHalf;
      for (int p = 0; p < block.pairs; ++p) {
        const std::int16_t* weights =
            block.paired + (p * kRegisters + j % kRegisters) * 16 + 8 * (j / kRegisters);
        sum += from[2 * p * channels + c] * weights[0] +
               from[(2 * p + 1) * channels + c] * weights[1];
      }
      pixels[j][c] = static_cast<std::uint8_t>(sum >> kShift);
    }
  }
}

void row_portable(const std::int16_t* levels, const Block& start, int blocks, int channels,
                  Order order, std::uint8_t* bytes) noexcept {
  Block block = start;
  for (int b = 0; b < blocks; ++b) {
    std::uint8_t pixels[kBlock][4];
    block_portable(levels, block, channels, pixels);
    for (int j = 0; j < kBlock; ++j)
      for (int c = 0; c < channels; ++c) {
        const int x = b * kBlock + j;
        bytes[order == Order::planar ? c * blocks * kBlock + x : x * channels + c] = pixels[j][c];
      }
    block.first += kBlock;
    block.paired += block.pairs * kRegisters * 16;
  }
}

#if defined(FOREBAY_AVX2)

FOREBAY_AVX2_TARGET inline __m256i two(const std::int16_t* low, const std::int16_t* high) noexcept {
  const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(low));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(first),
                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
}

// Eight outputs as 32-bit words of (red, green, blue, 0) bytes. Register k makes outputs k and
// k + 4, so that packing leaves them in order. Pairs is 0 where their number is not known before.
template <int Pairs>
FOREBAY_AVX2_TARGET inline __m256i block_avx2(const std::int16_t* levels,
                                              const Block& block) noexcept {
  const __m256i by_channel = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1));
  const int pairs = Pairs != 0 ? Pairs : block.pairs;
  __m256i sums[kRegisters];
  for (int k = 0; k < kRegisters; ++k) {
    const std::int16_t* low = levels + block.first[k];
    const std::int16_t* high = levels + block.first[k + kRegisters];
    sums[k] = _mm256_set1_epi32(kHalf);
    for (int p = 0; p < pairs; ++p) {
      const auto* weights = reinterpret_cast<const __m256i*>(block.paired) + p * kRegisters + k;
      const __m256i taps = _mm256_shuffle_epi8(two(low + 6 * p, high + 6 * p), by_channel);
      sums[k] = _mm256_add_epi32(sums[k], _mm256_madd_epi16(taps, _mm256_loadu_si256(weights)));
    }
    sums[k] = _mm256_srai_epi32(sums[k], kShift);
  }
  return _mm256_packus_epi16(_mm256_packs_epi32(sums[0], sums[1]),
                             _mm256_packs_epi32(sums[2], sums[3]));
}

FOREBAY_AVX2_TARGET inline void put_interleaved(__m256i pixels, std::uint8_t* bytes) noexcept {
  const __m256i close = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const __m256i packed = _mm256_shuffle_epi8(pixels, close);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes), _mm256_castsi256_si128(packed));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + 12), _mm256_extracti128_si256(packed, 1));
}

FOREBAY_AVX2_TARGET inline void put_planar(__m256i pixels, std::ptrdiff_t pitch,
                                           std::uint8_t* bytes) noexcept {
  const __m256i apart = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, -1, -1, -1, -1));
  const __m256i joined = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(pixels, apart),
                                                     _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  const __m128i low = _mm256_castsi256_si128(joined);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(bytes), low);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(bytes + pitch), _mm_unpackhi_epi64(low, low));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(bytes + 2 * pitch),
                   _mm256_extracti128_si256(joined, 1));
}

template <int Pairs>
FOREBAY_AVX2_TARGET void row_avx2(const std::int16_t* levels, const Block& start, int blocks,
                                  Order order, std::uint8_t* bytes) noexcept {
  Block block = start;
  const std::ptrdiff_t pitch = kBlock * std::ptrdiff_t{blocks};
  for (int b = 0; b < blocks; ++b) {
    const __m256i pixels = block_avx2<Pairs>(levels, block);
    if (order == Order::planar)
      put_planar(pixels, pitch, bytes + kBlock * b);
    else
      put_interleaved(pixels, bytes + 3 * kBlock * b);
    block.first += kBlock;
    block.paired += block.pairs * kRegisters * 16;
  }
}

#endif

}  // namespace

void ColumnPass::prepare(const AxisShape& shape, int channels, bool mirrored) {
  if (shape == shape_ && channels == channels_ && mirrored == mirrored_) return;
  shape_ = {0, 0, 0, 0};
  axis_.build(shape, kBits, 0x7FFF);
  channels_ = channels;
  mirrored_ = mirrored;
  pair_up();
  shape_ = shape;
}

// paired_[block][pair][k] holds the weights of outputs k and k + 4 of the block: for each four
// times (first of the pair, second), the fourth zero, as the multiply-add of two words wants them.
void ColumnPass::pair_up() {
  const int count = axis_.count();
  blocks_ = (count + kBlock - 1) / kBlock;
  pairs_ = (axis_.taps() + 1) / 2;
  first_.assign(static_cast<std::size_t>(blocks_) * kBlock, 0);
  paired_.assign(first_.size() * static_cast<std::size_t>(pairs_) * 8, 0);
  std::size_t reach = 0;
  for (int x = 0; x < count; ++x) {
    const int output = mirrored_ ? count - 1 - x : x;
    const int k = x % kBlock % kRegisters;
    const int half = x % kBlock / kRegisters;
    first_[static_cast<std::size_t>(x)] = axis_.first(output) * channels_;
    reach = std::max(reach, static_cast<std::size_t>(axis_.first(output) * channels_));
    for (int t = 0; t < axis_.taps(); ++t) {
      const auto weight = static_cast<std::int16_t>(axis_.of(output)[t]);
      const std::size_t pair = static_cast<std::size_t>(x / kBlock) *
                                   static_cast<std::size_t>(pairs_) +
                               static_cast<std::size_t>(t / 2);
      std::int16_t* quad = paired_.data() + pair * kRegisters * 16 + k * 16 + half * 8 + t % 2;
      quad[0] = quad[2] = quad[4] = weight;
    }
  }
  // The last pair of an output is read as 8 words whatever it needs.
  level_words_ = reach + static_cast<std::size_t>(2 * pairs_ * channels_) + 8;
}

std::size_t ColumnPass::byte_room() const noexcept {
  return first_.size() * static_cast<std::size_t>(channels_) + 8;
}

void ColumnPass::row(const std::int16_t* levels, Order order, std::uint8_t* bytes,
                     bool avx2) const noexcept {
  const Block start{first_.data(), paired_.data(), pairs_};
#if defined(FOREBAY_AVX2)
  if (avx2 && channels_ == 3) {
    switch (pairs_) {
      case 1:
        return row_avx2<1>(levels, start, blocks_, order, bytes);
      case 2:
        return row_avx2<2>(levels, start, blocks_, order, bytes);
      case 3:
        return row_avx2<3>(levels, start, blocks_, order, bytes);
      default:
        return row_avx2<0>(levels, start, blocks_, order, bytes);
    }
  }
#else
  static_cast<void>(avx2);
#endif
  row_portable(levels, start, blocks_, channels_, order, bytes);
}

}  // namespace forebay::pixels
