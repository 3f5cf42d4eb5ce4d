#include "segments.hpp"

#include <new>

#include "marker_scan.hpp"
#include "markers.hpp"

namespace forebay::jpeg {
namespace {

SegmentStatus why_short(const RestartScan& scan) noexcept {
  switch (scan.why) {
    case ScanStop::data_end:
      return SegmentStatus::truncated;
    case ScanStop::disorder:
      return SegmentStatus::disorder;
    default:
      return SegmentStatus::too_few;
  }
}

}  // namespace

SegmentStatus Segments::find(const std::uint8_t* data, std::size_t size, const Header& header,
                             std::uint32_t first_row, std::uint32_t last_row,
                             const std::uint32_t* row_starts) noexcept {
  if (!header.claims_seekable() || size > UINT32_MAX) return SegmentStatus::not_claimed;
  a_row_ = header.mcus_a_row() / header.restart_interval;
  first_row_ = row_starts == nullptr ? 0 : first_row;
  const std::uint32_t before = first_row_ * a_row_;  // segments ahead of the scan
  const bool to_the_end = last_row == header.mcu_rows();
  const std::size_t wanted = static_cast<std::size_t>(last_row - first_row_) * a_row_;
  if (wanted > size / 2) return SegmentStatus::truncated;  // each has a marker after it
  try {
    if (marks_.size() < wanted + 1) marks_.resize(wanted + 1);
  } catch (const std::bad_alloc&) {
    return SegmentStatus::out_of_memory;
  }
  std::size_t from = header.entropy_at;
  if (first_row_ != 0) {
    from = row_starts[first_row_];
    if (from < header.entropy_at + 2 || from > size || data[from - 2] != 0xFF ||
        data[from - 1] != code::kRst0 + ((before - 1) & 7u))
      return SegmentStatus::bad_row_start;
  }
  marks_[0] = static_cast<std::uint32_t>(from - 2);
  // The last segment of all ends with another marker than RST.
  const std::size_t restarts = to_the_end ? wanted - 1 : wanted;
  RestartScan scan = scan_restarts(data, size, from, before, &marks_[1], restarts);
  if (scan.count < restarts) return why_short(scan);
  if (!to_the_end) return SegmentStatus::ok;
  const std::size_t last = restarts == 0 ? from : marks_[restarts] + std::size_t{2};
  std::uint32_t surplus;
  scan = scan_restarts(data, size, last, before + static_cast<unsigned>(restarts), &surplus, 1);
  if (scan.why == ScanStop::data_end) return SegmentStatus::truncated;
  if (scan.why != ScanStop::other || data[scan.stop + 1] != code::kEoi)
    return SegmentStatus::too_many;
  marks_[wanted] = static_cast<std::uint32_t>(scan.stop);
  return SegmentStatus::ok;
}

const char* sentence(SegmentStatus status) noexcept {
  switch (status) {
    case SegmentStatus::ok:
      return "the restart segments are as the headers say";
    case SegmentStatus::not_claimed:
      return "the headers are not those of a seekable JPEG (one baseline scan whose restart "
             "interval divides its rows)";
    case SegmentStatus::too_many:
      return "the JPEG goes on after its last restart segment";
    case SegmentStatus::too_few:
      return "the JPEG ends before its last restart segment";
    case SegmentStatus::disorder:
      return "a restart marker of the JPEG is out of turn";
    case SegmentStatus::truncated:
      return "the bytes end inside the JPEG's restart segments";
    case SegmentStatus::bad_row_start:
      return "a row offset of the JPEG does not follow the restart marker that it should";
    case SegmentStatus::out_of_memory:
      return "no memory for the offsets of the JPEG's restart segments";
  }
  return "unknown status";
}

}  // namespace forebay::jpeg
