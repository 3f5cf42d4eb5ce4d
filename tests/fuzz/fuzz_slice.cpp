// Cuts slices out of any bytes that pass for a seekable JPEG: each must fit, and be one itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "../../kernels/native/core/jpeg/slice.hpp"

namespace {

using namespace forebay::jpeg;

void cut(const std::uint8_t* data, std::size_t size, const Header& header, const Window& window,
         unsigned denominator) {
  const SlicePlan plan = plan_slice(header, window, denominator);
  if (plan.last_row > header.mcu_rows() || plan.first_row >= plan.last_row) std::abort();
  Segments segments;
  if (segments.find(data, size, header, plan.first_row, plan.last_row) != SegmentStatus::ok) return;
  const auto out = std::make_unique<std::uint8_t[]>(slice_bound(size));
  const std::size_t length = write_slice(data, size, header, segments, plan, out.get());
  if (length > slice_bound(size)) std::abort();
  Header again;
  if (parse_header(out.get(), length, again) != HeaderStatus::ok) std::abort();
  if (again.height != plan.pixels.height || again.width != plan.pixels.width) std::abort();
  if (!again.claims_seekable() || again.components != header.components) std::abort();
  if (segments.find(out.get(), length, again, 0, again.mcu_rows()) != SegmentStatus::ok)
    std::abort();
  const Window& p = plan.pixels;
  if (p.top > window.top || p.left > window.left ||
      p.top + p.height < window.top + window.height || p.left + p.width < window.left + window.width)
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Header header;
  if (parse_header(data, size, header) != HeaderStatus::ok || !header.claims_seekable()) return 0;
  const std::uint32_t height = header.height, width = header.width;
  cut(data, size, header, {0, 0, height, width}, 1);
  cut(data, size, header, {height - 1, width - 1, 1, 1}, 2);
  // A window that the input draws.
  const std::uint32_t draw = static_cast<std::uint32_t>(size * 2654435761u);
  const std::uint32_t top = draw % height, left = (draw >> 8) % width;
  cut(data, size, header, {top, left, 1 + (draw >> 4) % (height - top), 1 + (draw >> 12) % (width - left)},
      1u << draw % 4);
  return 0;
}
