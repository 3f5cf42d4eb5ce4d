// Tests of the marker scan, of segments and of slices without Python: exits 0, or prints the first
// failures and exits 1.
#include "../../core/jpeg/segments.hpp"

#include <cstring>
#include <memory>

#include "../../core/jpeg/marker_scan.hpp"
#include "made_jpeg.hpp"

using namespace forebay::jpeg;
using namespace forebay::jpeg::tests;

namespace {

using Scan = RestartScan (*)(const std::uint8_t*, std::size_t, std::size_t, unsigned,
                             std::uint32_t*, std::size_t) noexcept;
constexpr Scan SCANS[] = {scan_restarts, scan_restarts_portable};

// A marker at each offset around vectors' edges, in data of each size, is found, and only there.
void markers_at_every_offset() {
  for (std::size_t size = 2; size < 200; ++size) {
    for (std::size_t at = 0; at + 2 <= size; ++at) {
      const auto data = std::make_unique<std::uint8_t[]>(size);
      std::memset(data.get(), 0x11, size);
      data[at] = 0xFF;
      data[at + 1] = 0xD0;
      for (const Scan scan : SCANS) {
        std::uint32_t found[2];
        const RestartScan got = scan(data.get(), size, 0, 0, found, 2);
        expect(got.count == 1 && found[0] == at && got.why == ScanStop::data_end &&
                   got.stop == size,
               "marker at " + std::to_string(at) + " of " + std::to_string(size));
        const RestartScan none = scan(data.get(), size - 1, at + 1, 0, found, 2);
        expect(none.count == 0 && none.why == ScanStop::data_end, "begun after it");
      }
      data[at + 1] = 0xD9;
      expect(find_scan_end(data.get(), size, 0) == at, "end");
      expect(find_scan_end(data.get(), at + 1, 0) == at + 1, "half a marker is none");
    }
  }
}

void stuffing_and_fill() {
  const Bytes data = {0xFF, 0x00, 0xFF, 0xFF, 0x00, 0xFF, 0xFF, 0xFF, 0xD0, 0xFF, 0xD1, 0xFF, 0xD9};
  for (const Scan scan : SCANS) {
    std::uint32_t found[4];
    RestartScan got = scan(data.data(), data.size(), 0, 0, found, 4);
    expect(got.count == 2 && found[0] == 7 && found[1] == 9, "two after stuffing and fill");
    expect(got.why == ScanStop::other && got.stop == 11, "then the end");
    got = scan(data.data(), data.size(), 0, 8, found, 1);
    expect(got.count == 1 && got.why == ScanStop::full, "full; numbers count modulo 8");
    got = scan(data.data(), data.size(), 0, 1, found, 4);
    expect(got.count == 0 && got.why == ScanStop::disorder && got.stop == 7, "out of turn");
    got = scan(data.data(), data.size(), 0, 0, found, 0);
    expect(got.count == 0 && got.why == ScanStop::full, "no room");
  }
}

void fast_equals_portable() {
  std::mt19937 engine(5);
  for (int round = 0; round < 2000; ++round) {
    Bytes data(engine() % 600);
    for (auto& byte : data) {
      const unsigned draw = engine() % 8;
      byte = static_cast<std::uint8_t>(draw < 3 ? 0xFF : draw == 3 ? 0x00 : 0xD0 + engine() % 10);
    }
    std::size_t from = data.empty() ? 0 : engine() % data.size();
    unsigned number = engine() % 8;
    // From each place where a scan stops, on to the next.
    for (; from < data.size(); from += 2) {
      std::uint32_t a[64], b[64];
      const RestartScan fast = scan_restarts(data.data(), data.size(), from, number, a, 64);
      const RestartScan slow = scan_restarts_portable(data.data(), data.size(), from, number, b, 64);
      expect(fast.count == slow.count && fast.stop == slow.stop && fast.why == slow.why &&
                 std::memcmp(a, b, fast.count * sizeof *a) == 0,
             "round " + std::to_string(round));
      from = fast.stop;
      number = engine() % 8;
    }
  }
}

std::size_t nth_restart(const Bytes& bytes, std::size_t from, unsigned n) {
  for (std::size_t i = from; i + 1 < bytes.size(); ++i)
    if (bytes[i] == 0xFF && (bytes[i + 1] & 0xF8) == 0xD0 && n-- == 0) return i;
  return 0;
}

SegmentStatus whole(const Bytes& bytes, Segments& segments) {
  Header header;
  if (parse_header(bytes.data(), bytes.size(), header) != HeaderStatus::ok)
    return SegmentStatus::not_claimed;
  if (!header.claims_seekable()) return SegmentStatus::not_claimed;
  return segments.find(bytes.data(), bytes.size(), header, 0, header.mcu_rows());
}

void damage_is_told() {
  const Bytes good = encode(64, 48, KINDS[2], {.restart = 2});  // 4 x 3 MCUs, 6 segments
  Header header;
  parse_header(good.data(), good.size(), header);
  Segments segments;
  expect(whole(good, segments) == SegmentStatus::ok && segments.a_row() == 2, "whole");
  expect(segments.begin(0, 0) == header.entropy_at, "the first begins with the data");
  expect(segments.end(2, 1) == good.size() - 2, "the last ends before EOI");
  const std::size_t third = nth_restart(good, header.entropy_at, 2);
  expect(segments.end(1, 0) == third && segments.begin(1, 1) == third + 2, "third marker");
  Bytes bytes = good;
  bytes[third + 1] ^= 1;
  expect(whole(bytes, segments) == SegmentStatus::disorder, "renumbered");
  bytes[third + 1] = 0;
  expect(whole(bytes, segments) == SegmentStatus::disorder, "one lost");
  bytes = good;
  bytes[nth_restart(good, header.entropy_at, 4) + 1] = 0;
  expect(whole(bytes, segments) == SegmentStatus::too_few, "the last lost");
  bytes = good;
  bytes.insert(bytes.end() - 2, {0xFF, 0xD5});
  expect(whole(bytes, segments) == SegmentStatus::too_many, "one more");
  bytes = good;
  bytes.resize(good.size() - 2);
  expect(whole(bytes, segments) == SegmentStatus::truncated, "no end");
  bytes.resize(third);
  expect(whole(bytes, segments) == SegmentStatus::truncated, "cut in the middle");
}

void rows_may_be_given() {
  const Bytes good = encode(64, 90, KINDS[2], {.restart = 2});
  Header header;
  parse_header(good.data(), good.size(), header);
  Segments all, some;
  whole(good, all);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < header.mcu_rows(); ++row)
    rows.push_back(static_cast<std::uint32_t>(all.begin(row, 0)));
  for (std::uint32_t first = 0; first < header.mcu_rows(); ++first)
    for (std::uint32_t last = first + 1; last <= header.mcu_rows(); ++last) {
      const SegmentStatus status =
          some.find(good.data(), good.size(), header, first, last, rows.data());
      expect(status == SegmentStatus::ok, sentence(status));
      for (std::uint32_t row = first; row < last; ++row)
        for (std::uint32_t i = 0; i < 2; ++i)
          expect(some.begin(row, i) == all.begin(row, i) && some.end(row, i) == all.end(row, i),
                 "the same segments");
    }
  for (const std::uint32_t wrong : {0u, 1u, rows[2] + 1, rows[3], UINT32_MAX}) {
    std::vector<std::uint32_t> lies = rows;
    lies[2] = wrong;
    expect(some.find(good.data(), good.size(), header, 2, 4, lies.data()) ==
               SegmentStatus::bad_row_start,
           "a wrong row is noticed");
  }
}

void check_slice(const Bytes& bytes, const Header& header, const Whole& full,
                 const Window& window, const std::string& name) {
  Segments segments;
  const SlicePlan plan = plan_slice(header, window, 1);
  const SegmentStatus status =
      segments.find(bytes.data(), bytes.size(), header, plan.first_row, plan.last_row);
  expect(status == SegmentStatus::ok, sentence(status));
  Bytes slice(slice_bound(bytes.size()));
  slice.resize(write_slice(bytes.data(), bytes.size(), header, segments, plan, slice.data()));
  expect(slice[slice.size() - 1] == 0xD9, name + ": ends with EOI");
  const Whole part = decode_whole(slice, 1);
  expect(part.height == plan.pixels.height && part.width == plan.pixels.width, name + ": size");
  const unsigned top = window.top - plan.pixels.top, left = window.left - plan.pixels.left;
  bool equal = true;
  for (unsigned y = 0; y < window.height; ++y)
    equal &= std::memcmp(part.at(top + y, left), full.at(window.top + y, window.left),
                         std::size_t{window.width} * 3) == 0;
  expect(equal, name + " " + text(window));
}

// Also with one to six columns of the last MCU in the image: then its interval alone is too narrow.
void slices_are_jpegs_of_the_same_pixels() {
  for (const Kind& kind : KINDS) {
    const unsigned mcu = 8u * static_cast<unsigned>(std::max(kind.h, kind.chroma_h));
    for (const unsigned last : {1u, 2u, 3u, 4u, 5u, 6u, mcu}) {
      for (const unsigned restart : {1u, 3u}) {
        const unsigned width = mcu * 5 + std::min(last, mcu), height = 75;
        const Bytes bytes = encode(width, height, kind, {.restart = restart});
        const Whole full = decode_whole(bytes, 1);
        Header header;
        parse_header(bytes.data(), bytes.size(), header);
        if (!header.claims_seekable()) continue;  // grey of 2x2 has other MCUs
        const std::string name = std::string(kind.name) + " +" + std::to_string(last);
        for (const Window& window : windows(height, width, 20))
          check_slice(bytes, header, full, window, name);
        for (unsigned left = width - 8; left < width; ++left)
          check_slice(bytes, header, full, {height / 2, left, 3, 1}, name);
      }
    }
  }
}

}  // namespace

int main() {
  markers_at_every_offset();
  stuffing_and_fill();
  fast_equals_portable();
  damage_is_told();
  rows_may_be_given();
  slices_are_jpegs_of_the_same_pixels();
  if (failures == 0) std::printf("segments: all passed on %s\n", marker_scan_backend());
  return failures == 0 ? 0 : 1;
}
