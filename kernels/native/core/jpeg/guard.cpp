#include "guard.hpp"

#include <cstring>

#include <jerror.h>

namespace forebay::jpeg {
namespace {

Guard& guard_of(j_common_ptr codec) noexcept { return *reinterpret_cast<Guard*>(codec->err); }

Trouble trouble_of(int message) noexcept {
  switch (message) {
    case JERR_OUT_OF_MEMORY:
      return Trouble::memory;
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_IMAGE_TOO_BIG:
    case JERR_NOT_COMPILED:
    case JERR_NOTIMPL:
    case JERR_SOF_UNSUPPORTED:
    case JERR_WIDTH_OVERFLOW:
      return Trouble::unsupported;
    default:
      return Trouble::damage;
  }
}

// Warnings about how an image was made leave its pixels as they are meant. Bytes that no decoder
// wants are harmless ahead of the first scan, and a sign of lost bits from there on.
bool means_damage(int message, bool in_scan) noexcept {
  switch (message) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
      return true;
    case JWRN_EXTRANEOUS_DATA:
      return in_scan;
    default:
      return false;
  }
}

[[noreturn]] void fail(j_common_ptr codec) {
  Guard& guard = guard_of(codec);
  guard.trouble = trouble_of(codec->err->msg_code);
  (*codec->err->format_message)(codec, guard.message);
  std::longjmp(guard.back, 1);
}

void on_message(j_common_ptr codec, int level) {
  Guard& guard = guard_of(codec);
  if (level >= 0 || !means_damage(codec->err->msg_code, guard.in_scan)) return;
  fail(codec);
}

void print_nothing(j_common_ptr) {}

}  // namespace

jpeg_error_mgr* Guard::install() noexcept {
  jpeg_std_error(&manager);
  manager.error_exit = fail;
  manager.emit_message = on_message;
  manager.output_message = print_nothing;
  clear();
  return &manager;
}

void Guard::clear() noexcept {
  trouble = Trouble::none;
  in_scan = false;
  arena = nullptr;
  message[0] = '\0';
}

}  // namespace forebay::jpeg
