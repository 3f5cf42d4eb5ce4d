// Records in dmlc frames (formats/recordio/SPEC.md, 1): checked, joined, and found, in one walk.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

// What is wrong with one framed record; the first that applies.
enum class FrameFault : std::uint8_t {
  none = 0,
  checksum = 1,  // its CRC-32C is not the one expected
  framing = 2,   // its parts are not framed as the format demands, or do not fill its length
  size = 3,      // its payload has another size than expected
};

// Framed records in one buffer. All arrays have `count` entries; `crcs` and `sizes` may be null:
// then that check is left out. `starts` and `lengths` are in bytes.
struct Frames {
  std::uint8_t* data;
  std::size_t size;
  const std::int64_t* starts;
  const std::int64_t* lengths;
  const std::uint32_t* crcs;
  const std::uint32_t* sizes;
  std::size_t count;
};

// The first record that does not lie inside [0, size), or begins or ends off a multiple of 4, or is
// shorter than a header; `count` where there is none.
std::size_t misplaced_frame(const Frames& frames) noexcept;

// Writes where each payload lies, in bytes: payload i is `out_lengths[i]` bytes from
// `out_starts[i]` on. A record of several parts is joined in place, behind its first header, after
// all of it was checked; records must not overlap. A record whose checksum or framing is wrong gets
// length 0 and is left as it was. No record may be misplaced. Returns how many have a fault.
std::size_t open_frames(const Frames& frames, std::int64_t* out_starts, std::int64_t* out_lengths,
                        FrameFault* faults) noexcept;

}  // namespace forebay
