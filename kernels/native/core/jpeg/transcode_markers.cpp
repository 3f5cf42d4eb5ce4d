#include "transcode_markers.hpp"

#include <cstring>
#include <initializer_list>

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

// The two forms of numbers in a TIFF structure.
struct Numbers {
  const std::uint8_t* data;
  bool little;
  unsigned u16(std::size_t at) const noexcept {
    return little ? data[at] | data[at + 1] << 8 : data[at] << 8 | data[at + 1];
  }
  std::uint32_t u32(std::size_t at) const noexcept {
    return little ? static_cast<std::uint32_t>(u16(at + 2)) << 16 | u16(at)
                  : static_cast<std::uint32_t>(u16(at)) << 16 | u16(at + 2);
  }
};

unsigned orientation_of_tiff(const std::uint8_t* data, std::size_t size) noexcept {
  constexpr unsigned TAG = 0x0112, BYTE = 1, SHORT = 3, LONG = 4;
  if (size < 8) return 1;
  const bool little = std::memcmp(data, "II*\0", 4) == 0;
  if (!little && std::memcmp(data, "MM\0*", 4) != 0) return 1;
  const Numbers numbers{data, little};
  const std::size_t directory = numbers.u32(4);
  if (directory < 8 || directory > size - 2) return 1;
  std::uint32_t value = 1;
  std::size_t at = directory + 2;
  for (unsigned left = numbers.u16(directory); left > 0 && at + 12 <= size; --left, at += 12) {
    const unsigned type = numbers.u16(at + 2);
    if (numbers.u16(at) != TAG || numbers.u32(at + 4) != 1) continue;
    if (type == BYTE) value = data[at + 8];
    else if (type == SHORT) value = numbers.u16(at + 8);
    else if (type == LONG) value = numbers.u32(at + 8);
  }
  return value >= 1 && value <= 8 ? value : 1;
}

// EXIF with one entry: a SHORT, big endian, in a directory right behind the TIFF header.
void write_orientation(jpeg_compress_struct& target, unsigned orientation) {
  const std::uint8_t exif[] = {'E', 'x', 'i',  'f',  0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01,
                               0x12, 0,  3,    0,    0, 0, 1,   0,
                               static_cast<std::uint8_t>(orientation),  0,  0, 0, 0, 0, 0};
  jpeg_write_marker(&target, APP1, exif, sizeof exif);
}

void write_all(const jpeg_decompress_struct& source, jpeg_compress_struct& target) {
  for (const jpeg_marker_struct* m = source.marker_list; m != nullptr; m = m->next)
    if (!is_index_of_pictures(*m)) write(target, *m);
}

// JFIF has to be the first segment; of several the last counts, as it does in libjpeg.
void write_needed(const jpeg_decompress_struct& source, jpeg_compress_struct& target) {
  const jpeg_marker_struct *jfif = nullptr, *adobe = nullptr;
  unsigned orientation = 0;
  for (const jpeg_marker_struct* m = source.marker_list; m != nullptr; m = m->next) {
    if (is_jfif(*m)) jfif = m;
    else if (is_adobe(*m)) adobe = m;
    else if (m->marker == APP1 && orientation == 0)
      orientation = exif_orientation(m->data, m->data_length);
  }
  if (jfif != nullptr) {
    std::uint8_t head[JFIF_BYTES];
    std::memcpy(head, jfif->data, JFIF_BYTES);
    head[12] = head[13] = 0;  // The thumbnail, of no width and height.
    jpeg_write_marker(&target, APP0, head, JFIF_BYTES);
  }
  if (orientation > 1) write_orientation(target, orientation);
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

unsigned exif_orientation(const std::uint8_t* data, std::size_t size) noexcept {
  constexpr std::size_t PREFIX = 6;
  if (size < PREFIX || std::memcmp(data, "Exif\0\0", PREFIX) != 0) return 0;
  return orientation_of_tiff(data + PREFIX, size - PREFIX);
}

}  // namespace forebay::jpeg
