#include "transcode_markers.hpp"

#include <cstring>
#include <initializer_list>

#include "orientation.hpp"

namespace forebay::jpeg {
namespace {

constexpr int APP0 = JPEG_APP0, APP1 = JPEG_APP0 + 1, APP2 = JPEG_APP0 + 2, APP14 = JPEG_APP0 + 14;
constexpr int APP15 = JPEG_APP0 + 15;
constexpr unsigned WHOLE = 0xFFFF;
constexpr std::size_t JFIF_BYTES = 14, ADOBE_BYTES = 12, ICC_BYTES = 14;

bool begins(const jpeg_marker_struct& marker, int code, const char* name, std::size_t name_size,
            std::size_t least) noexcept {
  return marker.marker == code && marker.data_length >= least &&
         std::memcmp(marker.data, name, name_size) == 0;
}

// The conditions under which libjpeg itself heeds the two.
bool is_jfif(const jpeg_marker_struct& marker) noexcept {
  return begins(marker, APP0, "JFIF", 5, JFIF_BYTES);
}
bool is_adobe(const jpeg_marker_struct& marker) noexcept {
  return begins(marker, APP14, "Adobe", 5, ADOBE_BYTES);
}
bool is_icc(const jpeg_marker_struct& marker) noexcept {
  return begins(marker, APP2, "ICC_PROFILE", 12, ICC_BYTES);
}
// An index of further pictures behind the end of this one, which a transcoded file does not have.
bool is_index_of_pictures(const jpeg_marker_struct& marker) noexcept {
  return begins(marker, APP2, "MPF", 4, 4);
}

void write(jpeg_compress_struct& target, const jpeg_marker_struct& marker) {
  jpeg_write_marker(&target, marker.marker, marker.data, marker.data_length);
}

// EXIF with one entry: a SHORT, big endian, in a directory right behind the TIFF header.
void write_orientation(jpeg_compress_struct& target, std::uint8_t orientation) {
  const std::uint8_t exif[] = {'E', 'x',  'i',  'f', 0, 0, 'M', 'M', 0, 42, 0,
                               0,   0,    8,    0,   1, 0x01, 0x12, 0, 3, 0, 0,
                               0,   1,    0,    orientation, 0, 0, 0, 0, 0, 0};
  jpeg_write_marker(&target, APP1, exif, sizeof exif);
}

void write_all(const jpeg_decompress_struct& source, jpeg_compress_struct& target) {
  for (const jpeg_marker_struct* m = source.marker_list; m != nullptr; m = m->next)
    if (!is_index_of_pictures(*m)) write(target, *m);
}

// JFIF has to be the first segment; of several the last counts, as it does in libjpeg.
void write_needed(const jpeg_decompress_struct& source, jpeg_compress_struct& target) {
  const jpeg_marker_struct *jfif = nullptr, *adobe = nullptr;
  Orientation orientation;
  for (const jpeg_marker_struct* m = source.marker_list; m != nullptr; m = m->next) {
    if (is_jfif(*m)) jfif = m;
    else if (is_adobe(*m)) adobe = m;
    else if (m->marker == APP1) orientation.add(m->data, m->data_length);
  }
  if (jfif != nullptr) {
    std::uint8_t head[JFIF_BYTES];
    std::memcpy(head, jfif->data, JFIF_BYTES);
    head[12] = head[13] = 0;  // The thumbnail, of no width and height.
    jpeg_write_marker(&target, APP0, head, JFIF_BYTES);
  }
  if (orientation.value() > 1) write_orientation(target, orientation.value());
  for (const jpeg_marker_struct* m = source.marker_list; m != nullptr; m = m->next)
    if (is_icc(*m)) write(target, *m);
  if (adobe != nullptr) write(target, *adobe);
}

}  // namespace

std::size_t count_segments(const std::uint8_t* data, std::size_t size, std::size_t most) noexcept {
  constexpr std::uint8_t SOS = 0xDA;
  std::size_t count = 0;
  for (std::size_t at = 2; count < most && at + 4 <= size && data[at] == 0xFF;) {
    if (data[at + 1] == 0xFF) {
      ++at;
      continue;
    }
    if (data[at + 1] == SOS) break;
    ++count;
    at += 2 + static_cast<std::size_t>(data[at + 2] << 8 | data[at + 3]);
  }
  return count;
}

void save_markers(jpeg_decompress_struct& source, bool all) {
  for (const int code : {APP0, APP1, APP2, APP14}) jpeg_save_markers(&source, code, WHOLE);
  if (!all) return;
  jpeg_save_markers(&source, JPEG_COM, WHOLE);
  for (int code = APP0; code <= APP15; ++code) jpeg_save_markers(&source, code, WHOLE);
}

void stop_saving(jpeg_decompress_struct& source) {
  jpeg_save_markers(&source, JPEG_COM, 0);
  for (int code = APP0; code <= APP15; ++code) jpeg_save_markers(&source, code, 0);
}

void write_markers(const jpeg_decompress_struct& source, bool all, jpeg_compress_struct& target) {
  if (all) write_all(source, target);
  else write_needed(source, target);
}

}  // namespace forebay::jpeg
