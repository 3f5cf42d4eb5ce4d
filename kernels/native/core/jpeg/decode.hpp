// Decodes the pixels of a window of a JPEG, by libjpeg-turbo, without decoding the rest where that
// can be helped.
//
// How a batch driver calls it, one Decoder a thread:
//
//   Decoder decoder;                                    // once; it grows to the largest image
//   Header header;
//   if (parse_header(data, size, header) != HeaderStatus::ok) ...
//   ... draw the window from header.height, header.width (as stored; header.orientation tells how
//       to turn the pixels afterwards, so turn the window back before it comes here)
//   Request request{.window = {top, left, height, width}, .color = Color::rgb};
//   Pixels pixels;
//   switch (decoder.decode(data, size, header, request, pixels)) {
//     case DecodeStatus::ok:          // pixels.row(y) is (pixels.width, pixels.channels) uint8
//       resample(pixels.data, pixels.stride, pixels.height, pixels.width, ...);
//       break;                        // valid until this decoder's next call
//     case DecodeStatus::unsupported: // CMYK, arithmetic, 12 bits, ...: decode it with Pillow
//     default:                        // a fault: decoder.message() is its cause
//   }
//
// Nothing throws, nothing exits, and any bytes are allowed as data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "header.hpp"
#include "slice.hpp"

namespace forebay::jpeg {

enum class Color : std::uint8_t {
  rgb,   // 3 channels; greyscale is repeated
  luma,  // 1 channel; of colour, as Pillow's convert("L") makes it of RGB: ITU-R BT.601 in 16 bits
};

// Which of two entropy decoders reads sequential Huffman scans; for tests, their results are equal.
enum class Entropy : std::uint8_t { own, libjpeg };

enum class DecodeStatus : std::uint8_t {
  ok,
  not_jpeg,        // the headers can't be read: message() has the reason
  damaged,         // the data is not a whole JPEG; what libjpeg only warns of counts
  unsupported,     // a JPEG of a kind that isn't decoded here: use another decoder
  outside,         // the window does not lie inside the image, or the denominator is not 1, 2, 4, 8
  too_large,       // working_bytes() is above the limit
  out_of_memory,
};

struct Request {
  // In pixels of the image as stored at 1/denominator of its size, which is ceil(height /
  // denominator) x ceil(width / denominator). Height 0 means the whole image.
  Window window{};
  Color color = Color::rgb;
  unsigned denominator = 1;  // 1, 2, 4 or 8: of libjpeg's scaled inverse transform
  // Of a large seekable JPEG: offsets of its rows (Segments::find), so that none ahead of the
  // window is scanned. Null: they are looked for.
  const std::uint32_t* row_starts = nullptr;
  Entropy entropy = Entropy::own;
};

// The pixels of the window: row y begins at data + y * stride and has width * channels bytes. The
// decoder owns them until its next call. They are aligned to nothing.
struct Pixels {
  const std::uint8_t* data = nullptr;
  std::size_t stride = 0;
  std::uint32_t height = 0, width = 0, channels = 0;

  const std::uint8_t* row(std::uint32_t y) const noexcept { return data + y * stride; }
};

// Bytes that decoding takes at most beside the data itself, to charge to a budget beforehand: the
// pixels, the slice, and for images of several scans all of their coefficients.
std::size_t working_bytes(std::size_t size, const Header& header, const Request& request) noexcept;

class Decoder {
 public:
  // `limit`: bytes that working_bytes() may reach; images above it are too_large.
  explicit Decoder(std::size_t limit = std::size_t{1} << 30) noexcept;
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  // Decodes one window. Its pixels are bit for bit those of the whole image decoded by
  // libjpeg-turbo with the accurate inverse transform and smooth upsampling (islow, fancy), which
  // are also Pillow's. Of seekable JPEGs only the segments that the window touches are read; of
  // other JPEGs the rows below it are not decoded. Damage in what is not decoded goes unnoticed,
  // but for a missing end: a truncated image is damaged whatever the window.
  DecodeStatus decode(const std::uint8_t* data, std::size_t size, const Request& request,
                      Pixels& out) noexcept;

  // The same with the headers already parsed, from this data and with success.
  DecodeStatus decode(const std::uint8_t* data, std::size_t size, const Header& header,
                      const Request& request, Pixels& out) noexcept;

  // Why the last call did not return ok: a sentence, until the next call.
  const char* message() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;  // null where there was no memory for it
  std::size_t limit_;
};

}  // namespace forebay::jpeg
