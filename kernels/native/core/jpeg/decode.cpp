#include "decode.hpp"

#include <algorithm>
#include <cstdio>
#include <new>

#include "buffer.hpp"
#include "marker_scan.hpp"
#include "markers.hpp"
#include "pixel_reader.hpp"

namespace forebay::jpeg {
namespace {

constexpr std::uint32_t kMostPixels = 65500;  // a side, in libjpeg

std::uint32_t scaled(std::uint32_t pixels, unsigned denominator) noexcept {
  return (pixels + denominator - 1) / denominator;
}

const char* why_unsupported(const Header& header) noexcept {
  if (header.arithmetic) return "the JPEG is arithmetic-coded";
  if (header.coding == Coding::lossless) return "the JPEG is lossless";
  if (header.coding == Coding::hierarchical) return "the JPEG is hierarchical";
  if (header.precision != 8) return "the JPEG's samples have not 8 bits";
  if (header.components != 1 && header.components != 3)
    return "the JPEG has neither 1 nor 3 components (CMYK has 4)";
  if (std::max(header.height, header.width) > kMostPixels)
    return "the JPEG has a side of more than 65,500 pixels";
  return nullptr;
}

Window whole_or(const Window& window, const Header& header, unsigned denominator) noexcept {
  if (window.height != 0) return window;
  return {0, 0, scaled(header.height, denominator), scaled(header.width, denominator)};
}

bool good_denominator(unsigned denominator) noexcept {
  return denominator == 1 || denominator == 2 || denominator == 4 || denominator == 8;
}

// Whether an EOI follows the first scan, so that nothing is cut off. The last two bytes tell it in
// most files, since FF D9 is no data anywhere in a scan.
bool has_end(const std::uint8_t* data, std::size_t size, std::size_t from) noexcept {
  if (size >= from + 2 && data[size - 2] == 0xFF && data[size - 1] == code::kEoi) return true;
  for (std::size_t at = find_scan_end(data, size, from); at < size;
       at = find_scan_end(data, size, at + 2))
    if (data[at + 1] == code::kEoi) return true;
  return false;
}

}  // namespace

struct Decoder::State {
  PixelReader reader;
  Segments segments;
  Buffer slice;
  char text[kMessage] = "";

  DecodeStatus say(DecodeStatus status, const char* sentence) noexcept {
    std::snprintf(text, sizeof text, "%s", sentence);
    return status;
  }

  DecodeStatus choose_slice(const std::uint8_t* data, std::size_t size, const Header& header,
                            const Request& request, Job& job) noexcept;
};

// Narrows the job to a slice where the segments are as a seekable JPEG's must be.
DecodeStatus Decoder::State::choose_slice(const std::uint8_t* data, std::size_t size,
                                          const Header& header, const Request& request,
                                          Job& job) noexcept {
  const unsigned d = request.denominator;
  Window full{job.window.top * d, job.window.left * d, job.window.height * d, job.window.width * d};
  full.height = std::min(full.height, header.height - full.top);
  full.width = std::min(full.width, header.width - full.left);
  const SlicePlan plan = plan_slice(header, full, d);
  const SegmentStatus found =
      segments.find(data, size, header, plan.first_row, plan.last_row, request.row_starts);
  if (found == SegmentStatus::truncated) return say(DecodeStatus::damaged, sentence(found));
  if (found == SegmentStatus::out_of_memory)
    return say(DecodeStatus::out_of_memory, sentence(found));
  if (found != SegmentStatus::ok) return DecodeStatus::ok;  // libjpeg will say what is wrong
  if (plan.pixels.height == header.height && plan.pixels.width == header.width)
    return DecodeStatus::ok;
  std::uint8_t* bytes = slice.grown(slice_bound(size));
  if (bytes == nullptr) return say(DecodeStatus::out_of_memory, "no memory for a slice");
  job.size = write_slice(data, size, header, segments, plan, bytes);
  job.data = bytes;
  job.window.top -= plan.pixels.top / d;
  job.window.left -= plan.pixels.left / d;
  return DecodeStatus::ok;
}

std::size_t working_bytes(std::size_t size, const Header& header, const Request& request) noexcept {
  const unsigned d = std::max(1u, request.denominator);
  const Window window = whole_or(request.window, header, d);
  const std::size_t channels = request.color == Color::rgb ? 3 : 1;
  // Whole MCUs are decoded, and where can_crop() may say no, whole rows.
  const std::size_t columns =
      d == 1 ? window.width + header.mcu_width() + 2 * kMargin : scaled(header.width, d);
  const std::size_t output = row_stride(columns * channels) * window.height;
  // Buffer grows by half as much again.
  std::size_t bytes = output + output / 2;
  if (header.claims_seekable()) bytes += size + size / 2;
  if (header.claims_seekable())
    bytes += std::size_t{4} * header.mcu_rows() * (header.mcus_a_row() / header.restart_interval);
  // libjpeg's rows of samples, upsampled and not, and Color::luma's rows of RGB.
  bytes += std::size_t{header.width} * (8u * header.max_v + kRowsACall) * 4 * 2 + 65536;
  if (!header.one_scan()) {
    const std::size_t rows = (header.height + 8u * header.max_v - 1) / (8u * header.max_v);
    const std::size_t across = (header.width + 8u * header.max_h - 1) / (8u * header.max_h);
    for (std::size_t c = 0; c < header.components; ++c)
      bytes += rows * across * header.component[c].h * header.component[c].v * sizeof(JBLOCK);
  }
  return bytes;
}

Decoder::Decoder(std::size_t limit) noexcept : state_(new (std::nothrow) State), limit_(limit) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

const char* Decoder::message() const noexcept {
  return state_ == nullptr ? "no memory for a decoder" : state_->text;
}

DecodeStatus Decoder::decode(const std::uint8_t* data, std::size_t size, const Request& request,
                             Pixels& out) noexcept {
  Header header;
  const HeaderStatus status = parse_header(data, size, header);
  if (status == HeaderStatus::ok) return decode(data, size, header, request, out);
  if (state_ == nullptr) return DecodeStatus::out_of_memory;
  return state_->say(
      status == HeaderStatus::not_jpeg ? DecodeStatus::not_jpeg : DecodeStatus::damaged,
      sentence(status));
}

DecodeStatus Decoder::decode(const std::uint8_t* data, std::size_t size, const Header& header,
                             const Request& request, Pixels& out) noexcept {
  if (state_ == nullptr) return DecodeStatus::out_of_memory;
  State& state = *state_;
  state.say(DecodeStatus::ok, "");
  const unsigned d = request.denominator;
  if (const char* why = why_unsupported(header); why != nullptr)
    return state.say(DecodeStatus::unsupported, why);
  if (!good_denominator(d))
    return state.say(DecodeStatus::outside, "the denominator is not 1, 2, 4 or 8");
  Job job{data, size, whole_or(request.window, header, d), d, request.color,
          request.entropy == Entropy::own && header.one_scan()};
  if (!job.window.inside(scaled(header.height, d), scaled(header.width, d)))
    return state.say(DecodeStatus::outside, "the window does not lie inside the image");
  if (working_bytes(size, header, request) > limit_)
    return state.say(DecodeStatus::too_large, "decoding the JPEG takes more memory than allowed");
  if (header.claims_seekable()) {
    const DecodeStatus status = state.choose_slice(data, size, header, request, job);
    if (status != DecodeStatus::ok) return status;
  }
  // Rows below the window are not decoded, so that a missing end has to be looked for; of several
  // scans libjpeg reads all.
  if (header.one_scan() && !has_end(data, size, header.entropy_at))
    return state.say(DecodeStatus::damaged, "the JPEG is truncated: it has no end (FF D9)");
  return state.reader.read(job, out, state.text);
}

}  // namespace forebay::jpeg
