#include "huffman.hpp"

#include <algorithm>
#include <cstring>

namespace forebay::jpeg {

namespace {

constexpr std::uint32_t packed(HuffmanTable::Kind kind, unsigned total, unsigned advance,
                               std::int32_t value) noexcept {
  return total | static_cast<std::uint32_t>(kind) | advance << 8 |
         static_cast<std::uint32_t>(value) << 16;
}

}  // namespace

// DC: the symbol is a size; AC: four bits of run and four of size. T.81 has no meaning for a size
// of 0 with a run of 1 to 14 in sequential scans: libjpeg takes it for the end of the block.
HuffmanTable::Entry HuffmanTable::entry_of(std::uint8_t symbol, unsigned length) const noexcept {
  const unsigned run = kind_ == HuffmanKind::dc ? 0u : symbol >> 4;
  const unsigned size = symbol & 15u;
  const unsigned advance = size == 0 && run != 15 ? kBlockEnd : run + 1;
  return {packed(size == 0 ? kEmpty : kSized, length + size, advance,
                 static_cast<std::int32_t>(size))};
}

void HuffmanTable::fill(std::uint32_t code, unsigned length, std::uint8_t symbol) noexcept {
  const Entry entry = entry_of(symbol, length);
  std::uint32_t* at = entries_ + (code << (kBits - length));
  const auto size = static_cast<unsigned>(entry.value());
  if (entry.kind() == kEmpty || length + size > kBits) {
    std::fill_n(at, std::size_t{1} << (kBits - length), entry.packed);
    return;
  }
  // T.81, F.2.2.1 (EXTEND): of `size` bits, those that begin with 0 are negative values.
  const unsigned repeats = 1u << (kBits - length - size);
  for (std::int32_t bits = 0; bits < 1 << size; ++bits, at += repeats) {
    const bool negative = bits < 1 << (size - 1);
    const std::int32_t value = negative ? bits - (1 << size) + 1 : bits;
    std::fill_n(at, repeats, packed(kDirect, length + size, entry.advance(), value));
  }
}

// Of the last code's coefficient some bits may follow: only its size matters.
std::uint16_t HuffmanTable::skip_of(std::uint32_t bits) const noexcept {
  unsigned total = 0, advance = 0;
  while (total < kBits) {
    const Entry entry{entries_[bits << total & ((1u << kBits) - 1)]};
    if (entry.kind() == kLong) break;
    const auto size = entry.kind() == kSized ? static_cast<unsigned>(entry.value()) : 0u;
    if (total + entry.total() - size > kBits) break;  // made up of bits that are not there
    if (entry.kind() == kEmpty && entry.advance() == kBlockEnd)
      return static_cast<std::uint16_t>((total + entry.total()) | 32u | advance << 6);
    if (advance + entry.advance() > 62 || total + entry.total() > 31) break;
    advance += entry.advance();
    total += entry.total();
  }
  return static_cast<std::uint16_t>(total | advance << 6);
}

std::uint64_t HuffmanTable::pair_of(std::uint32_t bits) const noexcept {
  constexpr std::uint32_t kMask = (1u << kBits) - 1, kEnds = 64, kNone = 128;
  const auto value = [](Entry e) { return std::uint64_t{static_cast<std::uint16_t>(e.value())}; };
  const Entry one{entries_[bits]};
  if (one.kind() != kDirect) return kNone;
  unsigned total = one.total(), second = 0;
  std::uint64_t values = value(one) << 32 | value(one) << 48;
  const Entry two{entries_[bits << total & kMask]};
  if (two.kind() == kDirect && total + two.total() <= kBits) {
    values = value(one) << 32 | value(two) << 48;
    second = two.advance();
    total += two.total();
  }
  const Entry next{entries_[bits << total & kMask]};
  const bool ends = next.kind() == kEmpty && next.advance() == kBlockEnd &&
                    total + next.total() <= kBits;
  if (ends) total += next.total();
  return total | (ends ? kEnds : 0u) | std::uint64_t{one.advance()} << 8 |
         std::uint64_t{second} << 16 | values;
}

bool HuffmanTable::build(const std::uint8_t counts[17], const std::uint8_t values[256],
                         HuffmanKind kind) noexcept {
  if (built_ && kind == kind_ && std::memcmp(counts + 1, counts_ + 1, 16) == 0 &&
      std::memcmp(values, values_, sizeof values_) == 0)
    return true;
  built_ = false;
  kind_ = kind;
  std::memcpy(counts_, counts, sizeof counts_);
  std::memcpy(values_, values, sizeof values_);
  std::memset(entries_, 0, sizeof entries_);
  static_assert(kLong == 0, "entries that no code fills");
  // T.81, C.2: codes of a length count up from twice the code after the last shorter one.
  std::uint32_t code = 0;
  std::uint32_t index = 0;
  for (unsigned length = 1; length <= 16; ++length, code <<= 1) {
    const std::uint32_t count = counts[length];
    if (code + count > 1u << length || index + count > 256) return false;
    first_value_[length] = static_cast<std::int32_t>(index) - static_cast<std::int32_t>(code);
    for (std::uint32_t i = 0; i < count; ++i, ++code, ++index) {
      if (kind == HuffmanKind::dc && values[index] > 15) return false;
      if (length <= kBits) fill(code, length, values[index]);
    }
    limit_[length] = code << (16 - length);
  }
  if (kind == HuffmanKind::ac)
    for (std::uint32_t bits = 0; bits < 1u << kBits; ++bits) {
      skips_[bits] = skip_of(bits);
      pairs_[bits] = pair_of(bits);
    }
  built_ = true;
  return true;
}

HuffmanTable::Entry HuffmanTable::look_up_long(std::uint64_t window) const noexcept {
  const auto top = static_cast<std::uint32_t>(window >> 48);
  for (unsigned length = kBits + 1; length <= 16; ++length) {
    if (top >= limit_[length]) continue;
    const std::int32_t code = static_cast<std::int32_t>(top >> (16 - length));
    return entry_of(values_[(first_value_[length] + code) & 255], length);
  }
  return Entry{};
}

}  // namespace forebay::jpeg
