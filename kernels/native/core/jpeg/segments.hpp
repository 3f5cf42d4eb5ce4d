// Where the restart segments of a seekable JPEG lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "header.hpp"

namespace forebay::jpeg {

enum class SegmentStatus : std::uint8_t {
  ok,
  not_claimed,    // the headers are not those of a seekable JPEG
  too_many,       // more segments than the image has intervals
  too_few,        // the image ends before its last interval
  disorder,       // a restart marker out of turn
  truncated,      // the data ends before the image does
  bad_row_start,  // a row offset that was given does not follow the restart marker that it should
  out_of_memory,
};

// One sentence for a person; static, never null.
const char* sentence(SegmentStatus status) noexcept;

// The segments of some whole rows of MCUs. Memory is kept from image to image.
class Segments {
 public:
  // Finds the segments of MCU rows [first_row, last_row), which must lie inside the image, of a
  // JPEG whose parsed header is given. A JPEG is seekable when its headers claim so (Header), and
  // its segments number exactly as claimed with RST markers in order; this holds for what was
  // scanned: up to last_row, and to the end of the image when that is its last row.
  //
  // `row_starts`, where not null, are header.mcu_rows() offsets of the first byte of each row's
  // first segment, kept by whoever packed the image: the scan begins there instead of at the first
  // row. They are not believed: the marker before and all that follow must be in turn.
  SegmentStatus find(const std::uint8_t* data, std::size_t size, const Header& header,
                     std::uint32_t first_row, std::uint32_t last_row,
                     const std::uint32_t* row_starts = nullptr) noexcept;

  // Intervals of one row of MCUs; a segment is (row, interval).
  std::uint32_t a_row() const noexcept { return a_row_; }
  // Bytes [begin, end) of a segment's entropy-coded data, its marker left out.
  std::size_t begin(std::uint32_t row, std::uint32_t interval) const noexcept {
    return marks_[index(row, interval)] + 2;
  }
  std::size_t end(std::uint32_t row, std::uint32_t interval) const noexcept {
    return marks_[index(row, interval) + 1];
  }

 private:
  std::size_t index(std::uint32_t row, std::uint32_t interval) const noexcept {
    return static_cast<std::size_t>(row - first_row_) * a_row_ + interval;
  }

  // marks_[i] is the marker before segment i (the last two bytes of the scan header before the
  // first of all), marks_[i + 1] the one after it.
  std::vector<std::uint32_t> marks_;
  std::uint32_t first_row_ = 0;
  std::uint32_t a_row_ = 0;
};

}  // namespace forebay::jpeg
