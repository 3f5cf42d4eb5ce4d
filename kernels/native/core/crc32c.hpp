// CRC-32C (Castagnoli, RFC 3720): the check that every format of this library stores.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

// CRC-32C of `size` bytes at `data`, continuing from `value` (0 to begin). Runs on the
// processor's CRC instruction where it has one. `data` may be null only when `size` is 0.
std::uint32_t crc32c(const std::uint8_t* data, std::size_t size, std::uint32_t value = 0) noexcept;

// The same function by tables alone: the fallback, and what tests compare the hardware with.
std::uint32_t crc32c_portable(const std::uint8_t* data, std::size_t size,
                              std::uint32_t value = 0) noexcept;

// What crc32c() runs on in this process: "sse4.2", "armv8" or "portable".
const char* crc32c_backend() noexcept;

// Writes the CRC-32C of bytes [starts[i], starts[i] + lengths[i]) of `data` to out[i] for each
// i < count. Returns count, or the index of the first range that does not lie inside [0, size),
// found before anything is read or written.
std::size_t crc32c_ranges(const std::uint8_t* data, std::size_t size, const std::int64_t* starts,
                          const std::int64_t* lengths, std::size_t count,
                          std::uint32_t* out) noexcept;

}  // namespace forebay
