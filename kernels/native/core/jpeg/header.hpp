// What the headers of a JPEG say, up to its first scan, without libjpeg.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay::jpeg {

enum class HeaderStatus : std::uint8_t {
  ok,
  not_jpeg,    // no FF D8 FF at the start
  truncated,   // the data ends before the first scan begins
  bad_length,  // a segment's length is impossible
  no_frame,    // a scan, or the end of the image, before a frame header
  two_frames,  // a second frame header, or a second SOI
  bad_frame,   // dimensions, components or sampling factors that T.81 does not allow
  bad_scan,    // the scan header contradicts the frame header
};

// One sentence for a person, without the image's name; static, never null.
const char* sentence(HeaderStatus status) noexcept;

// The coding process of the frame (T.81, table B.1).
enum class Coding : std::uint8_t { baseline, extended, progressive, lossless, hierarchical };
const char* name(Coding coding) noexcept;

struct Component {
  std::uint8_t id, h, v, table;  // h, v: sampling factors 1 to 4; table: of quantisation
};

struct Header {
  std::uint16_t height = 0, width = 0;  // in pixels as stored, before the orientation is applied
  std::uint8_t precision = 0;           // bits a sample
  std::uint8_t components = 0;          // 1 to 4 here; frames with more are bad_frame
  std::uint8_t orientation = 1;         // EXIF, 1 to 8
  std::uint8_t max_h = 1, max_v = 1;
  Coding coding = Coding::baseline;
  bool arithmetic = false;
  bool jfif = false;
  std::int16_t adobe_transform = -1;   // of the Adobe APP14 segment: 0 to 255, -1 without one
  std::uint8_t scan_components = 0;    // in the first scan
  std::uint8_t spectral_end = 0;       // Se of the first scan; Ss is 0 and Ah, Al are 0 if `whole`
  bool whole_scan = false;             // the first scan holds every coefficient of its components
  std::uint16_t restart_interval = 0;  // in MCUs; 0: none
  Component component[4] = {};
  std::size_t frame_at = 0;    // offsets into the data: the 0xFF of SOF,
  std::size_t scan_at = 0;     // of the first SOS,
  std::size_t entropy_at = 0;  // and the first byte of entropy-coded data

  // MCUs of the first scan (T.81, A.2): a scan of one component has one block an MCU.
  std::uint32_t mcu_width() const noexcept { return components == 1 ? 8u : 8u * max_h; }
  std::uint32_t mcu_height() const noexcept { return components == 1 ? 8u : 8u * max_v; }
  std::uint32_t mcus_a_row() const noexcept { return (width + mcu_width() - 1) / mcu_width(); }
  std::uint32_t mcu_rows() const noexcept { return (height + mcu_height() - 1) / mcu_height(); }

  // All of the image is in one sequential Huffman scan of 8-bit samples.
  bool one_scan() const noexcept {
    return (coding == Coding::baseline || coding == Coding::extended) && !arithmetic &&
           precision == 8 && scan_components == components && whole_scan;
  }
  // What the headers of a seekable JPEG say: one scan, and restart intervals that divide its rows.
  // Whether the segments are there is known when they are scanned (segments.hpp).
  bool claims_seekable() const noexcept {
    return one_scan() && restart_interval != 0 && mcus_a_row() % restart_interval == 0;
  }
};

// Reads the headers of the `size` bytes at `data` in one pass and one order; no byte outside them
// is read, whatever they hold. `out` is written in any case; it means something only with `ok`.
HeaderStatus parse_header(const std::uint8_t* data, std::size_t size, Header& out) noexcept;

}  // namespace forebay::jpeg
