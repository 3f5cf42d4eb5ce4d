#include "header.hpp"

#include <algorithm>
#include <cstring>

#include "markers.hpp"
#include "orientation.hpp"

namespace forebay::jpeg {
namespace {

Coding coding_of(std::uint8_t marker) noexcept {
  switch (marker & 0x0F) {
    case 0x0:
      return Coding::baseline;
    case 0x1:
    case 0x9:
      return Coding::extended;
    case 0x2:
    case 0xA:
      return Coding::progressive;
    case 0x3:
    case 0xB:
      return Coding::lossless;
    default:
      return Coding::hierarchical;
  }
}

// T.81, B.2.2.
HeaderStatus read_frame(const std::uint8_t* data, const Segment& segment, Header& out) noexcept {
  if (segment.length < 6) return HeaderStatus::bad_length;
  const std::uint8_t* body = data + segment.body;
  out.coding = coding_of(segment.marker);
  out.arithmetic = segment.marker >= 0xC9;
  out.precision = body[0];
  out.height = static_cast<std::uint16_t>(big16(body + 1));
  out.width = static_cast<std::uint16_t>(big16(body + 3));
  out.components = body[5];
  out.frame_at = segment.at;
  if (out.height == 0 || out.width == 0 || out.components == 0 || out.components > 4)
    return HeaderStatus::bad_frame;
  if (segment.length != 6u + 3u * out.components) return HeaderStatus::bad_length;
  for (std::size_t i = 0; i < out.components; ++i) {
    const std::uint8_t* entry = body + 6 + 3 * i;
    Component& component = out.component[i];
    component = {entry[0], static_cast<std::uint8_t>(entry[1] >> 4),
                 static_cast<std::uint8_t>(entry[1] & 15), entry[2]};
    if (component.h < 1 || component.h > 4 || component.v < 1 || component.v > 4)
      return HeaderStatus::bad_frame;
    out.max_h = std::max(out.max_h, component.h);
    out.max_v = std::max(out.max_v, component.v);
  }
  return HeaderStatus::ok;
}

// T.81, B.2.3.
HeaderStatus read_scan(const std::uint8_t* data, const Segment& segment, Header& out) noexcept {
  if (out.components == 0) return HeaderStatus::no_frame;
  if (segment.length < 1) return HeaderStatus::bad_length;
  const std::uint8_t* body = data + segment.body;
  out.scan_components = body[0];
  if (out.scan_components < 1 || out.scan_components > out.components)
    return HeaderStatus::bad_scan;
  if (segment.length != 4u + 2u * out.scan_components) return HeaderStatus::bad_length;
  for (std::size_t i = 0; i < out.scan_components; ++i) {
    const std::uint8_t id = body[1 + 2 * i];
    const auto is_it = [id](const Component& c) { return c.id == id; };
    if (std::none_of(out.component, out.component + out.components, is_it))
      return HeaderStatus::bad_scan;
  }
  const std::uint8_t* spectrum = body + 1 + 2 * out.scan_components;
  out.spectral_end = spectrum[1];
  out.whole_scan = spectrum[0] == 0 && spectrum[1] == 63 && spectrum[2] == 0;
  out.scan_at = segment.at;
  out.entropy_at = segment.body + segment.length;
  return HeaderStatus::ok;
}

void read_application(const std::uint8_t* data, const Segment& segment, Orientation& orientation,
                      Header& out) noexcept {
  const std::uint8_t* body = data + segment.body;
  if (segment.marker == code::kApp1) orientation.add(body, segment.length);
  if (segment.marker == code::kApp0 && segment.length >= 14 && std::memcmp(body, "JFIF", 5) == 0)
    out.jfif = true;
  if (segment.marker == code::kApp14 && segment.length >= 12 && std::memcmp(body, "Adobe", 5) == 0)
    out.adobe_transform = body[11];
}

}  // namespace

HeaderStatus parse_header(const std::uint8_t* data, std::size_t size, Header& out) noexcept {
  out = Header{};
  if (size < 3 || data[0] != 0xFF || data[1] != code::kSoi || data[2] != 0xFF)
    return size < 3 ? HeaderStatus::truncated : HeaderStatus::not_jpeg;
  Orientation orientation;
  MarkerWalk walk(data, size, 2);
  for (Segment segment;;) {
    const MarkerWalk::Step step = walk.next(segment);
    if (step == MarkerWalk::Step::truncated) return HeaderStatus::truncated;
    if (step == MarkerWalk::Step::bad_length) return HeaderStatus::bad_length;
    HeaderStatus status = HeaderStatus::ok;
    if (is_frame(segment.marker)) {
      if (out.components != 0) return HeaderStatus::two_frames;
      status = read_frame(data, segment, out);
    } else if (segment.marker == code::kSos) {
      status = read_scan(data, segment, out);
      out.orientation = orientation.value();
      return status;
    } else if (segment.marker == code::kSoi) {
      status = HeaderStatus::two_frames;
    } else if (segment.marker == code::kEoi) {
      status = HeaderStatus::no_frame;
    } else if (segment.marker == code::kDri) {
      if (segment.length != 2) return HeaderStatus::bad_length;
      out.restart_interval = static_cast<std::uint16_t>(big16(data + segment.body));
    } else if (segment.marker >= code::kApp0) {
      read_application(data, segment, orientation, out);
    }
    if (status != HeaderStatus::ok) return status;
  }
}

const char* sentence(HeaderStatus status) noexcept {
  switch (status) {
    case HeaderStatus::ok:
      return "the headers are whole";
    case HeaderStatus::not_jpeg:
      return "the bytes do not begin as a JPEG does (FF D8 FF)";
    case HeaderStatus::truncated:
      return "the bytes end inside the JPEG's headers";
    case HeaderStatus::bad_length:
      return "a marker segment of the JPEG's headers has an impossible length";
    case HeaderStatus::no_frame:
      return "the JPEG has no frame header before its first scan or its end";
    case HeaderStatus::two_frames:
      return "the JPEG has a second frame header or a second start before its first scan";
    case HeaderStatus::bad_frame:
      return "the JPEG's frame header has dimensions, components or sampling factors that no JPEG "
             "may have";
    case HeaderStatus::bad_scan:
      return "the JPEG's first scan header contradicts its frame header";
  }
  return "unknown status";
}

const char* name(Coding coding) noexcept {
  switch (coding) {
    case Coding::baseline:
      return "baseline";
    case Coding::extended:
      return "extended";
    case Coding::progressive:
      return "progressive";
    case Coding::lossless:
      return "lossless";
    case Coding::hierarchical:
      return "hierarchical";
  }
  return "unknown";
}

}  // namespace forebay::jpeg
