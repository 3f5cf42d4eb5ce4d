// Mutations of inputs, deterministic in a seed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

namespace forebay::fuzz {

using Bytes = std::vector<std::uint8_t>;

class Mutator {
 public:
  // Results have `max_len` bytes at most.
  Mutator(std::uint64_t seed, std::size_t max_len) : engine_(seed), max_len_(max_len) {}

  // A member of `corpus` (not empty), changed by one to eight mutations.
  Bytes mutate(const std::vector<Bytes>& corpus) {
    Bytes input = pick(corpus);
    for (std::size_t left = std::size_t{1} << below(4); left > 0; --left) change(input, corpus);
    if (input.size() > max_len_) input.resize(max_len_);
    return input;
  }

 private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : engine_() % bound; }
  std::uint8_t byte() { return static_cast<std::uint8_t>(engine_()); }

  // Later members were found by fuzzing and reach rarer code: half of the picks are of the last
  // quarter.
  const Bytes& pick(const std::vector<Bytes>& corpus) {
    const std::size_t size = corpus.size();
    if (below(2) == 0) return corpus[below(size)];
    const std::size_t quarter = (size + 3) / 4;
    return corpus[size - quarter + below(quarter)];
  }

  // Lengths are mostly short, as the structures that they hit are.
  std::size_t length(std::size_t available) {
    const std::size_t most = below(4) == 0 ? available : std::min<std::size_t>(available, 16);
    return most == 0 ? 0 : 1 + below(most);
  }

  void change(Bytes& input, const std::vector<Bytes>& corpus) {
    if (input.empty()) {
      input.push_back(byte());
      return;
    }
    const std::size_t at = below(input.size());
    switch (below(10)) {
      case 0:
        input[at] = static_cast<std::uint8_t>(input[at] ^ (1u << below(8)));
        break;
      case 1:
        input[at] = byte();
        break;
      case 2: {  // Values at which lengths, counts and signs turn over.
        static constexpr std::uint8_t edge[] = {0,  1,  2,  3,  4,   7,   8,   15,
                                                16, 17, 63, 64, 127, 128, 254, 255};
        input[at] = edge[below(std::size(edge))];
        break;
      }
      case 3:
        input[at] = static_cast<std::uint8_t>(input[at] + (below(2) == 0 ? 1 : -1));
        break;
      case 4: {  // A 16-bit number, big endian.
        static constexpr std::uint16_t edge[] = {0,   1,      2,      3,      255,
                                                 256, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF};
        const std::uint16_t value = edge[below(std::size(edge))];
        input[at] = static_cast<std::uint8_t>(value >> 8);
        if (at + 1 < input.size()) input[at + 1] = static_cast<std::uint8_t>(value);
        break;
      }
      case 5:  // A marker, as JPEG has them.
        input[at] = 0xFF;
        if (at + 1 < input.size()) input[at + 1] = static_cast<std::uint8_t>(0xC0 + below(64));
        break;
      case 6:
        input.erase(input.begin() + static_cast<std::ptrdiff_t>(at),
                    input.begin() + static_cast<std::ptrdiff_t>(at + length(input.size() - at)));
        break;
      case 7: {  // Bytes of its own once more, elsewhere.
        const std::size_t from = below(input.size());
        insert(input, at, part(input, from, length(input.size() - from)));
        break;
      }
      case 8: {  // Bytes of another, laid over or between.
        const Bytes& other = corpus[below(corpus.size())];
        const std::size_t from = below(other.size());
        const Bytes piece = part(other, from, length(other.size() - from));
        const std::size_t over = std::min(piece.size(), input.size() - at);
        if (below(2) == 0) insert(input, at, piece);
        else std::copy_n(piece.begin(), over, input.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      }
      default:  // Cut short.
        if (below(4) == 0) input.resize(at);
        break;
    }
  }

  static Bytes part(const Bytes& bytes, std::size_t from, std::size_t size) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(from);
    return Bytes(first, first + static_cast<std::ptrdiff_t>(size));
  }

  void insert(Bytes& input, std::size_t at, const Bytes& piece) {
    if (input.size() + piece.size() > max_len_) return;
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
  }

  std::mt19937_64 engine_;
  std::size_t max_len_;
};

}  // namespace forebay::fuzz
