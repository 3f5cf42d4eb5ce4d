#include "pixel_reader.hpp"

#include <algorithm>
#include <cstdio>

#include "luma.hpp"

namespace forebay::jpeg {
namespace {

// A hostile file can hold a scan of the whole image in a few bytes, thousands of times.
constexpr int kMostScans = 1000;

// Rows that begin at a vector's boundary libjpeg-turbo stores past the caches, with a fence after
// each: the resampler then waits for them to come back from memory, a tenth of a sample's time. So
// they begin a little off it.
constexpr std::size_t kOffBoundary = 8;

DecodeStatus say(char (&text)[kMessage], DecodeStatus status, const char* sentence) noexcept {
  std::snprintf(text, sizeof text, "%s", sentence);
  return status;
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
// jpeg_crop_scanline takes that into account only where it needs none at all, in both directions:
// what upsamples rows alone would leave columns as they lay in memory.
bool can_crop(const jpeg_decompress_struct& codec) noexcept {
  const int least = codec.min_DCT_scaled_size;
  for (int c = 0; c < codec.num_components; ++c) {
    const jpeg_component_info& info = codec.comp_info[c];
    const int size = info.DCT_scaled_size;
    const bool full = info.h_samp_factor * size == codec.max_h_samp_factor * least &&
                      info.v_samp_factor * size == codec.max_v_samp_factor * least;
    if (size != least && !full) return false;
  }
  return true;
}

}  // namespace

std::size_t row_stride(std::size_t bytes) noexcept {
  const std::size_t stride = (bytes + 63) / 64 * 64 + 64;
  return stride % 4096 == 0 ? stride + 64 : stride;  // rows must not share cache sets
}

// Between setjmp and the last call into libjpeg no object with a destructor may live: longjmp
// passes over it.
DecodeStatus PixelReader::read(const Job& job, Pixels& out, char (&text)[kMessage]) noexcept {
  codec_.err = guard_.install();
  codec_.mem = nullptr;  // so that destroying what was not created is harmless
  if (setjmp(guard_.back) != 0) {
    jpeg_destroy_decompress(&codec_);
    return failed(text);
  }
  // Made anew for each image: libjpeg keeps tables from one to the next, and an image that lacks
  // its own would be decoded with a stranger's.
  jpeg_create_decompress(&codec_);
  if (!arena_.serve(codec_)) {
    jpeg_destroy_decompress(&codec_);
    return say(text, DecodeStatus::out_of_memory, "no memory for libjpeg");
  }
  start(job);
  if (!all_precision(codec_)) {
    jpeg_destroy_decompress(&codec_);
    return say(text, DecodeStatus::unsupported, "the progressive JPEG lacks some of its precision");
  }
  std::uint32_t first_column = 0;
  crop(job, first_column);
  if (job.window.top > 0) jpeg_skip_scanlines(&codec_, job.window.top);
  const bool through_rgb = job.color == Color::luma && codec_.num_components == 3;
  const bool done = through_rgb ? read_luma(job, first_column, out)
                                : read_pixels(job, first_column, out);
  jpeg_destroy_decompress(&codec_);
  if (!done) return say(text, DecodeStatus::out_of_memory, "no memory for the pixels");
  return DecodeStatus::ok;
}

void PixelReader::start(const Job& job) {
  progress_ = {};
  progress_.progress_monitor = count_scans;
  codec_.progress = &progress_;
  jpeg_mem_src(&codec_, job.data, static_cast<unsigned long>(job.size));
  jpeg_read_header(&codec_, TRUE);
  guard_.in_scan = true;
  const bool grey = job.color == Color::luma && codec_.num_components == 1;
  codec_.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
  codec_.dct_method = JDCT_ISLOW;
  codec_.do_fancy_upsampling = TRUE;
  codec_.scale_num = 1;
  codec_.scale_denom = job.denominator;
  jpeg_start_decompress(&codec_);
}

void PixelReader::crop(const Job& job, std::uint32_t& first_column) {
  JDIMENSION left = 0;
  JDIMENSION width = codec_.output_width;
  if (can_crop(codec_)) {
    left = job.window.left - std::min(job.window.left, kMargin);
    width = std::min(job.window.left + job.window.width + kMargin, width) - left;
    if (width < codec_.output_width) jpeg_crop_scanline(&codec_, &left, &width);
  }
  first_column = left;
  const auto mcu_width = static_cast<JDIMENSION>(
      codec_.min_DCT_scaled_size * (codec_.num_components == 1 ? 1 : codec_.max_h_samp_factor));
  // Where it declines, libjpeg's own entropy decoder stays.
  if (job.own_entropy)
    scan_.take_over(codec_, left / mcu_width, (left + width - 1) / mcu_width);
}

bool PixelReader::read_pixels(const Job& job, std::uint32_t first_column, Pixels& out) {
  const auto channels = static_cast<std::uint32_t>(codec_.output_components);
  const std::size_t stride = row_stride(std::size_t{codec_.output_width} * channels);
  std::uint8_t* base = pixels_.grown(kOffBoundary + stride * job.window.height);
  if (base == nullptr) return false;
  base += kOffBoundary;
  const std::uint32_t end = job.window.top + job.window.height;
  while (codec_.output_scanline < end) {
    JSAMPROW into[kRowsACall];
    const std::uint32_t count = std::min(kRowsACall, end - codec_.output_scanline);
    for (std::uint32_t i = 0; i < count; ++i)
      into[i] = base + (codec_.output_scanline - job.window.top + i) * stride;
    jpeg_read_scanlines(&codec_, into, count);
  }
  const std::size_t offset = std::size_t{job.window.left - first_column} * channels;
  out = {base + offset, stride, job.window.height, job.window.width, channels};
  return true;
}

bool PixelReader::read_luma(const Job& job, std::uint32_t first_column, Pixels& out) {
  const std::size_t wide = row_stride(std::size_t{codec_.output_width} * 3);
  const std::size_t stride = row_stride(job.window.width);
  std::uint8_t* colours = rows_.grown(kOffBoundary + wide * kRowsACall);
  std::uint8_t* base = pixels_.grown(stride * job.window.height);
  if (colours == nullptr || base == nullptr) return false;
  JSAMPROW into[kRowsACall];
  for (std::uint32_t i = 0; i < kRowsACall; ++i) into[i] = colours + kOffBoundary + i * wide;
  const std::size_t offset = std::size_t{job.window.left - first_column} * 3;
  for (std::uint32_t row = 0; row < job.window.height;) {
    const std::uint32_t count =
        jpeg_read_scanlines(&codec_, into, std::min(kRowsACall, job.window.height - row));
    for (std::uint32_t i = 0; i < count; ++i, ++row)
      rgb_to_luma(into[i] + offset, job.window.width, base + row * stride);
  }
  out = {base, stride, job.window.height, job.window.width, 1};
  return true;
}

DecodeStatus PixelReader::failed(char (&text)[kMessage]) const noexcept {
  switch (guard_.trouble) {
    case Trouble::memory:
      return say(text, DecodeStatus::out_of_memory, "no memory for libjpeg");
    case Trouble::unsupported:
      std::snprintf(text, sizeof text, "libjpeg does not decode this JPEG: %s", guard_.message);
      return DecodeStatus::unsupported;
    default:
      std::snprintf(text, sizeof text, "the JPEG is damaged: %s", guard_.message);
      return DecodeStatus::damaged;
  }
}

}  // namespace forebay::jpeg
