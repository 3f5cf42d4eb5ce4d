// Reads the pixels of a window of a JPEG by libjpeg-turbo, from first byte to last row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <jpeglib.h>

#include "arena.hpp"
#include "buffer.hpp"
#include "decode.hpp"
#include "entropy.hpp"
#include "guard.hpp"

namespace forebay::jpeg {

// Upsampling looks at one neighbour on each side, which a cropped decode lacks at its edges.
inline constexpr std::uint32_t kMargin = 2;
inline constexpr std::uint32_t kRowsACall = 16;
inline constexpr std::size_t kMessage = JMSG_LENGTH_MAX + 100;

// Bytes from row to row of pixels.
std::size_t row_stride(std::size_t bytes) noexcept;

// What is decoded: a JPEG (the one given, or a slice of it) and a window of its scaled pixels.
struct Job {
  const std::uint8_t* data;
  std::size_t size;
  Window window;
  unsigned denominator;
  Color color;
  bool own_entropy;  // and there is one sequential Huffman scan
};

// libjpeg's decoder with its memory, used again for each image.
class PixelReader {
 public:
  // Reads the job's window, which lies inside its image; the pixels are the reader's until its
  // next call. Where it does not return ok, `text` has received a sentence that says why.
  DecodeStatus read(const Job& job, Pixels& out, char (&text)[kMessage]) noexcept;

 private:
  void start(const Job& job);
  void crop(const Job& job, std::uint32_t& first_column);
  bool read_pixels(const Job& job, std::uint32_t first_column, Pixels& out);
  bool read_luma(const Job& job, std::uint32_t first_column, Pixels& out);
  DecodeStatus failed(char (&text)[kMessage]) const noexcept;

  jpeg_decompress_struct codec_;
  jpeg_progress_mgr progress_;
  Guard guard_;
  ScanDecoder scan_;
  Arena arena_;
  Buffer pixels_, rows_;
};

}  // namespace forebay::jpeg
