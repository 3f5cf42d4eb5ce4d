// From an encoded JPEG to a finished sample of a batch: decode the pixels that the sample is made
// of, turn them upright, resample, mirror, convert and store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../resample.hpp"
#include "decode.hpp"

namespace forebay::jpeg {

// What to make of one image, in pixels of it upright, that is with its orientation applied. The
// box is resampled to `size`; `window` of that goes to (top, left) of the sample, and the rest of
// the sample gets the value of byte 0. An empty window (no height or width) leaves only that.
struct Framing {
  Window box;
  pixels::Size size;
  pixels::Window window;
  int top, left;
  bool mirrored;
};

// What all samples of a field have in common.
struct Field {
  pixels::ByteValues values;
  pixels::Size size;
  pixels::Order order;
  Color color;
  bool reduced = false;  // whether large boxes are decoded at a part of their size (reduced.hpp)

  int channels() const noexcept { return color == Color::rgb ? 3 : 1; }
  std::size_t sample_bytes() const noexcept {
    return pixels::value_bytes(values.type()) * static_cast<std::size_t>(channels()) *
           static_cast<std::size_t>(size.height) * static_cast<std::size_t>(size.width);
  }
};

// One thread's decoder and scratch memory, which grows to the largest image that it meets.
class SampleMaker {
 public:
  explicit SampleMaker(std::size_t limit) noexcept : decoder_(limit) {}

  // Writes field.sample_bytes() bytes at `out`, or, with any status but ok, something in them.
  // `outside`: the framing does not fit the image or the field.
  DecodeStatus make(const std::uint8_t* data, std::size_t size, const Framing& framing,
                    const Field& field, void* out) noexcept;

  // Why the last call did not return ok: a sentence, until the next call.
  const char* message() const noexcept { return message_; }

  // Bytes that the largest image so far took beside its data.
  std::size_t largest() const noexcept { return largest_; }

 private:
  DecodeStatus decode(const std::uint8_t* data, std::size_t size, const Header& header,
                      const Window& upright, Color color, unsigned denominator,
                      Pixels& out) noexcept;

  Decoder decoder_;
  pixels::Resampler resampler_;
  std::vector<std::uint8_t> turned_;
  const char* message_ = "";
  std::size_t largest_ = 0;
};

}  // namespace forebay::jpeg
