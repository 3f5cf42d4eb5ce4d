// The way up that a camera wrote into a JPEG's APP1 segments.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay::jpeg {

// EXIF orientation, 1 to 8, collected over the APP1 segments of one image. The rules are Pillow's,
// so that both decoders turn the same images: the first EXIF segment's first directory counts, the
// first of several entries in it; without an entry, the text of the last XMP packet is searched.
// What is no EXIF, though it says so, means that the image is as it lies (1).
class Orientation {
 public:
  // Takes one APP1 segment's parameters; other kinds of APP1 are ignored. Nothing is kept of them
  // but the address of an XMP packet, for value().
  void add(const std::uint8_t* body, std::size_t length) noexcept;
  std::uint8_t value() const noexcept;

 private:
  bool exif_seen_ = false;
  bool tag_seen_ = false;
  std::uint8_t tag_ = 1;
  const std::uint8_t* xmp_ = nullptr;
  std::size_t xmp_length_ = 0;
};

}  // namespace forebay::jpeg
