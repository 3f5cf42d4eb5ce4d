#include "file_read.hpp"

#include <unistd.h>

#include <cerrno>

namespace forebay {

ReadSofar read_ranges(int descriptor, const FileRange* ranges, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const FileRange& range = ranges[i];
    std::size_t done = 0;
    while (done < range.size) {
      const auto offset = static_cast<off_t>(range.offset + static_cast<std::int64_t>(done));
      const ssize_t got = ::pread(descriptor, range.out + done, range.size - done, offset);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return {i, done, got < 0 ? errno : 0};
      done += static_cast<std::size_t>(got);
    }
  }
  return {count, 0, 0};
}

}  // namespace forebay
