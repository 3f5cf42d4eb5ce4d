#include "frames.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "crc32c.hpp"

namespace forebay {
namespace {

constexpr std::uint32_t kMagic = 0xCED7230Au;
constexpr std::size_t kHeader = 8;
constexpr std::uint32_t kSizeMask = (1u << 29) - 1;
constexpr std::size_t kGroup = 64;  // records whose CRCs are taken together, while in the cache

enum Flag : std::uint32_t { whole = 0, first = 1, middle = 2, last = 3 };

static_assert(std::endian::native == std::endian::little, "written for little-endian machines");

inline std::uint32_t load(const std::uint8_t* at) noexcept {
  std::uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

inline std::size_t padded(std::size_t size) noexcept { return (size + 3) & ~std::size_t{3}; }

// Whether `length` bytes at `record` are the parts of one record and nothing else.
bool parts_fill(const std::uint8_t* record, std::size_t length) noexcept {
  std::size_t at = 0;
  while (length - at >= kHeader) {
    const std::uint32_t head = load(record + at + 4);
    const std::uint32_t flag = head >> 29;
    const std::size_t size = head & kSizeMask;
    const bool expected = at == 0 ? flag == first : flag == middle || flag == last;
    if (load(record + at) != kMagic || !expected) return false;
    if (flag != last && size % 4 != 0) return false;
    if (padded(size) > length - at - kHeader) return false;
    at += kHeader + padded(size);
    if (flag == last) return at == length;
  }
  return false;
}

// Joins parts that `parts_fill` has approved, with the magic between them; the payload's size.
std::size_t join(std::uint8_t* record) noexcept {
  std::size_t at = 0;
  std::size_t out = kHeader;
  for (;;) {
    const std::uint32_t head = load(record + at + 4);
    const std::uint32_t flag = head >> 29;
    const std::size_t size = head & kSizeMask;
    if (flag != first) {
      // Never beyond the header of the part that is moved: what lies behind is still to be read.
      std::memcpy(record + out, &kMagic, sizeof kMagic);
      out += sizeof kMagic;
      std::memmove(record + out, record + at + kHeader, size);
    }
    out += size;
    at += kHeader + padded(size);
    if (flag == last) return out - kHeader;
  }
}

// The payload's size; SIZE_MAX where the record is not framed as it must be.
inline std::size_t payload_of(std::uint8_t* record, std::size_t length) noexcept {
  const std::uint32_t head = load(record + 4);
  if (load(record) != kMagic) return SIZE_MAX;
  if (head >> 29 == whole) {
    const std::size_t size = head & kSizeMask;
    return kHeader + padded(size) == length ? size : SIZE_MAX;
  }
  return parts_fill(record, length) ? join(record) : SIZE_MAX;
}

}  // namespace

std::size_t misplaced_frame(const Frames& frames) noexcept {
  for (std::size_t i = 0; i < frames.count; ++i) {
    const std::int64_t start = frames.starts[i];
    const std::int64_t length = frames.lengths[i];
    if (start < 0 || length < static_cast<std::int64_t>(kHeader)) return i;
    if ((start | length) & 3) return i;
    const auto from = static_cast<std::uint64_t>(start);
    if (from > frames.size || static_cast<std::uint64_t>(length) > frames.size - from) return i;
  }
  return frames.count;
}

std::size_t open_frames(const Frames& frames, std::int64_t* out_starts, std::int64_t* out_lengths,
                        FrameFault* faults) noexcept {
  std::size_t bad = 0;
  std::uint32_t found[kGroup];
  for (std::size_t from = 0; from < frames.count; from += kGroup) {
    const std::size_t many = std::min(kGroup, frames.count - from);
    if (frames.crcs != nullptr)
      crc32c_ranges(frames.data, frames.size, frames.starts + from, frames.lengths + from, many,
                    found);
    for (std::size_t k = 0; k < many; ++k) {
      const std::size_t i = from + k;
      auto fault = FrameFault::none;
      std::size_t size = 0;
      if (frames.crcs != nullptr && found[k] != frames.crcs[i]) {
        fault = FrameFault::checksum;
      } else {
        size = payload_of(frames.data + frames.starts[i],
                          static_cast<std::size_t>(frames.lengths[i]));
        if (size == SIZE_MAX)
          fault = FrameFault::framing;
        else if (frames.sizes != nullptr && size != frames.sizes[i])
          fault = FrameFault::size;
      }
      out_starts[i] = frames.starts[i] + static_cast<std::int64_t>(kHeader);
      const bool known = fault == FrameFault::none || fault == FrameFault::size;
      out_lengths[i] = known ? static_cast<std::int64_t>(size) : 0;
      faults[i] = fault;
      bad += fault != FrameFault::none;
    }
  }
  return bad;
}

}  // namespace forebay
