// Ranges of a file, read one after the other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

// `size` bytes from `offset` on, to `out`.
struct FileRange {
  std::uint8_t* out;
  std::size_t size;
  std::int64_t offset;
};

// How far reading came: `ranges` of them are whole, then `bytes` of the next. Where that is not all,
// `error` is the system's number, or 0 where the file ends. Not `opened`: it is the error of that.
struct ReadSofar {
  bool opened;
  std::size_t ranges;
  std::size_t bytes;
  int error;
};

// Opens the file, reads and closes it. Goes on after a signal: its handler runs when the call is
// over, so no descriptor outlives the call.
ReadSofar read_file(const char* path, const FileRange* ranges, std::size_t count) noexcept;

}  // namespace forebay
