// Many short runs of bytes moved in one call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

// The first of `count` runs that does not lie inside [0, size); `count` where all do. Run i is
// `lengths[i]` bytes from `starts[i]` on; with `lengths` null each is `width` bytes.
std::size_t run_outside(std::size_t size, const std::int64_t* starts, const std::int64_t* lengths,
                        std::size_t width, std::size_t count) noexcept;

// Copies the `width` bytes from each of `starts` on to `out`, one behind the other. No run may lie
// outside `data`; `out` has count * width bytes.
void take_runs(const std::uint8_t* data, const std::int64_t* starts, std::size_t width,
               std::size_t count, std::uint8_t* out) noexcept;

// Copies run i, `lengths[i]` bytes, from `starts[i]` in `data` to `out_starts[i]` in `out`. No run
// may lie outside its buffer, and the buffers must not overlap.
void copy_runs(const std::uint8_t* data, const std::int64_t* starts, std::uint8_t* out,
               const std::int64_t* out_starts, const std::int64_t* lengths,
               std::size_t count) noexcept;

// Records whose variable fields' sizes stand in them: record i is `lengths[i]` bytes from `starts[i]`
// on, has `fields` u32 sizes from byte `sizes_at` on, and the values end to end from `prefix` on,
// which is at least sizes_at + 4 * fields. Writes field f's starts to spans[2f * count + i] and its
// sizes to spans[(2f + 1) * count + i], and stops at the first record that is shorter than `prefix`
// or longer or shorter than its sizes say: returns it, or `count`. No record may lie outside `data`.
std::size_t split_records(const std::uint8_t* data, const std::int64_t* starts,
                          const std::int64_t* lengths, std::size_t count, std::size_t prefix,
                          std::size_t sizes_at, std::size_t fields, std::int64_t* spans) noexcept;

}  // namespace forebay
