// Philox4x32-10 (Salmon et al., SC 2011): four random words as a function of key and counter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace forebay {

// 128 bits: the first half is Philox's own key, the second the upper half of its counter.
struct Key {
  std::uint64_t low, high;
};

using Words = std::array<std::uint32_t, 4>;

// Block number `counter` of a key's stream.
inline Words philox(Key key, std::uint64_t counter) noexcept {
  auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  Words c{low(counter), high(counter), low(key.high), high(key.high)};
  std::uint32_t k0 = low(key.low), k1 = high(key.low);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {high(p1) ^ c[1] ^ k0, low(p1), high(p0) ^ c[3] ^ k1, low(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

// Writes the block of each of `count` counters: out has four words for each.
inline void philox_fill(Key key, const std::uint64_t* counters, std::size_t count,
                        std::uint32_t* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const Words words = philox(key, counters[i]);
    for (std::size_t j = 0; j < 4; ++j) out[4 * i + j] = words[j];
  }
}

}  // namespace forebay
