#include "marker_scan.hpp"

#include <bit>
#include <cstring>

#include "markers.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define FOREBAY_SCAN_X86 1
#include <immintrin.h>
#endif

namespace forebay::jpeg {
namespace {

// Each visitor takes a marker's offset and code and tells whether to go on.
struct Collect {
  RestartScan result;
  unsigned number;
  std::uint32_t* out;
  std::size_t capacity;

  bool operator()(std::size_t at, std::uint8_t marker) noexcept {
    result.stop = at;
    if (!is_restart(marker)) {
      result.why = ScanStop::other;
      return false;
    }
    if (marker != code::kRst0 + (number & 7u)) {
      result.why = ScanStop::disorder;
      return false;
    }
    ++number;
    out[result.count++] = static_cast<std::uint32_t>(at);
    if (result.count < capacity) return true;
    result.why = ScanStop::full;
    return false;
  }
};

struct FindOther {
  std::size_t at;
  bool operator()(std::size_t position, std::uint8_t marker) noexcept {
    if (is_restart(marker)) return true;
    at = position;
    return false;
  }
};

// A 0xFF at the very end is no marker.
template <class Visitor>
inline bool visit(const std::uint8_t* data, std::size_t size, std::size_t at,
                  Visitor& visitor) noexcept {
  if (at + 1 >= size) return true;
  const std::uint8_t marker = data[at + 1];
  return marker == 0x00 || marker == 0xFF || visitor(at, marker);
}

// Bit i of the mask: byte at + i is 0xFF, and the next is not 0. False when the visitor wants no
// more.
template <class Visitor>
inline bool visit_mask(const std::uint8_t* data, std::size_t size, std::size_t at,
                       std::uint64_t mask, Visitor& visitor) noexcept {
  for (; mask != 0; mask &= mask - 1)
    if (!visit(data, size, at + static_cast<std::size_t>(std::countr_zero(mask)), visitor))
      return false;
  return true;
}

template <class Visitor>
void scan_portable(const std::uint8_t* data, std::size_t size, std::size_t at,
                   Visitor& visitor) noexcept {
  constexpr std::uint64_t kLow = 0x0101010101010101u;
  constexpr std::uint64_t kHigh = 0x8080808080808080u;
  for (; at < size && size - at >= 8; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, data + at, sizeof word);
    word = ~word;
    if (((word - kLow) & ~word & kHigh) == 0) continue;  // no byte of the word was 0xFF
    for (std::size_t i = 0; i < 8; ++i)
      if (data[at + i] == 0xFF && !visit(data, size, at + i, visitor)) return;
  }
  for (; at < size; ++at)
    if (data[at] == 0xFF && !visit(data, size, at, visitor)) return;
}

#if defined(FOREBAY_SCAN_X86)

// Both loops load each block twice, the second time a byte further on, so that a marker that
// straddles two blocks is no case of its own, and stuffed bytes cost no branch.
constexpr std::size_t kBlock = 64;

template <class Visitor>
void scan_sse2(const std::uint8_t* data, std::size_t size, std::size_t at,
               Visitor& visitor) noexcept {
  const __m128i ones = _mm_set1_epi8(-1);
  const __m128i zero = _mm_setzero_si128();
  for (; at < size && size - at > kBlock; at += kBlock) {
    std::uint64_t mask = 0;
    for (int part = 3; part >= 0; --part) {
      const std::uint8_t* from = data + at + 16 * part;
      const __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      const __m128i next = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 1));
      const __m128i hits = _mm_andnot_si128(_mm_cmpeq_epi8(next, zero), _mm_cmpeq_epi8(here, ones));
      mask = mask << 16 | static_cast<std::uint64_t>(_mm_movemask_epi8(hits));
    }
    if (mask != 0 && !visit_mask(data, size, at, mask, visitor)) return;
  }
  scan_portable(data, size, at, visitor);
}

// Bytes of `from` that are 0xFF with no 0 after them.
__attribute__((target("avx2"))) inline __m256i hits_avx2(const std::uint8_t* from) noexcept {
  const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i next = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 1));
  return _mm256_andnot_si256(_mm256_cmpeq_epi8(next, _mm256_setzero_si256()),
                             _mm256_cmpeq_epi8(here, _mm256_set1_epi8(-1)));
}

template <class Visitor>
__attribute__((target("avx2"))) void scan_avx2(const std::uint8_t* data, std::size_t size,
                                               std::size_t at, Visitor& visitor) noexcept {
  for (; at < size && size - at > kBlock; at += kBlock) {
    const __m256i low = hits_avx2(data + at);
    const __m256i high = hits_avx2(data + at + 32);
    if (_mm256_testz_si256(_mm256_or_si256(low, high), _mm256_or_si256(low, high))) continue;
    const auto first = static_cast<std::uint32_t>(_mm256_movemask_epi8(low));
    const auto second = static_cast<std::uint32_t>(_mm256_movemask_epi8(high));
    const std::uint64_t mask = static_cast<std::uint64_t>(second) << 32 | first;
    if (!visit_mask(data, size, at, mask, visitor)) return;
  }
  scan_portable(data, size, at, visitor);
}

const bool kAvx2 = __builtin_cpu_supports("avx2") != 0;

template <class Visitor>
void scan(const std::uint8_t* data, std::size_t size, std::size_t at, Visitor& visitor) noexcept {
  if (kAvx2)
    scan_avx2(data, size, at, visitor);
  else
    scan_sse2(data, size, at, visitor);
}

#else

template <class Visitor>
void scan(const std::uint8_t* data, std::size_t size, std::size_t at, Visitor& visitor) noexcept {
  scan_portable(data, size, at, visitor);
}

#endif

Collect collector(std::size_t size, std::size_t from, unsigned number, std::uint32_t* out,
                  std::size_t capacity) noexcept {
  if (capacity == 0) return {{0, from, ScanStop::full}, number, out, capacity};
  return {{0, size, ScanStop::data_end}, number, out, capacity};
}

// A scan that ran to the end has visited markers too, whose places must not stay in `stop`.
RestartScan settled(const Collect& collect, std::size_t size) noexcept {
  RestartScan result = collect.result;
  if (result.why == ScanStop::data_end) result.stop = size;
  return result;
}

}  // namespace

RestartScan scan_restarts(const std::uint8_t* data, std::size_t size, std::size_t from,
                          unsigned number, std::uint32_t* out, std::size_t capacity) noexcept {
  Collect collect = collector(size, from, number, out, capacity);
  if (capacity != 0) scan(data, size, from, collect);
  return settled(collect, size);
}

RestartScan scan_restarts_portable(const std::uint8_t* data, std::size_t size, std::size_t from,
                                   unsigned number, std::uint32_t* out,
                                   std::size_t capacity) noexcept {
  Collect collect = collector(size, from, number, out, capacity);
  if (capacity != 0) scan_portable(data, size, from, collect);
  return settled(collect, size);
}

std::size_t find_scan_end(const std::uint8_t* data, std::size_t size, std::size_t from) noexcept {
  FindOther find{size};
  scan(data, size, from, find);
  return find.at;
}

const char* marker_scan_backend() noexcept {
#if defined(FOREBAY_SCAN_X86)
  return kAvx2 ? "avx2" : "sse2";
#else
  return "portable";
#endif
}

}  // namespace forebay::jpeg
