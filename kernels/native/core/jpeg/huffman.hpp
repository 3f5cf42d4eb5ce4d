// Huffman tables of a JPEG, laid out for decoding (ITU T.81, C and F.2.2).
#pragma once

#include <cstdint>

namespace forebay::jpeg {

// What a table's symbols mean: sizes of DC differences (F.1.2.1), or runs of zeros and sizes of
// AC coefficients (F.1.2.2).
enum class HuffmanKind : std::uint8_t { dc, ac };

class HuffmanTable {
 public:
  // Bits of a stream that one look-up resolves: longer codes are looked for by length. On photos
  // 10 was as fast as any of 9 to 12; its look-ups are 14 KiB a table.
  static constexpr unsigned kBits = 10;

  // What the next kBits bits begin with. kDirect: a code and its coefficient, whose value is here.
  // kSized: a code whose coefficient's bits follow, value() of them. kEmpty: a code without bits:
  // zeros of a run, or the block's end. kLong: a code of more than kBits, or none.
  enum Kind : std::uint32_t { kLong = 0u << 6, kDirect = 1u << 6, kSized = 2u << 6, kEmpty = 3u << 6 };
  static constexpr unsigned kBlockEnd = 64;

  // From the lowest bit: 6 of total(), 2 of kind(), 8 of advance(), 16 of value(). The total comes
  // first because shifts take the low 6 bits of a register as they are.
  struct Entry {
    std::uint32_t packed;

    unsigned total() const noexcept { return packed & 63u; }  // bits of code and coefficient
    Kind kind() const noexcept { return static_cast<Kind>(packed & 0xC0u); }
    unsigned advance() const noexcept { return packed >> 8 & 0xFFu; }  // coefficients it takes
    std::int32_t value() const noexcept { return static_cast<std::int32_t>(packed) >> 16; }
  };

  // Builds the table from T.81's BITS (counts[1..16], codes by length) and HUFFVAL. Returns false
  // where they are no prefix code; the table is then of no use. A table equal to the last one built
  // here costs a comparison.
  bool build(const std::uint8_t counts[17], const std::uint8_t values[256],
             HuffmanKind kind) noexcept;

  // `window` holds the next 16 bits of a stream or more, at its top.
  Entry look_up(std::uint64_t window) const noexcept { return {entries_[window >> (64 - kBits)]}; }

  // Several AC codes at once, for blocks whose coefficients are not wanted: bits and coefficients of
  // all codes that the next kBits bits hold whole. From the lowest bit: 5 of total(), 1 of ends(), 6
  // of advance(). A total of 0: the first code is longer than kBits.
  struct Skip {
    std::uint16_t packed;

    unsigned total() const noexcept { return packed & 31u; }
    bool ends() const noexcept { return (packed & 32u) != 0; }  // the last code ends the block
    unsigned advance() const noexcept { return packed >> 6; }
  };
  Skip look_up_skip(std::uint64_t window) const noexcept { return {skips_[window >> (64 - kBits)]}; }

  // One or two AC codes with their coefficients, where the next kBits bits hold them whole, and the
  // end of the block where it comes next. From the lowest bit: 6 of total(), 1 of ends(), 1 of
  // none(), 8 of first(), 8 of second(), 8 unused, 16 of each value.
  struct Pair {
    std::uint64_t packed;

    unsigned total() const noexcept { return static_cast<unsigned>(packed) & 63u; }
    bool ends() const noexcept { return (packed & 64u) != 0; }  // the last code ends the block
    bool none() const noexcept { return (packed & 128u) != 0; }  // not even one: see Entry
    unsigned first() const noexcept { return static_cast<unsigned>(packed >> 8) & 0xFFu; }
    // 0 where there is one coefficient; both values are then its.
    unsigned second() const noexcept { return static_cast<unsigned>(packed >> 16) & 0xFFu; }
    std::int16_t first_value() const noexcept { return static_cast<std::int16_t>(packed >> 32); }
    std::int16_t second_value() const noexcept { return static_cast<std::int16_t>(packed >> 48); }
  };
  Pair look_up_pair(std::uint64_t window) const noexcept { return {pairs_[window >> (64 - kBits)]}; }

  // The entry of a code longer than kBits at the top of `window`; its kind is kLong where there is
  // no such code.
  Entry look_up_long(std::uint64_t window) const noexcept;

 private:
  Entry entry_of(std::uint8_t symbol, unsigned length) const noexcept;
  void fill(std::uint32_t code, unsigned length, std::uint8_t symbol) noexcept;
  std::uint16_t skip_of(std::uint32_t bits) const noexcept;
  std::uint64_t pair_of(std::uint32_t bits) const noexcept;

  std::uint32_t entries_[1u << kBits];
  std::uint16_t skips_[1u << kBits];
  std::uint64_t pairs_[1u << kBits];
  std::uint32_t limit_[17];       // [n]: the first 16-bit window above all codes of length n
  std::int32_t first_value_[17];  // [n]: index of a code's symbol, less the code
  std::uint8_t counts_[17] = {};
  std::uint8_t values_[256] = {};
  HuffmanKind kind_ = HuffmanKind::dc;
  bool built_ = false;
};

}  // namespace forebay::jpeg
