// JPEGs made for tests by libjpeg, and libjpeg's own whole decode of them to compare with.
#pragma once

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <jpeglib.h>

#include "../../core/jpeg/slice.hpp"

namespace forebay::jpeg::tests {

using Bytes = std::vector<std::uint8_t>;

inline int failures = 0;

inline void expect(bool holds, const std::string& what) {
  if (holds) return;
  if (++failures <= 20) std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

struct Kind {
  const char* name;
  J_COLOR_SPACE space;
  int h, v;              // sampling factors of the first component
  int chroma_h, chroma_v;  // and of the others
};

inline constexpr Kind KINDS[] = {
    {"4:4:4", JCS_YCbCr, 1, 1, 1, 1},      {"4:2:2", JCS_YCbCr, 2, 1, 1, 1},
    {"4:2:0", JCS_YCbCr, 2, 2, 1, 1},      {"4:4:0", JCS_YCbCr, 1, 2, 1, 1},
    {"4:1:1", JCS_YCbCr, 4, 1, 1, 1},      {"4:1:0", JCS_YCbCr, 4, 2, 1, 1},
    {"1x4", JCS_YCbCr, 1, 4, 1, 1},        {"thirds", JCS_YCbCr, 3, 1, 1, 1},
    {"chroma 2x1", JCS_YCbCr, 2, 2, 2, 1}, {"fine chroma", JCS_YCbCr, 1, 1, 2, 1},
    {"RGB", JCS_RGB, 1, 1, 1, 1},          {"grey", JCS_GRAYSCALE, 1, 1, 1, 1},
    {"grey of 2x2", JCS_GRAYSCALE, 2, 2, 1, 1}, {"2x4", JCS_YCbCr, 2, 4, 1, 1},
};

struct Options {
  unsigned restart = 0;  // MCUs
  bool progressive = false;
  bool optimised = false;
  int quality = 85;
};

// Colour edges everywhere, so that an error of one chroma sample shows.
inline Bytes picture(unsigned width, unsigned height, int channels) {
  std::mt19937 engine(width * 1000 + height);
  Bytes pixels(std::size_t{width} * height * static_cast<unsigned>(channels));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const auto x = static_cast<double>(i / static_cast<unsigned>(channels) % width);
    const auto y = static_cast<double>(i / static_cast<unsigned>(channels) / width);
    const double wave = std::sin(x * 0.7 + static_cast<double>(i % 3)) * std::cos(y * 0.5);
    pixels[i] = static_cast<std::uint8_t>(128 + 90 * wave + static_cast<double>(engine() % 37));
  }
  return pixels;
}

inline Bytes encode(unsigned width, unsigned height, const Kind& kind, const Options& options) {
  jpeg_compress_struct codec;
  jpeg_error_mgr errors;
  codec.err = jpeg_std_error(&errors);
  jpeg_create_compress(&codec);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&codec, &out, &size);
  const bool grey = kind.space == JCS_GRAYSCALE;
  codec.image_width = width;
  codec.image_height = height;
  codec.input_components = grey ? 1 : 3;
  codec.in_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&codec);
  jpeg_set_colorspace(&codec, kind.space);
  jpeg_set_quality(&codec, options.quality, TRUE);
  for (int c = 0; c < codec.num_components; ++c) {
    codec.comp_info[c].h_samp_factor = c == 0 ? kind.h : kind.chroma_h;
    codec.comp_info[c].v_samp_factor = c == 0 ? kind.v : kind.chroma_v;
  }
  codec.restart_interval = options.restart;
  codec.optimize_coding = options.optimised ? TRUE : FALSE;
  if (options.progressive) jpeg_simple_progression(&codec);
  jpeg_start_compress(&codec, TRUE);
  Bytes pixels = picture(width, height, codec.input_components);
  while (codec.next_scanline < height) {
    const std::size_t line = std::size_t{width} * static_cast<unsigned>(codec.input_components);
    JSAMPROW row = pixels.data() + codec.next_scanline * line;
    jpeg_write_scanlines(&codec, &row, 1);
  }
  jpeg_finish_compress(&codec);
  jpeg_destroy_compress(&codec);
  Bytes bytes(out, out + size);
  std::free(out);
  return bytes;
}

struct Whole {
  unsigned height, width, channels;
  Bytes pixels;

  const std::uint8_t* at(unsigned y, unsigned x) const {
    return pixels.data() + (std::size_t{y} * width + x) * channels;
  }
};

// All of an image that is known to be whole: libjpeg's errors end the test.
inline Whole decode_whole(const Bytes& bytes, unsigned denominator) {
  jpeg_decompress_struct codec;
  jpeg_error_mgr errors;
  codec.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&codec);
  jpeg_mem_src(&codec, bytes.data(), bytes.size());
  jpeg_read_header(&codec, TRUE);
  codec.out_color_space = JCS_RGB;
  codec.scale_num = 1;
  codec.scale_denom = denominator;
  jpeg_start_decompress(&codec);
  Whole whole{codec.output_height, codec.output_width, 3, {}};
  whole.pixels.resize(std::size_t{whole.height} * whole.width * 3);
  while (codec.output_scanline < codec.output_height) {
    JSAMPROW row = whole.pixels.data() + std::size_t{codec.output_scanline} * whole.width * 3;
    jpeg_read_scanlines(&codec, &row, 1);
  }
  jpeg_finish_decompress(&codec);
  jpeg_destroy_decompress(&codec);
  return whole;
}

// Windows that find mistakes: the whole, single pixels, each edge, and random ones.
inline std::vector<Window> windows(unsigned height, unsigned width, unsigned random) {
  std::vector<Window> list = {
      {0, 0, height, width},       {0, 0, 1, 1},          {height - 1, width - 1, 1, 1},
      {0, width - 1, height, 1},   {height - 1, 0, 1, width}, {height / 2, width / 2, 1, 1},
      {0, 0, (height + 1) / 2, width}, {0, width / 2, height, width - width / 2},
  };
  std::mt19937 engine(height * 7919 + width);
  for (unsigned i = 0; i < random; ++i) {
    Window window;
    window.height = 1 + engine() % (i % 3 == 0 ? std::min(height, 3u) : height);
    window.width = 1 + engine() % (i % 3 == 1 ? std::min(width, 3u) : width);
    window.top = engine() % (height - window.height + 1);
    window.left = engine() % (width - window.width + 1);
    list.push_back(window);
  }
  return list;
}

inline std::string text(const Window& w) {
  return "window " + std::to_string(w.top) + ", " + std::to_string(w.left) + ", " +
         std::to_string(w.height) + ", " + std::to_string(w.width);
}

}  // namespace forebay::jpeg::tests
