// Tests of the header parser without Python: exits 0, or prints the first failures and exits 1.
#include "../../core/jpeg/header.hpp"

#include <memory>
#include <utility>

#include "made_jpeg.hpp"

using namespace forebay::jpeg;
using namespace forebay::jpeg::tests;

namespace {

// A copy of exactly this size on the heap, so that a sanitizer sees a read beyond it.
HeaderStatus parse(const Bytes& bytes, Header& header) {
  const auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return parse_header(copy.get(), bytes.size(), header);
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes segment(std::uint8_t marker, const Bytes& body) {
  const std::size_t length = body.size() + 2;
  return joined({{0xFF, marker, static_cast<std::uint8_t>(length >> 8),
                  static_cast<std::uint8_t>(length)},
                 body});
}

const Bytes kSoi = {0xFF, 0xD8};
const Bytes kFrame = segment(0xC0, {8, 0, 40, 1, 0, 3, 1, 0x21, 0, 2, 0x11, 1, 3, 0x11, 1});
const Bytes kScan = segment(0xDA, {3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0});

Bytes text(const char* from, std::size_t size) { return Bytes(from, from + size); }

void what_libjpeg_writes() {
  for (const Kind& kind : KINDS) {
    for (const bool progressive : {false, true}) {
      const Bytes bytes = encode(61, 47, kind, {.restart = 2, .progressive = progressive});
      Header header;
      expect(parse(bytes, header) == HeaderStatus::ok, kind.name);
      expect(header.width == 61 && header.height == 47 && header.precision == 8, kind.name);
      expect(header.components == (kind.space == JCS_GRAYSCALE ? 1 : 3), kind.name);
      expect(header.component[0].h == kind.h && header.component[0].v == kind.v, kind.name);
      expect(header.coding == (progressive ? Coding::progressive : Coding::baseline), kind.name);
      expect(header.restart_interval == 2 && header.jfif == (kind.space != JCS_RGB), kind.name);
      expect(header.adobe_transform == (kind.space == JCS_RGB ? 0 : -1), kind.name);
      expect(header.one_scan() == !progressive, kind.name);
      expect(header.claims_seekable() == (!progressive && header.mcus_a_row() % 2 == 0),
             kind.name);
      expect(bytes[header.frame_at + 1] == (progressive ? 0xC2 : 0xC0), kind.name);
      expect(bytes[header.scan_at] == 0xFF && bytes[header.scan_at + 1] == 0xDA, kind.name);
      const std::size_t scan = std::size_t{6} + 2u * header.scan_components;
      expect(header.entropy_at == header.scan_at + 2 + scan, kind.name);
    }
  }
}

void every_cut_is_named() {
  const Bytes bytes = joined({kSoi, segment(0xE1, Bytes(30)), segment(0xDD, {0, 4}), kFrame, kScan});
  Header header;
  expect(parse(bytes, header) == HeaderStatus::ok && header.restart_interval == 4, "the whole");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    expect(parse(cut, header) == HeaderStatus::truncated, "cut at " + std::to_string(size));
  }
}

void what_is_wrong_is_said() {
  const Bytes one = segment(0xC0, {8, 0, 40, 1, 0, 1, 1, 0x11, 0});
  const Bytes scan_of_two = segment(0xDA, {2, 1, 0, 2, 0x11, 0, 63, 0});
  const std::pair<HeaderStatus, Bytes> cases[] = {
      {HeaderStatus::not_jpeg, {'B', 'M', 0xFF, 0xD8}},
      {HeaderStatus::not_jpeg, {0xFF, 0xD8, 0x00, 0xFF}},
      {HeaderStatus::bad_length, joined({kSoi, {0xFF, 0xE0, 0, 1, 0, 0}})},
      {HeaderStatus::bad_length, joined({kSoi, segment(0xC0, {8, 0, 40, 1, 0, 3, 1, 0x11, 0})})},
      {HeaderStatus::bad_length, joined({kSoi, segment(0xC0, {8, 0, 40})})},
      {HeaderStatus::bad_length, joined({kSoi, kFrame, segment(0xDA, {3, 1, 0})})},
      {HeaderStatus::bad_length, joined({kSoi, segment(0xDD, {1})})},
      {HeaderStatus::no_frame, joined({kSoi, kScan})},
      {HeaderStatus::no_frame, joined({kSoi, {0xFF, 0xD9}})},
      {HeaderStatus::two_frames, joined({kSoi, kFrame, kFrame, kScan})},
      {HeaderStatus::two_frames, joined({kSoi, kSoi, kFrame, kScan})},
      {HeaderStatus::bad_frame, joined({kSoi, segment(0xC0, {8, 0, 0, 1, 0, 1, 1, 0x11, 0})})},
      {HeaderStatus::bad_frame, joined({kSoi, segment(0xC0, {8, 0, 9, 0, 0, 1, 1, 0x11, 0})})},
      {HeaderStatus::bad_frame, joined({kSoi, segment(0xC0, {8, 0, 9, 0, 9, 0})})},
      {HeaderStatus::bad_frame, joined({kSoi, segment(0xC0, {8, 0, 9, 0, 9, 1, 1, 0x51, 0})})},
      {HeaderStatus::bad_frame, joined({kSoi, segment(0xC0, {8, 0, 9, 0, 9, 1, 1, 0x10, 0})})},
      {HeaderStatus::bad_scan, joined({kSoi, one, scan_of_two})},
      {HeaderStatus::bad_scan, joined({kSoi, one, segment(0xDA, {1, 7, 0, 0, 63, 0})})},
  };
  Header header;
  for (const auto& [status, bytes] : cases)
    expect(parse(bytes, header) == status, std::string("wanted: ") + sentence(status));
}

void codings_are_told_apart() {
  for (int marker = 0xC0; marker <= 0xCF; ++marker) {
    if (marker == 0xC4 || marker == 0xC8 || marker == 0xCC) continue;
    Bytes frame = kFrame;
    frame[1] = static_cast<std::uint8_t>(marker);
    Header header;
    expect(parse(joined({kSoi, frame, kScan}), header) == HeaderStatus::ok, "any frame");
    expect(header.arithmetic == (marker > 0xC8), "arithmetic");
    expect(header.one_scan() == (marker == 0xC0 || marker == 0xC1), "one scan");
    const bool sequential = marker == 0xC0 || marker == 0xC1 || marker == 0xC9;
    expect((header.coding == Coding::baseline || header.coding == Coding::extended) == sequential,
           name(header.coding));
  }
}

void junk_is_passed_over() {
  const Bytes bytes = joined({kSoi, {0xFF, 0x00, 7, 8, 0xFF, 0xFF}, kFrame, {1, 2, 3, 0xFF}, kScan});
  Header header;
  expect(parse(bytes, header) == HeaderStatus::ok && header.height == 40 && header.width == 256,
         "junk and fill between segments");
}

Bytes exif(const Bytes& tiff) { return segment(0xE1, joined({text("Exif\0\0", 6), tiff})); }

std::uint8_t orientation(std::initializer_list<Bytes> segments) {
  Header header;
  const Bytes bytes = joined({kSoi, joined(segments), kFrame, kScan});
  expect(parse(bytes, header) == HeaderStatus::ok, "orientation's image");
  return header.orientation;
}

void orientations() {
  const Bytes little = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0};
  const Bytes big = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 8, 0, 0};
  const char packet[] = "http://ns.adobe.com/xap/1.0/\0<x tiff:Orientation=\"3\"/>";
  const Bytes xmp = segment(0xE1, text(packet, sizeof packet - 1));
  expect(orientation({}) == 1, "none");
  expect(orientation({exif(little)}) == 6, "little-endian");
  expect(orientation({exif(big)}) == 8, "big-endian");
  expect(orientation({exif(little), exif(big)}) == 6, "the first counts");
  expect(orientation({xmp}) == 3, "XMP");
  expect(orientation({xmp, exif(big)}) == 8, "EXIF before XMP");
  for (std::size_t size = 0; size < little.size(); ++size) {
    const Bytes cut(little.begin(), little.begin() + static_cast<std::ptrdiff_t>(size));
    expect(orientation({exif(cut)}) == 1, "EXIF cut at " + std::to_string(size));
  }
  for (std::size_t at = 0; at < little.size(); ++at)  // no value leads outside
    for (int value = 0; value < 256; ++value) {
      Bytes bytes = little;
      bytes[at] = static_cast<std::uint8_t>(value);
      const unsigned got = orientation({exif(bytes)});
      expect(got >= 1 && got <= 8, "in range");
    }
}

}  // namespace

int main() {
  what_libjpeg_writes();
  every_cut_is_named();
  what_is_wrong_is_said();
  codings_are_told_apart();
  junk_is_passed_over();
  orientations();
  if (failures == 0) std::printf("header: all passed\n");
  return failures == 0 ? 0 : 1;
}
