// Scans any bytes for markers, fast and plainly, and finds segments by any header and row offsets.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../../kernels/native/core/jpeg/marker_scan.hpp"
#include "../../kernels/native/core/jpeg/segments.hpp"

namespace {

using namespace forebay::jpeg;

void both_scans(const std::uint8_t* data, std::size_t size, std::size_t from) {
  std::vector<std::uint32_t> fast(size / 2 + 1), plain(size / 2 + 1);
  const unsigned number = static_cast<unsigned>(from);
  const RestartScan a = scan_restarts(data, size, from, number, fast.data(), fast.size());
  const RestartScan b = scan_restarts_portable(data, size, from, number, plain.data(), plain.size());
  if (a.count != b.count || a.stop != b.stop || a.why != b.why) std::abort();
  if (std::memcmp(fast.data(), plain.data(), a.count * sizeof fast[0]) != 0) std::abort();
  if (find_scan_end(data, size, from) > size) std::abort();
}

void check(const std::uint8_t* data, std::size_t size, const Header& header,
           const Segments& segments, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t row = first; row < last; ++row)
    for (std::uint32_t i = 0; i < segments.a_row(); ++i) {
      const std::size_t begin = segments.begin(row, i), end = segments.end(row, i);
      if (begin < header.entropy_at || begin > end || end + 2 > size) std::abort();
      if (data[end] != 0xFF) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  both_scans(data, size, size / 3);
  Header header;
  if (parse_header(data, size, header) != HeaderStatus::ok) return 0;
  both_scans(data, size, header.entropy_at);
  if (!header.claims_seekable()) return 0;
  Segments segments;
  const std::uint32_t rows = header.mcu_rows();
  if (segments.find(data, size, header, 0, rows) == SegmentStatus::ok)
    check(data, size, header, segments, 0, rows);
  // Row offsets out of the input itself: no value of them may lead outside.
  std::vector<std::uint32_t> starts(rows, static_cast<std::uint32_t>(size));
  if (size >= 4)
    for (std::uint32_t i = 0; i < rows; ++i) {
      std::memcpy(&starts[i], data + 4 * i % (size - 3), 4);
      starts[i] %= static_cast<std::uint32_t>(2 * size);
    }
  const std::uint32_t first = size % rows;
  const std::uint32_t last = first + 1 + (rows - first - 1) / 2;
  if (segments.find(data, size, header, first, last, starts.data()) == SegmentStatus::ok)
    check(data, size, header, segments, first, last);
  return 0;
}
