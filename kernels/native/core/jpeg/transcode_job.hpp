// One call of transcode(): its state, and where libjpeg's errors, bytes and progress go.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <jpeglib.h>

#include "transcode.hpp"

namespace forebay::jpeg {

inline constexpr std::size_t BLOCK_BYTES = sizeof(JBLOCK);

// Every error and every warning of libjpeg ends here, and jumps to `jump`. So no frame in between
// may have a destructor to run: all state is in Job, whose owner frees it.
struct Errors : jpeg_error_mgr {
  std::jmp_buf jump;
  Outcome otherwise;  // what an error means that has no reason of its own
  Outcome outcome;
  char* detail;
  std::size_t detail_size;
};

struct Sink : jpeg_destination_mgr {
  std::uint8_t* data;
  std::size_t capacity, size;
};

struct Job {
  const std::uint8_t* data;
  std::size_t size;
  TranscodeOptions options;
  Errors errors;
  Sink sink;
  jpeg_progress_mgr scans;
  jpeg_decompress_struct source, result;
  jpeg_compress_struct target;
  jvirt_barray_ptr* coefficients;
};

// Sets up the managers of errors, bytes and progress of a job whose other members are zero.
// Warnings count as errors, and bytes beyond sink.capacity as Outcome::larger.
void prepare(Job& job, Transcoded& done) noexcept;

// Ends the job with an outcome and its detail: does not return, but jumps.
[[noreturn]] [[gnu::format(printf, 3, 4)]] void keep(Errors& errors, Outcome outcome,
                                                     const char* format, ...);

// The proof: reads what is in the sink as any reader reads it, and ends the job unless it has the
// same of all that makes pixels as the source: frame, color markers, quantisers, coefficients.
void compare(Job& job);

}  // namespace forebay::jpeg
