// Memory for libjpeg's working rows that is kept from image to image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE
#include <memory>
#include <vector>

#include <jpeglib.h>

#include "buffer.hpp"

namespace forebay::jpeg {

// libjpeg asks malloc for each image's rows anew, and at their sizes the C library gives them back
// to the system each time: that was 4 % of decoding. Of what libjpeg allocates by
// itself, only what it takes before serve() and the coefficients of several scans stay its own.
class Arena {
 public:
  // Serves `codec`, just created with a Guard as its error manager, until it is destroyed. What
  // was served before is free again. False where there is no memory for it.
  bool serve(jpeg_decompress_struct& codec) noexcept;

  // Bytes at a 64-byte boundary, undefined, until the next serve(); null without memory for them.
  void* take(std::size_t bytes) noexcept;

 private:
  // What does not fit goes to blocks of its own, and the next image finds one large enough for all.
  Buffer block_;
  std::size_t size_ = 0;  // of block_
  std::size_t used_ = 0;  // taken since serve(), blocks of their own included
  std::vector<std::unique_ptr<Buffer>> extra_;
};

}  // namespace forebay::jpeg
