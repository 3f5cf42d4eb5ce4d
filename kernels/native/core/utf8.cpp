#include "utf8.hpp"

#include <cstring>

namespace forebay {
namespace {

inline bool continues(std::uint8_t byte) noexcept { return (byte & 0xC0u) == 0x80u; }

// The bytes of the character at `at`, of which `left` are there; 0 where it is none. The bounds of
// the second byte are those of RFC 3629, section 4.
std::size_t character(const std::uint8_t* at, std::size_t left) noexcept {
  const std::uint8_t first = at[0];
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (left < size) return 0;
  const std::uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (at[1] < low || at[1] > high) return 0;
  for (std::size_t i = 2; i < size; ++i)
    if (!continues(at[i])) return 0;
  return size;
}

}  // namespace

bool is_utf8(const std::uint8_t* data, std::size_t size) noexcept {
  std::size_t at = 0;
  while (at < size) {
    if (size - at >= 8) {
      std::uint64_t word;
      std::memcpy(&word, data + at, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        at += 8;
        continue;
      }
    }
    const std::size_t step = character(data + at, size - at);
    if (step == 0) return false;
    at += step;
  }
  return true;
}

}  // namespace forebay
