#include "permute.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "simd.hpp"

namespace forebay {
namespace {

constexpr std::size_t kRounds = 8;
constexpr std::int64_t kTile = 256;

#if defined(__GNUC__)
#define FOREBAY_INLINE inline __attribute__((always_inline))
#else
#define FOREBAY_INLINE inline
#endif

struct Network {
  Halves halves;
  std::uint64_t keys[kRounds];
};

Network network(const Halves& halves, Key key) noexcept {
  Network made{halves, {}};
  for (std::size_t pair = 0; pair < kRounds / 2; ++pair) {
    const Words words = philox(key, pair);
    made.keys[2 * pair] = words[0] | std::uint64_t{words[1]} << 32;
    made.keys[2 * pair + 1] = words[2] | std::uint64_t{words[3]} << 32;
  }
  return made;
}

// The finaliser of SplitMix64 (Stafford's variant 13), scaled to [0, modulus).
FOREBAY_INLINE std::uint64_t hashed(std::uint64_t half, std::uint64_t key,
                                    std::uint64_t modulus) noexcept {
  std::uint64_t mixed = half ^ key;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return ((mixed >> 32) * modulus) >> 32;
}

FOREBAY_INLINE void add_hash(std::uint64_t* into, const std::uint64_t* other, std::int64_t count,
                             std::uint64_t key, std::uint64_t modulus) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t total = into[i] + hashed(other[i], key, modulus);
    // Sums stay below 2^32, so that a signed comparison, which vectors have, will do.
    const auto over = static_cast<std::int64_t>(total) - static_cast<std::int64_t>(modulus);
    into[i] = over < 0 ? total : static_cast<std::uint64_t>(over);
  }
}

// A round is one loop over a tile that stays in the first cache, so that the compiler makes it of
// vector instructions.
FOREBAY_INLINE void through(const Network& net, std::int64_t* tile, std::int64_t count) noexcept {
  alignas(64) std::uint64_t left[kTile];
  alignas(64) std::uint64_t right[kTile];
  for (std::int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::uint64_t>(tile[i]);
    left[i] = place / net.halves.right;
    right[i] = place - left[i] * net.halves.right;
  }
  for (std::size_t r = 0; r < kRounds; r += 2) {
    add_hash(left, right, count, net.keys[r], net.halves.left);
    add_hash(right, left, count, net.keys[r + 1], net.halves.right);
  }
  for (std::int64_t i = 0; i < count; ++i)
    tile[i] = static_cast<std::int64_t>(left[i] * net.halves.right + right[i]);
}

FOREBAY_INLINE void send(const Network& net, std::int64_t* out, std::int64_t count) noexcept {
  for (std::int64_t start = 0; start < count; start += kTile) {
    const std::int64_t size = std::min(kTile, count - start);
    std::int64_t* tile = out + start;
    through(net, tile, size);
    for (std::int64_t i = 0; i < size; ++i)
      while (tile[i] >= net.halves.n) through(net, tile + i, 1);
  }
}

#if defined(FOREBAY_AVX2)
FOREBAY_AVX2_TARGET void send_avx2(const Network& net, std::int64_t* out,
                                   std::int64_t count) noexcept {
  send(net, out, count);
}
#endif

std::int64_t copy_checked(std::int64_t n, const std::int64_t* index, std::int64_t count,
                          std::int64_t* out) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    if (index[i] < 0 || index[i] >= n) return i;
    out[i] = index[i];
  }
  return -1;
}

}  // namespace

// From the last place down, each place swaps with one at or below it. A draw in [0, size) is the
// upper half of word * size; words whose lower half falls under 2^32 mod size are drawn again
// (Lemire 2019), or the first 2^32 mod size values would come up once more often than the rest.
void shuffled_table(Key key, std::uint16_t* table, std::size_t size) noexcept {
  std::iota(table, table + size, std::uint16_t{0});
  std::uint64_t counter = 0;
  std::size_t used = 4;
  Words words{};
  for (std::size_t last = size; last-- > 1;) {
    const std::uint64_t places = last + 1;
    const std::uint64_t threshold = (std::uint64_t{1} << 32) % places;
    std::uint64_t product;
    do {
      if (used == 4) {
        words = philox(key, counter++);
        used = 0;
      }
      product = words[used++] * places;
    } while (static_cast<std::uint32_t>(product) < threshold);
    std::swap(table[last], table[product >> 32]);
  }
}

std::int64_t look_up(const std::uint16_t* table, std::int64_t size, const std::int64_t* index,
                     std::int64_t count, std::int64_t* out) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    if (index[i] < 0 || index[i] >= size) return i;
    out[i] = table[index[i]];
  }
  return -1;
}

std::int64_t permute_portable(const Halves& halves, Key key, const std::int64_t* index,
                              std::int64_t count, std::int64_t* out) noexcept {
  const std::int64_t bad = copy_checked(halves.n, index, count, out);
  if (bad < 0) send(network(halves, key), out, count);
  return bad;
}

std::int64_t permute(const Halves& halves, Key key, const std::int64_t* index, std::int64_t count,
                     std::int64_t* out) noexcept {
#if defined(FOREBAY_AVX2)
  if (has_avx2()) {
    const std::int64_t bad = copy_checked(halves.n, index, count, out);
    if (bad < 0) send_avx2(network(halves, key), out, count);
    return bad;
  }
#endif
  return permute_portable(halves, key, index, count, out);
}

}  // namespace forebay
