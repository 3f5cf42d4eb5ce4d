#include "transcode_job.hpp"

#include <cstdarg>

#include <jerror.h>

namespace forebay::jpeg {
namespace {

Outcome outcome_of(int code, Outcome otherwise) noexcept {
  switch (code) {
    case JERR_OUT_OF_MEMORY:
    case JERR_NO_BACKING_STORE:
      return Outcome::memory;
    case JERR_NO_SOI:
      return Outcome::not_jpeg;
    case JERR_ARITH_NOTIMPL:
      return Outcome::arithmetic;
    case JERR_BAD_PRECISION:
      return Outcome::precision;
    case JERR_SOF_UNSUPPORTED:
      return Outcome::process;
    case JERR_COMPONENT_COUNT:
      return Outcome::components;
    case JERR_BAD_MCU_SIZE:
      return Outcome::sampling;
    case JERR_MISMATCHED_QUANT_TABLE:
      return Outcome::quantisation;
    case JERR_BAD_DCT_COEF:  // found in writing, of a size that no 8-bit picture gives
      return Outcome::corrupt;
    case JERR_IMAGE_TOO_BIG:
      return Outcome::too_large;
    default:
      return otherwise;
  }
}

[[noreturn]] void on_error(j_common_ptr info) {
  Errors& errors = *static_cast<Errors*>(info->err);
  char message[JMSG_LENGTH_MAX];
  errors.format_message(info, message);
  keep(errors, outcome_of(errors.msg_code, errors.otherwise), "%s", message);
}

void on_message(j_common_ptr info, int level) {
  // Below 0 are warnings, of corrupt data all of them; from 0 on is what was met on the way.
  if (level < 0) on_error(info);
}

void on_progress(j_common_ptr info) {
  if (info->is_decompressor == 0) return;
  const auto* source = reinterpret_cast<j_decompress_ptr>(info);
  // A scan may cover the whole picture in a few bytes.
  if (source->input_scan_number > MAX_SCANS)
    keep(*static_cast<Errors*>(info->err), Outcome::too_many_scans, "more than %d scans",
         MAX_SCANS);
}

void sink_open(j_compress_ptr target) {
  Sink& sink = *static_cast<Sink*>(target->dest);
  sink.next_output_byte = sink.data;
  sink.free_in_buffer = sink.capacity;
}

boolean sink_full(j_compress_ptr target) {
  const Sink& sink = *static_cast<Sink*>(target->dest);
  keep(*static_cast<Errors*>(target->err), Outcome::larger,
       "would have more than %zu bytes", sink.capacity);
}

void sink_close(j_compress_ptr target) {
  Sink& sink = *static_cast<Sink*>(target->dest);
  sink.size = sink.capacity - sink.free_in_buffer;
}

}  // namespace

void keep(Errors& errors, Outcome outcome, const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(errors.detail, errors.detail_size, format, values);
  va_end(values);
  errors.outcome = outcome;
  std::longjmp(errors.jump, 1);
}

void prepare(Job& job, Transcoded& done) noexcept {
  jpeg_std_error(&job.errors);
  job.errors.error_exit = on_error;
  job.errors.emit_message = on_message;
  job.errors.detail = done.detail;
  job.errors.detail_size = sizeof done.detail;
  job.sink.init_destination = sink_open;
  job.sink.empty_output_buffer = sink_full;
  job.sink.term_destination = sink_close;
  job.sink.data = done.data.get();
  job.scans.progress_monitor = on_progress;
}

}  // namespace forebay::jpeg
