// libjpeg's errors as values: nothing prints, nothing exits, and control comes back by longjmp.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

namespace forebay::jpeg {

// How a call into libjpeg failed.
enum class Trouble : std::uint8_t { none, damage, unsupported, memory };

class Arena;

// An error manager for a decompressor. `setjmp(guard.back)` before calling libjpeg; no object with
// a destructor may be made between that and the calls. Warnings that mean damaged data are errors.
struct Guard {
  jpeg_error_mgr manager;  // first: libjpeg hands back its address as that of the whole
  std::jmp_buf back;
  Trouble trouble;
  bool in_scan;            // entropy-coded data has begun
  Arena* arena;            // that serves the codec (arena.hpp); libjpeg hands back no other pointer
  char message[JMSG_LENGTH_MAX];

  jpeg_error_mgr* install() noexcept;
  void clear() noexcept;
};

}  // namespace forebay::jpeg
