// Keyed permutations of [0, n). What they are and why is told in kernels/permute.py.
#pragma once

#include <cstddef>
#include <cstdint>

#include "philox.hpp"

namespace forebay {

// Fills table with 0 .. size - 1 and shuffles it, each order equally likely; size <= 2^16.
void shuffled_table(Key key, std::uint16_t* table, std::size_t size) noexcept;

// out[i] = table[index[i]]. The number of the first index outside the table, or -1; what follows
// it is not written.
std::int64_t look_up(const std::uint16_t* table, std::int64_t size, const std::int64_t* index,
                     std::int64_t count, std::int64_t* out) noexcept;

// The domain of a Feistel network: positions below n, halves in [0, left) and [0, right).
struct Halves {
  std::int64_t n;
  std::uint64_t left, right;

  // Whether it covers [0, n), and its sums and products fit their words.
  bool sound() const noexcept {
    constexpr std::uint64_t most = std::uint64_t{1} << 31;
    return n > 0 && left > 0 && right > 0 && left <= most && right <= most &&
           left * right >= static_cast<std::uint64_t>(n);
  }
};

// Sends each position through the network; halves must be sound. Returns as `look_up`, but
// nothing is sent where one is outside. The second does without vector instructions.
std::int64_t permute(const Halves& halves, Key key, const std::int64_t* index, std::int64_t count,
                     std::int64_t* out) noexcept;
std::int64_t permute_portable(const Halves& halves, Key key, const std::int64_t* index,
                              std::int64_t count, std::int64_t* out) noexcept;

}  // namespace forebay
