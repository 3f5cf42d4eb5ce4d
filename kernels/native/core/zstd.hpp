// Many zstd frames (RFC 8878) decompressed in one call, by the libzstd of the system.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

// Whether the system's libzstd was found when it was first asked for; nothing else here may be
// called where it was not.
bool zstd_found() noexcept;

// Its version as major * 10000 + minor * 100 + patch; 0 where there is none.
unsigned zstd_version() noexcept;

// A dictionary made ready once, then read by any number of threads.
class ZstdDictionary {
 public:
  // Keeps a copy of `data`. Where zstd refuses it, `good()` is false.
  ZstdDictionary(const std::uint8_t* data, std::size_t size) noexcept;
  ~ZstdDictionary();
  ZstdDictionary(const ZstdDictionary&) = delete;
  ZstdDictionary& operator=(const ZstdDictionary&) = delete;

  bool good() const noexcept { return ready_ != nullptr; }
  const void* ready() const noexcept { return ready_; }

 private:
  void* ready_;
};

// Frames in one buffer and the places that they are decompressed to in another; `count` entries
// each, in bytes. No place may lie outside its buffer.
struct ZstdFrames {
  const std::uint8_t* data;
  const std::int64_t* starts;
  const std::int64_t* lengths;
  std::uint8_t* out;
  const std::int64_t* out_starts;
  const std::int64_t* out_lengths;
  std::size_t count;
};

// Decompresses every frame into its place; bad[i] becomes 1 where frame i is not one whole frame
// of exactly out_lengths[i] bytes, whose place then holds unspecified bytes, else 0. Returns how
// many are bad. Each thread keeps one decompressor for its life. Does nothing for a frame of length
// 0 whose place has length 0.
std::size_t zstd_decompress(const ZstdFrames& frames, const ZstdDictionary* dictionary,
                            std::uint8_t* bad) noexcept;

}  // namespace forebay
