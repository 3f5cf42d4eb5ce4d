#include "file_read.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace forebay {
namespace {

ReadSofar read_ranges(int descriptor, const FileRange* ranges, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const FileRange& range = ranges[i];
    std::size_t done = 0;
    while (done < range.size) {
      const auto offset = static_cast<off_t>(range.offset + static_cast<std::int64_t>(done));
      const ssize_t got = ::pread(descriptor, range.out + done, range.size - done, offset);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return {true, i, done, got < 0 ? errno : 0};
      done += static_cast<std::size_t>(got);
    }
  }
  return {true, count, 0, 0};
}

}  // namespace

ReadSofar read_file(const char* path, const FileRange* ranges, std::size_t count) noexcept {
  int descriptor;
  do {
    descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) return {false, 0, 0, errno};
  const ReadSofar sofar = read_ranges(descriptor, ranges, count);
  ::close(descriptor);
  return sofar;
}

}  // namespace forebay
