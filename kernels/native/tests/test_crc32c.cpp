// Tests of the core alone, without Python: exits 0, or prints each failure and exits 1.
#include "../core/crc32c.hpp"

#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

std::vector<std::uint8_t> noise(std::size_t size) {
  std::mt19937 engine(7);
  std::vector<std::uint8_t> bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(engine());
  return bytes;
}

// RFC 3720, appendix B.4, and the check value that CRC catalogues give for "123456789".
void known_answers() {
  std::vector<std::uint8_t> ascending(32);
  for (std::size_t i = 0; i < 32; ++i) ascending[i] = static_cast<std::uint8_t>(i);
  const std::vector<std::uint8_t> descending(ascending.rbegin(), ascending.rend());
  const std::string digits = "123456789";
  const struct {
    const char* name;
    std::vector<std::uint8_t> bytes;
    std::uint32_t crc;
  } cases[] = {
      {"32 zeros", std::vector<std::uint8_t>(32, 0x00), 0x8A9136AAu},
      {"32 ones", std::vector<std::uint8_t>(32, 0xFF), 0x62A8AB43u},
      {"ascending", ascending, 0x46DD794Eu},
      {"descending", descending, 0x113FDB5Cu},
      {"digits", std::vector<std::uint8_t>(digits.begin(), digits.end()), 0xE3069283u},
      {"nothing", {}, 0u},
  };
  for (const auto& c : cases) {
    expect(forebay::crc32c(c.bytes.data(), c.bytes.size()) == c.crc, c.name);
    expect(forebay::crc32c_portable(c.bytes.data(), c.bytes.size()) == c.crc, c.name);
  }
}

// Every length across both block sizes' edges, at every alignment of a word.
void hardware_equals_portable() {
  const auto bytes = noise(3 * 4096 * 2 + 3 * 256 + 64);
  for (std::size_t offset = 0; offset < 8; ++offset) {
    for (std::size_t size = 0; size + offset < bytes.size(); size += size < 1600 ? 1 : 97) {
      const std::uint8_t* at = bytes.data() + offset;
      expect(forebay::crc32c(at, size, 5u) == forebay::crc32c_portable(at, size, 5u),
             "size " + std::to_string(size) + " at offset " + std::to_string(offset));
    }
  }
}

void pieces_equal_whole() {
  const auto bytes = noise(30000);
  const std::uint32_t whole = forebay::crc32c(bytes.data(), bytes.size());
  for (std::size_t cut = 0; cut <= bytes.size(); cut += 1237) {
    const std::uint32_t head = forebay::crc32c(bytes.data(), cut);
    expect(forebay::crc32c(bytes.data() + cut, bytes.size() - cut, head) == whole,
           "cut at " + std::to_string(cut));
  }
}

void ranges_are_bounded() {
  const auto bytes = noise(100);
  const std::int64_t starts[] = {0, 100, 10, 0};
  const std::int64_t lengths[] = {100, 0, 5, 0};
  std::uint32_t out[4] = {9, 9, 9, 9};
  expect(forebay::crc32c_ranges(bytes.data(), 100, starts, lengths, 4, out) == 4, "good ranges");
  expect(out[2] == forebay::crc32c_portable(bytes.data() + 10, 5), "third range");
  const std::int64_t bad[][2] = {
      {-1, 1}, {0, -1}, {101, 0}, {99, 2}, {INT64_MAX, INT64_MAX}, {1, INT64_MAX}};
  for (const auto& range : bad) {
    const std::int64_t start[] = {0, range[0]};
    const std::int64_t length[] = {1, range[1]};
    std::uint32_t untouched[2] = {9, 9};
    expect(forebay::crc32c_ranges(bytes.data(), 100, start, length, 2, untouched) == 1,
           "bad range " + std::to_string(range[0]) + ", " + std::to_string(range[1]));
    expect(untouched[0] == 9 && untouched[1] == 9, "a bad range leaves out alone");
  }
}

}  // namespace

int main() {
  known_answers();
  hardware_equals_portable();
  pieces_equal_whole();
  ranges_are_bounded();
  if (failures == 0) std::printf("crc32c: all passed on %s\n", forebay::crc32c_backend());
  return failures == 0 ? 0 : 1;
}
