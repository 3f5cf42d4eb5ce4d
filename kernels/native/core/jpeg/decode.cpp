#include "decode.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include <jpeglib.h>

#include "arena.hpp"
#include "buffer.hpp"
#include "entropy.hpp"
#include "guard.hpp"
#include "luma.hpp"
#include "marker_scan.hpp"
#include "markers.hpp"

namespace forebay::jpeg {
namespace {

// Upsampling looks at one neighbour on each side, which a cropped decode lacks at its edges.
constexpr std::uint32_t kMargin = 2;
// A hostile file can hold a scan of the whole image in a few bytes, thousands of times.
constexpr int kMostScans = 1000;
constexpr std::uint32_t kMostPixels = 65500;  // a side, in libjpeg
constexpr std::uint32_t kRowsACall = 16;

std::uint32_t scaled(std::uint32_t pixels, unsigned denominator) noexcept {
  return (pixels + denominator - 1) / denominator;
}

std::size_t row_stride(std::size_t bytes) noexcept {
  const std::size_t stride = (bytes + 63) / 64 * 64 + 64;
  return stride % 4096 == 0 ? stride + 64 : stride;  // rows must not share cache sets
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

void count_scans(j_common_ptr common) {
  auto* codec = reinterpret_cast<j_decompress_ptr>(common);
  if (codec->input_scan_number <= kMostScans) return;
  auto& guard = *reinterpret_cast<Guard*>(common->err);
  guard.trouble = Trouble::damage;
  std::snprintf(guard.message, sizeof guard.message, "it has more than %d scans", kMostScans);
  std::longjmp(guard.back, 1);
}

// Progressive images may leave out precision, which libjpeg's versions smooth over differently.
bool all_precision(const jpeg_decompress_struct& codec) noexcept {
  if (!codec.progressive_mode || codec.coef_bits == nullptr) return true;
  for (int c = 0; c < codec.num_components; ++c)
    for (int k = 0; k < DCTSIZE2; ++k)
      if (codec.coef_bits[c][k] != 0) return false;
  return true;
}

// At a part of the size, chroma may be scaled less than luma, so that it needs less upsampling.
// jpeg_crop_scanline takes that into account only where it needs none at all.
bool can_crop(const jpeg_decompress_struct& codec) noexcept {
  for (int c = 0; c < codec.num_components; ++c) {
    const jpeg_component_info& info = codec.comp_info[c];
    if (info.DCT_scaled_size != codec.min_DCT_scaled_size &&
        info.h_samp_factor * info.DCT_scaled_size !=
            codec.max_h_samp_factor * codec.min_DCT_scaled_size)
      return false;
  }
  return true;
}

// What is decoded: a JPEG (the one given, or a slice of it) and a window of its scaled pixels.
struct Job {
  const std::uint8_t* data;
  std::size_t size;
  Window window;
  unsigned denominator;
  Color color;
  bool own_entropy;  // and there is one sequential Huffman scan
};

}  // namespace

struct Decoder::State {
  jpeg_decompress_struct codec;
  jpeg_progress_mgr progress;
  Guard guard;
  ScanDecoder scan;
  Arena arena;
  Segments segments;
  Buffer slice, pixels, rows;
  char text[JMSG_LENGTH_MAX + 100] = "";

  DecodeStatus say(DecodeStatus status, const char* sentence) noexcept {
    std::snprintf(text, sizeof text, "%s", sentence);
    return status;
  }

  DecodeStatus choose_slice(const std::uint8_t* data, std::size_t size, const Header& header,
                            const Request& request, Job& job) noexcept;
  DecodeStatus run(const Job& job, Pixels& out) noexcept;
  void start(const Job& job);
  void crop(const Job& job, std::uint32_t& first_column);
  bool read_pixels(const Job& job, std::uint32_t first_column, Pixels& out);
  bool read_luma(const Job& job, std::uint32_t first_column, Pixels& out);
  DecodeStatus failed() noexcept;
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

// Between setjmp and the last call into libjpeg no object with a destructor may live: longjmp
// passes over it.
DecodeStatus Decoder::State::run(const Job& job, Pixels& out) noexcept {
  codec.err = guard.install();
  codec.mem = nullptr;  // so that destroying what was not created is harmless
  if (setjmp(guard.back) != 0) {
    jpeg_destroy_decompress(&codec);
    return failed();
  }
  // Made anew for each image: libjpeg keeps tables from one to the next, and an image that lacks
  // its own would be decoded with a stranger's.
  jpeg_create_decompress(&codec);
  if (!arena.serve(codec)) {
    jpeg_destroy_decompress(&codec);
    return say(DecodeStatus::out_of_memory, "no memory for libjpeg");
  }
  start(job);
  if (!all_precision(codec)) {
    jpeg_destroy_decompress(&codec);
    return say(DecodeStatus::unsupported, "the progressive JPEG lacks some of its precision");
  }
  std::uint32_t first_column = 0;
  crop(job, first_column);
  if (job.window.top > 0) jpeg_skip_scanlines(&codec, job.window.top);
  const bool through_rgb = job.color == Color::luma && codec.num_components == 3;
  const bool done = through_rgb ? read_luma(job, first_column, out)
                                : read_pixels(job, first_column, out);
  jpeg_destroy_decompress(&codec);
  return done ? DecodeStatus::ok : say(DecodeStatus::out_of_memory, "no memory for the pixels");
}

void Decoder::State::start(const Job& job) {
  progress = {};
  progress.progress_monitor = count_scans;
  codec.progress = &progress;
  jpeg_mem_src(&codec, job.data, static_cast<unsigned long>(job.size));
  jpeg_read_header(&codec, TRUE);
  guard.in_scan = true;
  const bool grey = job.color == Color::luma && codec.num_components == 1;
  codec.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
  codec.dct_method = JDCT_ISLOW;
  codec.do_fancy_upsampling = TRUE;
  codec.scale_num = 1;
  codec.scale_denom = job.denominator;
  jpeg_start_decompress(&codec);
}

void Decoder::State::crop(const Job& job, std::uint32_t& first_column) {
  JDIMENSION left = 0;
  JDIMENSION width = codec.output_width;
  if (can_crop(codec)) {
    left = job.window.left - std::min(job.window.left, kMargin);
    width = std::min(job.window.left + job.window.width + kMargin, width) - left;
    if (width < codec.output_width) jpeg_crop_scanline(&codec, &left, &width);
  }
  first_column = left;
  const auto mcu_width = static_cast<JDIMENSION>(
      codec.min_DCT_scaled_size * (codec.num_components == 1 ? 1 : codec.max_h_samp_factor));
  // Where it declines, libjpeg's own entropy decoder stays.
  if (job.own_entropy)
    scan.take_over(codec, left / mcu_width, (left + width - 1) / mcu_width);
}

bool Decoder::State::read_pixels(const Job& job, std::uint32_t first_column, Pixels& out) {
  const auto channels = static_cast<std::uint32_t>(codec.output_components);
  const std::size_t stride = row_stride(std::size_t{codec.output_width} * channels);
  std::uint8_t* base = pixels.grown(stride * job.window.height);
  if (base == nullptr) return false;
  const std::uint32_t end = job.window.top + job.window.height;
  while (codec.output_scanline < end) {
    JSAMPROW into[kRowsACall];
    const std::uint32_t count = std::min(kRowsACall, end - codec.output_scanline);
    for (std::uint32_t i = 0; i < count; ++i)
      into[i] = base + (codec.output_scanline - job.window.top + i) * stride;
    jpeg_read_scanlines(&codec, into, count);
  }
  const std::size_t offset = std::size_t{job.window.left - first_column} * channels;
  out = {base + offset, stride, job.window.height, job.window.width, channels};
  return true;
}

bool Decoder::State::read_luma(const Job& job, std::uint32_t first_column, Pixels& out) {
  const std::size_t wide = row_stride(std::size_t{codec.output_width} * 3);
  const std::size_t stride = row_stride(job.window.width);
  std::uint8_t* colours = rows.grown(wide * kRowsACall);
  std::uint8_t* base = pixels.grown(stride * job.window.height);
  if (colours == nullptr || base == nullptr) return false;
  JSAMPROW into[kRowsACall];
  for (std::uint32_t i = 0; i < kRowsACall; ++i) into[i] = colours + i * wide;
  const std::size_t offset = std::size_t{job.window.left - first_column} * 3;
  for (std::uint32_t row = 0; row < job.window.height;) {
    const std::uint32_t count =
        jpeg_read_scanlines(&codec, into, std::min(kRowsACall, job.window.height - row));
    for (std::uint32_t i = 0; i < count; ++i, ++row)
      rgb_to_luma(into[i] + offset, job.window.width, base + row * stride);
  }
  out = {base, stride, job.window.height, job.window.width, 1};
  return true;
}

DecodeStatus Decoder::State::failed() noexcept {
  switch (guard.trouble) {
    case Trouble::memory:
      return say(DecodeStatus::out_of_memory, "no memory for libjpeg");
    case Trouble::unsupported:
      std::snprintf(text, sizeof text, "libjpeg does not decode this JPEG: %s", guard.message);
      return DecodeStatus::unsupported;
    default:
      std::snprintf(text, sizeof text, "the JPEG is damaged: %s", guard.message);
      return DecodeStatus::damaged;
  }
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
  return state.run(job, out);
}

}  // namespace forebay::jpeg
