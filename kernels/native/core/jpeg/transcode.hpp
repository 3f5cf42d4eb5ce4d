// Seekable JPEG: a JPEG file, written again without loss so that parts of it can be decoded alone.
// formats/jpeg/SPEC.md says what the result is like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace forebay::jpeg {

// What became of a file: transcoded, or kept as it is for one of these reasons. Their names are
// those of outcome_name(), and of the page.
enum class Outcome : std::uint8_t {
  transcoded,
  not_jpeg,
  corrupt,
  incomplete,
  arithmetic,
  precision,
  process,
  components,
  sampling,
  quantisation,
  too_large,
  too_many_scans,
  larger,
  different,
  memory,
};

const char* outcome_name(Outcome outcome) noexcept;

struct TranscodeOptions {
  // MCUs between restart markers, at most, where the width allows; at least 1. See interval_for().
  unsigned max_interval = 8;
  // Keep every APPn and COM segment in front of the first scan, rather than what decodes the
  // pixels (JFIF, Adobe, ICC profile) and the orientation alone.
  bool keep_metadata = false;
};

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

struct Transcoded {
  Outcome outcome = Outcome::memory;
  std::unique_ptr<std::uint8_t, Free> data;  // `size` bytes; null unless transcoded
  std::size_t size = 0;
  char detail[256] = "";  // one line for people, in ASCII; empty when transcoded
};

// Bounds that hold for any input, hostile ones included.
inline constexpr std::size_t MAX_COEFFICIENT_BYTES = std::size_t{1} << 29;  // held twice at most
inline constexpr int MAX_SCANS = 100;
// A result is given up once it has more bytes than the source, this share of it and a constant.
inline constexpr std::size_t GROWTH_DIVISOR = 8;
inline constexpr std::size_t GROWTH_CONSTANT = 64;

// MCUs between two restart markers for rows of `mcus` MCUs (both arguments at least 1): a divisor
// of `mcus`. The largest up to `max_interval`, unless that is less than half of it; then the next
// larger divisor, if it is at most LONG_INTERVAL times `max_interval`. A marker after each MCU
// makes photos 7 to 12 % larger and keeps decoders on their slow path, while a row of 128 MCUs that
// is not cut at all costs a crop of usual width less than half more.
inline constexpr unsigned LONG_INTERVAL = 16;
unsigned interval_for(unsigned mcus, unsigned max_interval) noexcept;

// Writes a JPEG file once more as baseline, with optimised Huffman tables, one interleaved scan and
// restart markers; reads the result back, and compares it with the source before it returns.
// `data` may be null only when `size` is 0. No state outlives the call; it may run on any number of
// threads at once. Memory: up to twice 2 bytes a coefficient, and the result.
Transcoded transcode(const std::uint8_t* data, std::size_t size,
                     const TranscodeOptions& options) noexcept;

}  // namespace forebay::jpeg
