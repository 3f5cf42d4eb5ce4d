#include "slice.hpp"

#include <algorithm>
#include <cstring>

#include "markers.hpp"

namespace forebay::jpeg {
namespace {

constexpr std::uint32_t kMargin = 2;

// A frame needs these; the rest is description.
bool kept(const std::uint8_t* data, const Segment& segment) noexcept {
  const std::uint8_t* body = data + segment.body;
  switch (segment.marker) {
    case code::kDqt:
    case code::kDht:
    case code::kDri:
      return true;
    case code::kApp0:
      return segment.length >= 14 && std::memcmp(body, "JFIF", 5) == 0;
    case code::kApp14:
      return segment.length >= 12 && std::memcmp(body, "Adobe", 5) == 0;
    default:
      return is_frame(segment.marker) || segment.marker == code::kSos;
  }
}

std::uint8_t* append(std::uint8_t* out, const std::uint8_t* from, std::size_t size) noexcept {
  std::memcpy(out, from, size);
  return out + size;
}

std::uint8_t* append_marker(std::uint8_t* out, std::uint8_t marker) noexcept {
  out[0] = 0xFF;
  out[1] = marker;
  return out + 2;
}

void put16(std::uint8_t* out, std::uint32_t value) noexcept {
  out[0] = static_cast<std::uint8_t>(value >> 8);
  out[1] = static_cast<std::uint8_t>(value);
}

std::uint8_t* append_headers(const std::uint8_t* data, std::size_t size, const Header& header,
                             const Window& pixels, std::uint8_t* out) noexcept {
  out = append_marker(out, code::kSoi);
  MarkerWalk walk(data, size, 2);
  Segment segment{};
  while (segment.at != header.scan_at && walk.next(segment) == MarkerWalk::Step::found) {
    if (!kept(data, segment)) continue;
    std::uint8_t* copy = out;
    out = append(out, data + segment.at, segment.body + segment.length - segment.at);
    if (!is_frame(segment.marker)) continue;
    put16(copy + 5, pixels.height);  // FF C0, length, precision; then lines, samples a line
    put16(copy + 7, pixels.width);
  }
  return out;
}

}  // namespace

SlicePlan plan_slice(const Header& header, const Window& window, unsigned denominator) noexcept {
  const std::uint32_t margin = kMargin * denominator;
  const std::uint32_t mcu_height = header.mcu_height();
  const std::uint32_t interval_width = header.mcu_width() * header.restart_interval;
  const std::uint32_t bottom = window.top + window.height + margin;
  const std::uint32_t right = window.left + window.width + margin;
  const std::uint32_t intervals = header.mcus_a_row() / header.restart_interval;
  SlicePlan plan{};
  plan.first_row = (window.top - std::min(window.top, margin)) / mcu_height;
  plan.last_row = std::min((bottom - 1) / mcu_height + 1, header.mcu_rows());
  plan.first_interval = (window.left - std::min(window.left, margin)) / interval_width;
  plan.last_interval = std::min((right - 1) / interval_width + 1, intervals);
  // libjpeg upsamples rows of two chroma samples or fewer without smoothing. One interval can be so
  // narrow at the right edge of the image, or at a part of its size.
  const auto right_edge = [&] {
    return std::min<std::uint32_t>(plan.last_interval * interval_width, header.width);
  };
  if (right_edge() - plan.first_interval * interval_width <= 2u * header.max_h * denominator) {
    if (plan.first_interval > 0)
      --plan.first_interval;
    else
      plan.last_interval = std::min(plan.last_interval + 1, intervals);
  }
  plan.pixels.top = plan.first_row * mcu_height;
  plan.pixels.left = plan.first_interval * interval_width;
  plan.pixels.height =
      std::min<std::uint32_t>(plan.last_row * mcu_height, header.height) - plan.pixels.top;
  plan.pixels.width = right_edge() - plan.pixels.left;
  return plan;
}

// Headers and segments are copied at most once each, and every segment but the last of all has two
// bytes of marker after it in the data as well.
std::size_t slice_bound(std::size_t size) noexcept { return size + 4; }

std::size_t write_slice(const std::uint8_t* data, std::size_t size, const Header& header,
                        const Segments& segments, const SlicePlan& plan,
                        std::uint8_t* out) noexcept {
  std::uint8_t* at = append_headers(data, size, header, plan.pixels, out);
  unsigned number = 0;
  for (std::uint32_t row = plan.first_row; row < plan.last_row; ++row) {
    for (std::uint32_t i = plan.first_interval; i < plan.last_interval; ++i) {
      const std::size_t begin = segments.begin(row, i);
      at = append(at, data + begin, segments.end(row, i) - begin);
      at = append_marker(at, static_cast<std::uint8_t>(code::kRst0 + (number++ & 7u)));
    }
  }
  // The last segment is followed by the end of the image instead.
  at = append_marker(at - 2, code::kEoi);
  return static_cast<std::size_t>(at - out);
}

}  // namespace forebay::jpeg
