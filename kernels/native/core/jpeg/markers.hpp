// Walks the marker segments of a JPEG's headers (ITU T.81, B.1.1), with every read inside the data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay::jpeg {

// Codes of T.81, table B.1: the byte after 0xFF.
namespace code {
inline constexpr std::uint8_t kTem = 0x01, kSof0 = 0xC0, kSof1 = 0xC1, kSof2 = 0xC2, kDht = 0xC4,
                              kJpg = 0xC8, kDac = 0xCC, kRst0 = 0xD0, kRst7 = 0xD7, kSoi = 0xD8,
                              kEoi = 0xD9, kSos = 0xDA, kDqt = 0xDB, kDri = 0xDD, kApp0 = 0xE0,
                              kApp1 = 0xE1, kApp14 = 0xEE;
}  // namespace code

constexpr bool is_restart(std::uint8_t marker) noexcept {
  return marker >= code::kRst0 && marker <= code::kRst7;
}
constexpr bool is_frame(std::uint8_t marker) noexcept {
  return marker >= 0xC0 && marker <= 0xCF && marker != code::kDht && marker != code::kJpg &&
         marker != code::kDac;
}

// One marker and its parameters: bytes [body, body + length) of the data, the two bytes that give
// the length left out. Markers that stand alone have length 0.
struct Segment {
  std::uint8_t marker;
  std::size_t at;    // of the 0xFF right before the marker's code
  std::size_t body;  // of the first parameter byte
  std::size_t length;
};

// Reads from the SOI on. As libjpeg does, junk and fill bytes between segments are passed over.
class MarkerWalk {
 public:
  enum class Step : std::uint8_t { found, truncated, bad_length };

  // `data` is kept by address, and must outlive the walk; `from` is where the first marker is
  // looked for.
  MarkerWalk(const std::uint8_t* data, std::size_t size, std::size_t from) noexcept
      : data_(data), size_(size), at_(from) {}

  Step next(Segment& out) noexcept;

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_;
};

inline unsigned big16(const std::uint8_t* at) noexcept {
  return static_cast<unsigned>(at[0]) << 8 | at[1];
}

}  // namespace forebay::jpeg
