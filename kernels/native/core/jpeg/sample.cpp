#include "sample.hpp"

#include <algorithm>
#include <new>

#include "reduced.hpp"
#include "upright.hpp"

namespace forebay::jpeg {
namespace {

// Whether the framing's numbers can be calculated with at all; what they mean is checked later.
bool sane(const Framing& f, const Field& field) noexcept {
  const auto side = [](std::int64_t n) { return n >= 1 && n <= pixels::kLargestSide; };
  const pixels::Window& w = f.window;
  return side(f.box.height) && side(f.box.width) && side(f.size.height) && side(f.size.width) &&
         w.top >= 0 && w.left >= 0 && w.height <= f.size.height - w.top &&
         w.width <= f.size.width - w.left && f.top >= 0 && f.left >= 0 &&
         w.height <= field.size.height - f.top && w.width <= field.size.width - f.left;
}

}  // namespace

DecodeStatus SampleMaker::make(const std::uint8_t* data, std::size_t size, const Framing& framing,
                               const Field& field, void* out) noexcept {
  message_ = "";
  Header header;
  const HeaderStatus parsed = parse_header(data, size, header);
  if (parsed != HeaderStatus::ok) {
    message_ = sentence(parsed);
    return DecodeStatus::not_jpeg;
  }
  const bool transposed = is_transposed(header.orientation);
  const std::uint32_t height = transposed ? header.width : header.height;
  const std::uint32_t width = transposed ? header.height : header.width;
  if (!sane(framing, field) || !framing.box.inside(height, width)) {
    message_ = "the window does not lie inside the image";
    return DecodeStatus::outside;
  }
  const pixels::Place place{out, field.size, framing.top, framing.left, field.order};
  const pixels::Window& w = framing.window;
  if (w.height < field.size.height || w.width < field.size.width)
    pixels::fill(field.values, place, field.channels());
  if (w.height <= 0 || w.width <= 0) return DecodeStatus::ok;

  const Reduced reduced = field.reduced ? reduced_box(header, framing.box, framing.size)
                                        : Reduced{1, framing.box};
  const Window& box = reduced.box;
  pixels::Resampling what{nullptr,
                          0,
                          field.channels(),
                          {static_cast<int>(box.height), static_cast<int>(box.width)},
                          framing.size,
                          w,
                          framing.mirrored,
                          reduced.rows,
                          reduced.columns};
  const pixels::Span rows = pixels::needed(what.vertical());
  const pixels::Span columns = pixels::needed(what.horizontal());
  const Window upright{box.top + static_cast<std::uint32_t>(rows.first),
                       box.left + static_cast<std::uint32_t>(columns.first),
                       static_cast<std::uint32_t>(rows.last - rows.first),
                       static_cast<std::uint32_t>(columns.last - columns.first)};
  Pixels pixels;
  const DecodeStatus decoded = decode(data, size, header, upright, field.color,
                                      reduced.denominator, pixels);
  if (decoded != DecodeStatus::ok) return decoded;
  what.pixels = pixels.data;
  what.stride = static_cast<std::ptrdiff_t>(pixels.stride);
  switch (resampler_.run(what, field.values, place)) {
    case pixels::Outcome::done:
      return DecodeStatus::ok;
    case pixels::Outcome::no_memory:
      message_ = "no memory to resample the image";
      return DecodeStatus::out_of_memory;
    case pixels::Outcome::bad_shape:
      break;
  }
  message_ = "the window does not fit the sample";
  return DecodeStatus::outside;
}

DecodeStatus SampleMaker::decode(const std::uint8_t* data, std::size_t size, const Header& header,
                                 const Window& upright, Color color, unsigned denominator,
                                 Pixels& out) noexcept {
  Request request;
  request.window = stored_window(upright, header.orientation,
                                 reduced_side(header.height, denominator),
                                 reduced_side(header.width, denominator));
  request.color = color;
  request.denominator = denominator;
  largest_ = std::max(largest_, working_bytes(size, header, request));
  const DecodeStatus status = decoder_.decode(data, size, header, request, out);
  if (status != DecodeStatus::ok) {
    message_ = decoder_.message();
    return status;
  }
  if (header.orientation == 1) return status;
  try {
    turned_.resize(std::max(turned_.size(), std::size_t{out.height} * out.width * out.channels));
  } catch (const std::bad_alloc&) {
    message_ = "no memory to turn the image upright";
    return DecodeStatus::out_of_memory;
  }
  turn_upright(out, header.orientation, turned_.data());
  out.data = turned_.data();
  out.height = upright.height;
  out.width = upright.width;
  out.stride = std::size_t{out.width} * out.channels;
  return status;
}

}  // namespace forebay::jpeg
