#include "orientation.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace forebay::jpeg {
namespace {

constexpr std::uint16_t kTag = 0x0112;
constexpr std::string_view kExif{"Exif\0\0", 6};
constexpr std::string_view kXmp{"http://ns.adobe.com/xap/1.0/\0", 29};
constexpr std::string_view kProperty = "tiff:Orientation";

std::string_view as_text(const std::uint8_t* data, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(data), size};
}

// Bytes of a value by its type; 0 for types that Pillow does not know.
std::size_t bytes_of(std::size_t kind) noexcept {
  static constexpr std::uint8_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8};
  return kind < std::size(sizes) ? sizes[kind] : 0;
}

// Types of integers: byte-sized ones only where they are signed, as in Pillow.
bool is_integer(std::size_t kind) noexcept {
  return kind == 3 || kind == 4 || kind == 6 || kind == 8 || kind == 9 || kind == 13 || kind == 16;
}

// A TIFF structure (TIFF 6.0, section 2) in whose bytes every offset is checked.
class Tiff {
 public:
  Tiff(const std::uint8_t* data, std::size_t size) noexcept : data_(data), size_(size) {
    // Pillow takes the two bytes after the first in either order, and BigTIFF's mark where it is
    // big endian for TIFF's; little-endian BigTIFF it finds too short to be EXIF.
    const std::string_view mark = as_text(data, std::min<std::size_t>(size, 4));
    little_ = mark == std::string_view("II*\0", 4) || mark == std::string_view("II\0*", 4);
    good_ = size >= 8 && (little_ || mark == std::string_view("MM\0*", 4) ||
                          mark == std::string_view("MM*\0", 4) ||
                          mark == std::string_view("MM\0+", 4));
  }

  bool good() const noexcept { return good_; }

  // The first orientation entry of the first directory; false where there is none. An entry that
  // is no integer of 1 to 8 counts, as 1: it hides what XMP says. At an entry whose values lie
  // beyond the end Pillow gives up, and what follows does not count.
  bool orientation(std::uint8_t& value) const noexcept {
    const std::size_t directory = number(4, 4);
    if (directory > size_ || size_ - directory < 2) return false;
    const std::size_t first = directory + 2;
    const std::size_t count = std::min<std::size_t>(number(directory, 2), (size_ - first) / 12);
    std::uint64_t outside = 0;
    for (std::size_t entry = first; entry < first + 12 * count; entry += 12) {
      const std::size_t kind = number(entry + 2, 2), unit = bytes_of(kind);
      const std::uint64_t bytes = std::uint64_t{unit} * number(entry + 4, 4);
      if (bytes == 0) continue;
      std::size_t at = entry + 8;
      if (bytes > 4) {
        outside += bytes;
        if (outside > size_) continue;
        at = number(entry + 8, 4);
        if (at > size_ || size_ - at < bytes) return false;
      }
      if (number(entry, 2) != kTag) continue;
      const std::size_t said = is_integer(kind) ? number(at, unit) : 1;
      value = said >= 1 && said <= 8 ? static_cast<std::uint8_t>(said) : std::uint8_t{1};
      return true;
    }
    return false;
  }

 private:
  std::size_t number(std::size_t at, std::size_t bytes) const noexcept {
    std::size_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      const std::size_t byte = data_[at + i];
      value = little_ ? value | byte << (8 * i) : value << 8 | byte;
    }
    return value;
  }

  const std::uint8_t* data_;
  std::size_t size_;
  bool little_ = false;
  bool good_ = false;
};

// XML as attribute (tiff:Orientation="6") or element (tiff:Orientation>6).
std::uint8_t of_xmp(std::string_view text) noexcept {
  for (std::size_t at = text.find(kProperty); at != std::string_view::npos;
       at = text.find(kProperty, at + 1)) {
    std::string_view rest = text.substr(at + kProperty.size());
    if (rest.substr(0, 2) == "=\"")
      rest.remove_prefix(2);
    else if (rest.substr(0, 1) == ">")
      rest.remove_prefix(1);
    else
      continue;
    if (rest.empty() || rest[0] < '0' || rest[0] > '9') continue;
    return rest[0] >= '1' && rest[0] <= '8' ? static_cast<std::uint8_t>(rest[0] - '0')
                                            : std::uint8_t{1};
  }
  return 1;
}

}  // namespace

void Orientation::add(const std::uint8_t* body, std::size_t length) noexcept {
  const std::string_view text = as_text(body, length);
  if (text.substr(0, kExif.size()) == kExif) {
    if (exif_seen_) return;
    exif_seen_ = true;
    std::size_t skip = kExif.size();
    // Some writers say it twice.
    if (text.substr(skip, kExif.size()) == kExif) skip += kExif.size();
    if (skip == length) return;
    const Tiff tiff(body + skip, length - skip);
    tag_seen_ = !tiff.good() || tiff.orientation(tag_);
  } else if (text.substr(0, kXmp.size()) == kXmp) {
    xmp_ = body + kXmp.size();
    xmp_length_ = length - kXmp.size();
  }
}

std::uint8_t Orientation::value() const noexcept {
  if (tag_seen_) return tag_;
  return xmp_ == nullptr ? std::uint8_t{1} : of_xmp(as_text(xmp_, xmp_length_));
}

}  // namespace forebay::jpeg
