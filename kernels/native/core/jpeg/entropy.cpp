#include "entropy.hpp"

extern "C" {
#include <jpegint.h>
}

#include "guard.hpp"
#include "marker_scan.hpp"
#include "markers.hpp"

namespace forebay::jpeg {
namespace {

constexpr const char* kBadCode = "a Huffman code that its table does not have";
constexpr const char* kBadRun = "a run of zeros beyond the end of a block";
constexpr const char* kShort = "the entropy-coded data ends before its last MCU";
constexpr const char* kSurplus = "bytes are left over before a restart marker";
constexpr const char* kNoRestart = "a restart marker is missing or out of turn";

// T.81, figure A.6: row-major places of the coefficients in the order of the stream. A run that
// leads out of the block ends at one of the 16 places added; it is noticed when the block is done.
constexpr std::uint8_t kPlace[64 + 16] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33,
    40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36,
    29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
    47, 55, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

// T.81, F.2.2.1: the value of `size` bits (1 to 15) at the top of the window.
inline std::int32_t extended(std::uint64_t window, unsigned size) noexcept {
  const auto bits = static_cast<std::int32_t>(window >> (64 - size));
  const bool negative = static_cast<std::int64_t>(window) >= 0;
  return negative ? bits - (1 << size) + 1 : bits;
}

inline std::int32_t sized_value(const BitReader& bits, HuffmanTable::Entry entry) noexcept {
  const auto size = static_cast<unsigned>(entry.value());
  return extended(bits.window << (entry.total() - size), size);
}

// Takes a DC code and returns the difference (F.2.2.1); `bad` is set where there is none.
[[gnu::always_inline]] inline std::int32_t take_dc(BitReader& bits, const HuffmanTable& table,
                                                   bool& bad) noexcept {
  if (bits.count < 32) bits.refill();
  HuffmanTable::Entry entry = table.look_up(bits.window);
  if (entry.kind() == HuffmanTable::kLong) [[unlikely]] {
    entry = table.look_up_long(bits.window);
    bad |= entry.kind() == HuffmanTable::kLong;
  }
  std::int32_t value = 0;
  if (entry.kind() == HuffmanTable::kDirect) value = entry.value();
  if (entry.kind() == HuffmanTable::kSized) value = sized_value(bits, entry);
  bits.take(entry.total());
  return value;
}

enum class Ac : std::uint8_t { more, done, bad };

// Takes one AC code, of any kind, at coefficient k and writes its coefficient where Keep.
template <bool Keep>
[[gnu::always_inline]] inline Ac take_one(BitReader& bits, const HuffmanTable& table, unsigned& k,
                                          JCOEF* block) noexcept {
  HuffmanTable::Entry entry = table.look_up(bits.window);
  if (entry.kind() == HuffmanTable::kDirect) [[likely]] {
    k += entry.advance();
    if constexpr (Keep) block[kPlace[k]] = static_cast<JCOEF>(entry.value());
    bits.take(entry.total());
    return Ac::more;
  }
  if (entry.kind() == HuffmanTable::kLong) {
    entry = table.look_up_long(bits.window);
    if (entry.kind() == HuffmanTable::kLong) return Ac::bad;
  }
  if (entry.kind() == HuffmanTable::kSized) {
    k += entry.advance();
    if constexpr (Keep) block[kPlace[k]] = static_cast<JCOEF>(sized_value(bits, entry));
    bits.take(entry.total());
    return Ac::more;
  }
  bits.take(entry.total());
  // Zeros up to the end and beyond are harmless, and libjpeg takes them.
  if (entry.advance() == HuffmanTable::kBlockEnd || k + entry.advance() > 63) return Ac::done;
  k += entry.advance();
  return Ac::more;
}

// Takes the AC codes of one block (F.2.2.2) and writes their coefficients; returns why it could
// not, or null.
[[gnu::always_inline]] inline const char* take_ac(BitReader& bits, const HuffmanTable& table,
                                                  JCOEF* block) noexcept {
  unsigned k = 0;
  do {
    if (bits.count < 32) bits.refill();
    const HuffmanTable::Pair pair = table.look_up_pair(bits.window);
    const unsigned first = k + pair.first(), last = first + pair.second();
    // Of codes taken together none but the last may complete the block: those after it are not its.
    if (!pair.none() && last < 63) [[likely]] {
      block[kPlace[first]] = pair.first_value();
      block[kPlace[last]] = pair.second_value();
      k = last;
      bits.take(pair.total());
      if (pair.ends()) return nullptr;
      continue;
    }
    const Ac got = take_one<true>(bits, table, k, block);
    if (got != Ac::more) return got == Ac::done ? nullptr : kBadCode;
  } while (k < 63);
  return k > 63 ? kBadRun : nullptr;
}

// The same for a block whose coefficients are not wanted.
[[gnu::always_inline]] inline const char* skip_ac(BitReader& bits,
                                                  const HuffmanTable& table) noexcept {
  unsigned k = 0;
  do {
    if (bits.count < 32) bits.refill();
    const HuffmanTable::Skip skip = table.look_up_skip(bits.window);
    if (skip.total() != 0 && k + skip.advance() < 63) [[likely]] {
      k += skip.advance();
      bits.take(skip.total());
      if (skip.ends()) return nullptr;
      continue;
    }
    const Ac got = take_one<false>(bits, table, k, nullptr);
    if (got != Ac::more) return got == Ac::done ? nullptr : kBadCode;
  } while (k < 63);
  return k > 63 ? kBadRun : nullptr;
}

[[noreturn]] void fail(j_decompress_ptr codec, const char* why) {
  auto& guard = *reinterpret_cast<Guard*>(codec->err);
  guard.trouble = Trouble::damage;
  std::snprintf(guard.message, sizeof guard.message, "%s", why);
  std::longjmp(guard.back, 1);
}

}  // namespace

bool ScanDecoder::build_tables(const jpeg_decompress_struct& codec) noexcept {
  blocks_a_mcu_ = codec.blocks_in_MCU;
  for (int b = 0; b < blocks_a_mcu_; ++b) {
    const int component = codec.MCU_membership[b];
    const jpeg_component_info& info = *codec.cur_comp_info[component];
    const JHUFF_TBL* dc = codec.dc_huff_tbl_ptrs[info.dc_tbl_no];
    const JHUFF_TBL* ac = codec.ac_huff_tbl_ptrs[info.ac_tbl_no];
    if (dc == nullptr || ac == nullptr) return false;
    HuffmanTable& dc_table = dc_table_[info.dc_tbl_no];
    HuffmanTable& ac_table = ac_table_[info.ac_tbl_no];
    const bool first = b == 0 || component != codec.MCU_membership[b - 1];
    if (first && (!dc_table.build(dc->bits, dc->huffval, HuffmanKind::dc) ||
                  !ac_table.build(ac->bits, ac->huffval, HuffmanKind::ac)))
      return false;
    // Of an image at an eighth of its size only the mean of each block is wanted.
    block_[b] = {&dc_table, &ac_table, static_cast<std::uint8_t>(component),
                 info.DCT_scaled_size > 1};
  }
  return true;
}

bool ScanDecoder::take_over(jpeg_decompress_struct& codec, std::uint32_t first,
                            std::uint32_t last) noexcept {
  if (codec.progressive_mode || codec.arith_code || codec.entropy == nullptr ||
      codec.unread_marker != 0 || !build_tables(codec))
    return false;
  const std::uint8_t* from = codec.src->next_input_byte;
  bits_.start(from);
  bits_.end = from + codec.src->bytes_in_buffer;
  columns_ = codec.MCUs_per_row;
  column_ = 0;
  first_ = first;
  last_ = last;
  interval_ = codec.restart_interval;
  to_go_ = interval_;
  restart_number_ = 0;
  lost_ = false;
  for (std::uint32_t& dc : dc_) dc = 0;
  codec.client_data = this;
  codec.entropy->decode_mcu = decode_mcu;
  return true;
}

// T.81, F.2.1.3.1 and E.2.4: nothing but the marker is between the last MCU and the next.
const char* ScanDecoder::restart() noexcept {
  const std::uint8_t* at = bits_.at;
  if (lost_) {
    std::uint32_t found;
    const auto left = static_cast<std::size_t>(bits_.end - at);
    // Offsets of 32 bits: what lies further than that is not looked for, and so missing.
    const std::size_t reach = left < UINT32_MAX ? left : UINT32_MAX;
    if (scan_restarts(at, reach, 0, restart_number_, &found, 1).count != 1) return kNoRestart;
    at += found;
  } else {
    if (bits_.unread_bytes() > 0) return kSurplus;
    if (bits_.end - at < 2) return kShort;
    if (at[0] != 0xFF || at[1] == 0x00) return kSurplus;
    while (bits_.end - at > 2 && at[1] == 0xFF) ++at;
    if (at[1] != code::kRst0 + restart_number_) return kNoRestart;
  }
  bits_.start(at + 2);
  restart_number_ = (restart_number_ + 1) & 7u;
  to_go_ = interval_;
  lost_ = false;
  for (std::uint32_t& dc : dc_) dc = 0;
  return nullptr;
}

// No MCU from here to the next restart is looked at, so that none needs to be decoded.
bool ScanDecoder::rest_is_unseen(bool row_is_skipped) const noexcept {
  return interval_ != 0 && (row_is_skipped || column_ > last_) && to_go_ <= columns_ - column_;
}

[[gnu::always_inline]] inline const char* ScanDecoder::decode(JBLOCKROW* blocks) noexcept {
  const bool seen = blocks != nullptr && column_ >= first_ && column_ <= last_;
  BitReader bits = bits_;
  bool bad = false;
  for (int b = 0; b < blocks_a_mcu_; ++b) {
    const Block& block = block_[b];
    std::uint32_t& dc = dc_[block.component];
    dc += static_cast<std::uint32_t>(take_dc(bits, *block.dc, bad));
    const char* why;
    if (seen) {
      JCOEF* to = *blocks[b];
      to[0] = static_cast<JCOEF>(dc);
      why = block.ac_needed ? take_ac(bits, *block.ac, to) : skip_ac(bits, *block.ac);
    } else {
      why = skip_ac(bits, *block.ac);
    }
    if (why != nullptr) return bits.overrun() ? kShort : why;
  }
  bits_ = bits;
  if (bits.overrun()) return kShort;
  return bad ? kBadCode : nullptr;
}

#if defined(FOREBAY_ENTROPY_BMI2)
// Shifts by a register's value are one operation instead of three.
__attribute__((target("bmi,bmi2"))) const char* ScanDecoder::decode_bmi2(
    JBLOCKROW* blocks) noexcept {
  return decode(blocks);
}
#endif

const char* ScanDecoder::decode_plain(JBLOCKROW* blocks) noexcept { return decode(blocks); }

const ScanDecoder::Decode ScanDecoder::kDecode =
#if defined(FOREBAY_ENTROPY_BMI2)
    __builtin_cpu_supports("bmi2") ? &ScanDecoder::decode_bmi2 :
#endif
                                   &ScanDecoder::decode_plain;

boolean ScanDecoder::decode_mcu(j_decompress_ptr codec, JBLOCKROW* blocks) {
  ScanDecoder& self = *static_cast<ScanDecoder*>(codec->client_data);
  const char* why = nullptr;
  if (self.interval_ != 0 && self.to_go_ == 0) why = self.restart();
  if (why == nullptr && !self.lost_) {
    if (self.rest_is_unseen(blocks == nullptr))
      self.lost_ = true;
    else
      why = (self.*kDecode)(blocks);
  }
  if (why != nullptr) fail(codec, why);
  --self.to_go_;
  if (++self.column_ == self.columns_) self.column_ = 0;
  return TRUE;
}

}  // namespace forebay::jpeg
