// Tests of the core alone, without Python: exits 0, or prints each failure and exits 1.
#include "../core/frames.hpp"

#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "../core/crc32c.hpp"
#include "../core/plain.hpp"
#include "../core/runs.hpp"
#include "../core/utf8.hpp"

namespace {

using forebay::FrameFault;
using Bytes = std::vector<std::uint8_t>;

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

void add_part(Bytes& to, std::uint32_t flag, const std::string& body) {
  const std::uint32_t head[2] = {0xCED7230Au,
                                 flag << 29 | static_cast<std::uint32_t>(body.size())};
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(head);
  to.insert(to.end(), bytes, bytes + 8);
  to.insert(to.end(), body.begin(), body.end());
  while (to.size() % 4 != 0) to.push_back(0);
}

struct Opened {
  std::vector<std::int64_t> starts, lengths;
  std::vector<FrameFault> faults;
  std::size_t bad;
};

Opened open(Bytes& data, const std::vector<std::int64_t>& starts,
            const std::vector<std::int64_t>& lengths) {
  const std::size_t count = starts.size();
  Opened opened{std::vector<std::int64_t>(count), std::vector<std::int64_t>(count),
                std::vector<FrameFault>(count), 0};
  const forebay::Frames frames{data.data(), data.size(), starts.data(), lengths.data(),
                               nullptr,     nullptr,     count};
  expect(forebay::misplaced_frame(frames) == count, "all records are inside");
  opened.bad = forebay::open_frames(frames, opened.starts.data(), opened.lengths.data(),
                                    opened.faults.data());
  return opened;
}

void parts_are_joined() {
  Bytes data;
  add_part(data, 0, "whole");
  const auto second = static_cast<std::int64_t>(data.size());
  add_part(data, 1, "abcd");
  add_part(data, 2, "");
  add_part(data, 3, "xyz");
  const auto size = static_cast<std::int64_t>(data.size());
  const Opened opened = open(data, {0, second}, {second, size - second});
  expect(opened.bad == 0, "both records are good");
  expect(opened.lengths[0] == 5, "the first has 5 bytes");
  expect(opened.lengths[1] == 15, "the second has its parts and two magics");
  const std::uint8_t joined[] = {'a', 'b', 'c', 'd', 0x0A, 0x23, 0xD7, 0xCE,
                                 0x0A, 0x23, 0xD7, 0xCE, 'x', 'y', 'z'};
  expect(std::memcmp(data.data() + opened.starts[1], joined, sizeof joined) == 0, "joined");
}

// Any bytes may be read: what matters is that the sanitizers find nothing, and that whatever is
// called good lies inside its own record.
void any_bytes_are_survived() {
  std::mt19937 engine(11);
  for (int round = 0; round < 20000; ++round) {
    Bytes data;
    std::vector<std::int64_t> starts, lengths;
    for (int i = 0; i < 4; ++i) {
      const auto start = static_cast<std::int64_t>(data.size());
      const int parts = 1 + static_cast<int>(engine() % 3);
      for (int k = 0; k < parts; ++k)
        add_part(data, parts == 1 ? 0 : k == 0 ? 1 : k == parts - 1 ? 3 : 2,
                 std::string(engine() % 4 * 4, 'x'));
      starts.push_back(start);
      lengths.push_back(static_cast<std::int64_t>(data.size()) - start);
    }
    for (int k = 0; k < 3; ++k)
      data[engine() % data.size()] ^= static_cast<std::uint8_t>(1u << (engine() % 8));
    data.shrink_to_fit();
    const Opened opened = open(data, starts, lengths);
    for (std::size_t i = 0; i < starts.size(); ++i)
      expect(opened.faults[i] != FrameFault::none ||
                 (opened.lengths[i] >= 0 && opened.lengths[i] + 8 <= lengths[i] + 4 * 3),
             "a good payload is no longer than its record");
  }
}

// Every sequence of up to four bytes drawn from those at which a rule begins or ends.
void text_is_what_the_standard_says() {
  const std::uint8_t edges[] = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF,
                                0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5};
  const auto decode = [](const std::uint8_t* at, std::size_t size) {  // by code points, slowly
    for (std::size_t i = 0; i < size;) {
      const std::uint32_t first = at[i];
      const std::size_t many = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3
                               : first >> 3 == 30 ? 4 : 0;
      if (many == 0 || i + many > size) return false;
      std::uint32_t point = many == 1 ? first : first & (0x7Fu >> many);
      for (std::size_t k = 1; k < many; ++k) {
        if (at[i + k] >> 6 != 2) return false;
        point = point << 6 | (at[i + k] & 63u);
      }
      const std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
      if (point < least[many] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
        return false;
      i += many;
    }
    return true;
  };
  std::uint8_t text[4];
  for (const std::uint8_t a : edges)
    for (const std::uint8_t b : edges)
      for (const std::uint8_t c : edges)
        for (const std::uint8_t d : edges) {
          text[0] = a, text[1] = b, text[2] = c, text[3] = d;
          for (std::size_t size = 0; size <= 4; ++size)
            expect(forebay::is_utf8(text, size) == decode(text, size), "text of edges");
        }
}

// A page header and values, damaged anywhere: nothing outside the chunk's places is touched.
void damaged_pages_are_survived() {
  std::mt19937 engine(5);
  for (int round = 0; round < 20000; ++round) {
    // type 0; 40 bytes; 40 bytes; data page header of 5 values, PLAIN, RLE, RLE
    Bytes chunk = {0x15, 0, 0x15, 80, 0x15, 80, 0x2C, 0x15, 10, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0};
    const std::size_t header = chunk.size();
    for (int i = 0; i < 5; ++i) {
      const std::uint32_t length = 4;
      const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&length);
      chunk.insert(chunk.end(), bytes, bytes + 4);
      chunk.insert(chunk.end(), {'t', 'e', 'x', 't'});
    }
    Bytes out(40, 0);
    std::vector<std::int64_t> spans(10);
    Bytes valid(5);
    const bool strings = round % 2 == 0;
    forebay::PlainChunk plan{0, static_cast<std::int64_t>(chunk.size()), 5,
                             static_cast<std::int64_t>(header + 40), strings ? 0 : 8,
                             round % 3 == 0, 0, 1, 0, 40, 0, 0};
    if (round > 3)
      for (int k = 0; k < 2; ++k)
        chunk[engine() % chunk.size()] = static_cast<std::uint8_t>(engine());
    const forebay::PlainBuffers buffers{chunk.data(), chunk.size(), out.data(),   out.size(),
                                        spans.data(), spans.size(), valid.data(), valid.size()};
    const bool good = forebay::decode_plain(plan, buffers);
    expect(round > 3 || good == (plan.levels == 0), "undamaged pages are read");
  }
}

void runs_are_bounded() {
  const std::int64_t starts[] = {0, 6};
  const std::int64_t lengths[] = {10, 4};
  expect(forebay::run_outside(10, starts, lengths, 0, 2) == 2, "runs that end with the buffer");
  expect(forebay::run_outside(9, starts, lengths, 0, 2) == 0, "a run that ends behind it");
  expect(forebay::run_outside(10, starts, nullptr, 5, 2) == 1, "a run of one width");
}

}  // namespace

int main() {
  parts_are_joined();
  any_bytes_are_survived();
  text_is_what_the_standard_says();
  damaged_pages_are_survived();
  runs_are_bounded();
  if (failures == 0) std::printf("frames, runs, text and pages: all passed\n");
  return failures == 0 ? 0 : 1;
}
