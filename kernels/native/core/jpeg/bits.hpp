// Bits of entropy-coded data (ITU T.81, F.2.2.5): 64 at a time, stuffed zeros left out.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace forebay::jpeg {

// Reads until a marker or the end of the data, then zeros, and knows whether they were used.
// A value: copied to a local for an MCU, so that its parts live in registers.
struct BitReader {
  const std::uint8_t* at;   // the next byte to load; at the marker's 0xFF once `ended`
  const std::uint8_t* end;  // of the data
  std::uint64_t window;     // the next bits at the top; below `count` of them, more that will follow
  int count;                // bits that may be taken
  int padding;              // of them, bits that were not in the data
  bool ended;

  void start(const std::uint8_t* from) noexcept {
    at = from;
    window = 0;
    count = padding = 0;
    ended = false;
  }

  // After this at least 56 bits may be taken: more than any code with its coefficient has (31).
  void refill() noexcept {
    if (end - at >= 8) [[likely]] {
      const std::uint64_t word = load(at);
      if (!has_ff(word)) [[likely]] {
        window |= word >> count;
        at += (63 - count) >> 3;
        count |= 56;
        return;
      }
    }
    // By a copy, since a reader whose address is taken would live in memory.
    BitReader copy = *this;
    copy.refill_by_byte();
    *this = copy;
  }

  void take(unsigned bits) noexcept {
    window <<= bits;
    count -= static_cast<int>(bits);
  }

  // More bits were taken than the data has.
  bool overrun() const noexcept { return count < padding; }
  // Whole bytes of data that were loaded and not taken.
  int unread_bytes() const noexcept { return (count - padding) >> 3; }

 private:
  static std::uint64_t load(const std::uint8_t* from) noexcept {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    return word;
  }
  static bool has_ff(std::uint64_t word) noexcept {
    return ((~word - 0x0101010101010101u) & word & 0x8080808080808080u) != 0;
  }
  void refill_by_byte() noexcept;
};

// Never inlined: few words have a byte 0xFF, and the loop around it should stay small.
[[gnu::noinline]] inline void BitReader::refill_by_byte() noexcept {
  while (count <= 56) {
    std::uint64_t byte = 0;
    if (!ended && at >= end) ended = true;
    if (!ended && *at == 0xFF) {
      const std::uint8_t* next = at + 1;
      while (next < end && *next == 0xFF) ++next;
      // Fill bytes stand before markers only (T.81, B.1.1.2). With one before a stuffed zero the data
      // ends: libjpeg-turbo goes on, but with coefficients left over from its first attempt.
      if (next < end && *next == 0x00 && next == at + 1) {
        byte = 0xFF;
        at = next + 1;
      } else {
        ended = true;
        at = next - 1;
      }
    } else if (!ended) {
      byte = *at++;
    }
    if (ended) padding += 8;
    window |= byte << (56 - count);
    count += 8;
  }
}

}  // namespace forebay::jpeg
