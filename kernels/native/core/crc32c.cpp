#include "crc32c.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

// Instructions are chosen per function and at run time, never by -march, so that one build runs
// on every machine of its architecture.
#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#define FOREBAY_CRC_X86 1
#define FOREBAY_CRC_TARGET __attribute__((target("sse4.2,crc32")))
#include <nmmintrin.h>
#elif defined(__aarch64__) && (defined(__linux__) || defined(__APPLE__))
#define FOREBAY_CRC_ARM 1
#define FOREBAY_CRC_TARGET __attribute__((target("+crc")))
#include <arm_acle.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#endif

namespace forebay {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78u;  // 0x1EDC6F41, bits reversed

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b] is the register after byte b and then k zero bytes.
constexpr Tables slicing_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) ? kPolynomial : 0u);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xFFu];
  return tables;
}

constexpr Tables kSlicing = slicing_tables();

inline std::uint32_t table_byte(std::uint32_t crc, std::uint8_t byte) noexcept {
  return (crc >> 8) ^ kSlicing[0][(crc ^ byte) & 0xFFu];
}

inline std::uint64_t load_word(const std::uint8_t* data) noexcept {
  static_assert(std::endian::native == std::endian::little, "written for little-endian machines");
  std::uint64_t word;
  std::memcpy(&word, data, sizeof word);
  return word;
}

#if defined(FOREBAY_CRC_X86) || defined(FOREBAY_CRC_ARM)

using ShiftTable = std::array<std::array<std::uint32_t, 256>, 4>;

// The register after `bytes` zero bytes, as a table: advancing over zeros is linear over GF(2), so
// 32 images (of the single bits) fix it, and one table a byte of the register applies it.
constexpr ShiftTable shift_table(std::size_t bytes) {
  std::array<std::uint32_t, 32> image{};
  for (std::size_t bit = 0; bit < 32; ++bit) image[bit] = std::uint32_t{1} << bit;
  const auto apply = [](const std::array<std::uint32_t, 32>& map, std::uint32_t vector) {
    std::uint32_t sum = 0;
    for (std::size_t bit = 0; bit < 32; ++bit)
      if ((vector >> bit) & 1u) sum ^= map[bit];
    return sum;
  };
  std::array<std::uint32_t, 32> power{};  // the map for 1, 2, 4, ... zero bytes
  for (std::size_t bit = 0; bit < 32; ++bit) {
    const std::uint32_t crc = std::uint32_t{1} << bit;
    power[bit] = (crc >> 8) ^ kSlicing[0][crc & 0xFFu];
  }
  for (; bytes != 0; bytes >>= 1) {
    if (bytes & 1u)
      for (auto& column : image) column = apply(power, column);
    std::array<std::uint32_t, 32> squared{};
    for (std::size_t bit = 0; bit < 32; ++bit) squared[bit] = apply(power, power[bit]);
    power = squared;
  }
  ShiftTable table{};
  for (std::size_t lane = 0; lane < 4; ++lane)
    for (std::uint32_t byte = 0; byte < 256; ++byte)
      table[lane][byte] = apply(image, byte << (8 * lane));
  return table;
}

inline std::uint32_t shifted(const ShiftTable& table, std::uint32_t crc) noexcept {
  return table[0][crc & 0xFFu] ^ table[1][(crc >> 8) & 0xFFu] ^ table[2][(crc >> 16) & 0xFFu] ^
         table[3][crc >> 24];
}

// Two sizes: the long one makes joining streams free, the short one serves records of a few kB.
constexpr std::size_t kLong = 4096;
constexpr std::size_t kShort = 256;
constexpr ShiftTable kLongShift = shift_table(kLong);
constexpr ShiftTable kShortShift = shift_table(kShort);

#if defined(FOREBAY_CRC_X86)
FOREBAY_CRC_TARGET inline std::uint32_t step_word(std::uint32_t crc, std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(_mm_crc32_u64(crc, word));
}
FOREBAY_CRC_TARGET inline std::uint32_t step_byte(std::uint32_t crc, std::uint8_t byte) noexcept {
  return _mm_crc32_u8(crc, byte);
}
bool has_instruction() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }
constexpr const char* kInstruction = "sse4.2";
#else
FOREBAY_CRC_TARGET inline std::uint32_t step_word(std::uint32_t crc, std::uint64_t word) noexcept {
  return __crc32cd(crc, word);
}
FOREBAY_CRC_TARGET inline std::uint32_t step_byte(std::uint32_t crc, std::uint8_t byte) noexcept {
  return __crc32cb(crc, byte);
}
#if defined(__APPLE__)
bool has_instruction() noexcept { return true; }  // every Apple arm64 processor has it
#else
bool has_instruction() noexcept {
  constexpr unsigned long kHwcapCrc32 = 1ul << 7;
  return (getauxval(AT_HWCAP) & kHwcapCrc32) != 0;
}
#endif
constexpr const char* kInstruction = "armv8";
#endif

// The instruction takes three cycles but one can start each cycle: three streams fill the unit.
template <std::size_t Block>
FOREBAY_CRC_TARGET std::uint32_t three_streams(const std::uint8_t*& data, std::size_t& size,
                                               std::uint32_t crc,
                                               const ShiftTable& shift) noexcept {
  for (; size >= 3 * Block; data += 3 * Block, size -= 3 * Block) {
    std::uint32_t second = 0;
    std::uint32_t third = 0;
    for (std::size_t at = 0; at < Block; at += 8) {
      crc = step_word(crc, load_word(data + at));
      second = step_word(second, load_word(data + Block + at));
      third = step_word(third, load_word(data + 2 * Block + at));
    }
    crc = shifted(shift, shifted(shift, crc) ^ second) ^ third;
  }
  return crc;
}

FOREBAY_CRC_TARGET std::uint32_t crc32c_hardware(const std::uint8_t* data, std::size_t size,
                                                 std::uint32_t value) noexcept {
  std::uint32_t crc = ~value;
  crc = three_streams<kLong>(data, size, crc, kLongShift);
  crc = three_streams<kShort>(data, size, crc, kShortShift);
  for (; size >= 8; data += 8, size -= 8) crc = step_word(crc, load_word(data));
  for (; size != 0; ++data, --size) crc = step_byte(crc, *data);
  return ~crc;
}

// Ranges too short for three streams of their own: three of them run side by side instead, and
// whichever ends makes place for the next. 1.8 times as fast at 300 bytes (benchmarks/bench_crc.py).
constexpr std::size_t kAlone = 3 * kShort;

struct Lane {
  const std::uint8_t* at = nullptr;
  std::size_t words = 0;
  std::size_t rest = 0;
  std::uint32_t crc = 0;
  std::uint32_t* out = nullptr;
};

struct Ranges {
  const std::uint8_t* data;
  const std::int64_t* starts;
  const std::int64_t* lengths;
  std::size_t count;
  std::uint32_t* out;
  std::size_t next = 0;
};

// Puts the next short range into a lane; the others are done on the way. False where none is left.
FOREBAY_CRC_TARGET bool refill(Ranges& all, Lane& lane) noexcept {
  for (; all.next < all.count; ++all.next) {
    const auto size = static_cast<std::size_t>(all.lengths[all.next]);
    const std::uint8_t* const from = all.data + all.starts[all.next];
    if (size >= kAlone || size < 8) {
      all.out[all.next] = crc32c_hardware(from, size, 0);
      continue;
    }
    lane = Lane{from, size / 8, size % 8, ~std::uint32_t{0}, all.out + all.next};
    ++all.next;
    return true;
  }
  return false;
}

FOREBAY_CRC_TARGET void finish(Lane& lane) noexcept {
  std::uint32_t crc = lane.crc;
  for (; lane.words != 0; --lane.words, lane.at += 8) crc = step_word(crc, load_word(lane.at));
  for (; lane.rest != 0; --lane.rest, ++lane.at) crc = step_byte(crc, *lane.at);
  *lane.out = ~crc;
  lane.out = nullptr;
}

FOREBAY_CRC_TARGET void ranges_hardware(const std::uint8_t* data, const std::int64_t* starts,
                                        const std::int64_t* lengths, std::size_t count,
                                        std::uint32_t* out) noexcept {
  Ranges all{data, starts, lengths, count, out};
  Lane lanes[3];
  bool full = refill(all, lanes[0]) && refill(all, lanes[1]) && refill(all, lanes[2]);
  while (full) {
    const std::size_t words = std::min({lanes[0].words, lanes[1].words, lanes[2].words});
    std::uint32_t a = lanes[0].crc;
    std::uint32_t b = lanes[1].crc;
    std::uint32_t c = lanes[2].crc;
    for (std::size_t k = 0; k < 8 * words; k += 8) {
      a = step_word(a, load_word(lanes[0].at + k));
      b = step_word(b, load_word(lanes[1].at + k));
      c = step_word(c, load_word(lanes[2].at + k));
    }
    lanes[0].crc = a;
    lanes[1].crc = b;
    lanes[2].crc = c;
    for (Lane& lane : lanes) {
      lane.at += 8 * words;
      lane.words -= words;
    }
    for (Lane& lane : lanes) {
      if (lane.words != 0) continue;
      finish(lane);
      full = refill(all, lane) && full;
    }
  }
  for (Lane& lane : lanes)
    if (lane.out != nullptr) finish(lane);
}

#else

bool has_instruction() noexcept { return false; }
constexpr const char* kInstruction = "portable";
constexpr auto crc32c_hardware = crc32c_portable;

void ranges_hardware(const std::uint8_t*, const std::int64_t*, const std::int64_t*, std::size_t,
                     std::uint32_t*) noexcept {}

#endif

const bool kHardware = has_instruction();

}  // namespace

std::uint32_t crc32c_portable(const std::uint8_t* data, std::size_t size,
                              std::uint32_t value) noexcept {
  std::uint32_t crc = ~value;
  for (; size >= 8; data += 8, size -= 8) {
    const std::uint64_t word = load_word(data) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kSlicing[7 - k][(word >> (8 * k)) & 0xFFu];
  }
  for (; size != 0; ++data, --size) crc = table_byte(crc, *data);
  return ~crc;
}

std::uint32_t crc32c(const std::uint8_t* data, std::size_t size, std::uint32_t value) noexcept {
  return kHardware ? crc32c_hardware(data, size, value) : crc32c_portable(data, size, value);
}

const char* crc32c_backend() noexcept { return kHardware ? kInstruction : "portable"; }

std::size_t crc32c_ranges(const std::uint8_t* data, std::size_t size, const std::int64_t* starts,
                          const std::int64_t* lengths, std::size_t count,
                          std::uint32_t* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (starts[i] < 0 || lengths[i] < 0) return i;
    const auto start = static_cast<std::uint64_t>(starts[i]);
    if (start > size || static_cast<std::uint64_t>(lengths[i]) > size - start) return i;
  }
  if (kHardware) {
    ranges_hardware(data, starts, lengths, count, out);
  } else {
    for (std::size_t i = 0; i < count; ++i)
      out[i] = crc32c_portable(data + starts[i], static_cast<std::size_t>(lengths[i]));
  }
  return count;
}

}  // namespace forebay
