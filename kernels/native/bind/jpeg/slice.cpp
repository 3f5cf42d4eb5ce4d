#include "../../core/jpeg/slice.hpp"

#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>
#include <vector>

#include "../../core/jpeg/marker_scan.hpp"
#include "../buffer.hpp"
#include "../register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

jpeg::Header header_of(const ByteView& data) {
  jpeg::Header header;
  const jpeg::HeaderStatus status = jpeg::parse_header(data.data(), data.size(), header);
  if (status != jpeg::HeaderStatus::ok) throw nb::value_error(jpeg::sentence(status));
  return header;
}

jpeg::Segments segments_of(const ByteView& data, const jpeg::Header& header,
                           const jpeg::SlicePlan& plan) {
  jpeg::Segments segments;
  const jpeg::SegmentStatus status =
      segments.find(data.data(), data.size(), header, plan.first_row, plan.last_row);
  if (status != jpeg::SegmentStatus::ok) throw nb::value_error(jpeg::sentence(status));
  return segments;
}

std::tuple<nb::bytes, std::uint32_t, std::uint32_t> slice_of(nb::handle buffer, std::uint32_t top,
                                                             std::uint32_t left,
                                                             std::uint32_t height,
                                                             std::uint32_t width,
                                                             unsigned denominator) {
  const ByteView data(buffer);
  const jpeg::Header header = header_of(data);
  if (!header.claims_seekable())
    throw nb::value_error(jpeg::sentence(jpeg::SegmentStatus::not_claimed));
  const jpeg::Window window{top, left, height, width};
  if (!window.inside(header.height, header.width))
    throw nb::value_error("the window does not lie inside the image");
  const jpeg::SlicePlan plan = jpeg::plan_slice(header, window, denominator);
  std::vector<std::uint8_t> out(jpeg::slice_bound(data.size()));
  const jpeg::Segments segments = segments_of(data, header, plan);
  const std::size_t size = [&] {
    nb::gil_scoped_release unlocked;
    return jpeg::write_slice(data.data(), data.size(), header, segments, plan, out.data());
  }();
  return {nb::bytes(reinterpret_cast<const char*>(out.data()), size), top - plan.pixels.top,
          left - plan.pixels.left};
}

// Offsets of the rows' first segments as little-endian uint32 bytes.
nb::bytes row_starts(nb::handle buffer) {
  const ByteView data(buffer);
  const jpeg::Header header = header_of(data);
  if (!header.claims_seekable())
    throw nb::value_error(jpeg::sentence(jpeg::SegmentStatus::not_claimed));
  const jpeg::SlicePlan plan =
      jpeg::plan_slice(header, {0, 0, header.height, header.width}, 1);
  const jpeg::Segments segments = segments_of(data, header, plan);
  std::vector<std::uint32_t> starts;
  for (std::uint32_t row = 0; row < header.mcu_rows(); ++row)
    starts.push_back(static_cast<std::uint32_t>(segments.begin(row, 0)));
  return nb::bytes(reinterpret_cast<const char*>(starts.data()), 4 * starts.size());
}

}  // namespace

void register_jpeg_slice(nb::module_& module) {
  module.def("jpeg_slice", &slice_of, nb::arg("data"), nb::arg("top"), nb::arg("left"),
             nb::arg("height"), nb::arg("width"), nb::arg("denominator"));
  module.def("jpeg_row_starts", &row_starts, nb::arg("data"));
  module.def("jpeg_marker_scan_backend", &jpeg::marker_scan_backend);
}

}  // namespace forebay::bind
