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

}  // namespace forebay
