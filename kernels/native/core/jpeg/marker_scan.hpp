// Finds markers in entropy-coded data, a vector at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay::jpeg {

enum class ScanStop : std::uint8_t {
  data_end,   // no other marker up to the end of the data
  other,      // a marker that is no RST
  disorder,   // an RST whose number is not the next one
  full,       // `capacity` markers were found
};

struct RestartScan {
  std::size_t count;  // RST markers found and written
  std::size_t stop;   // offset of the 0xFF of the marker that ended the scan; size at data_end
  ScanStop why;
};

// Writes the offsets (of the byte 0xFF) of the RST markers in [from, size) of `data` to `out`, in
// order, as long as their numbers go up by one modulo 8, the first of them being `number`. A marker
// is 0xFF and a byte that is neither 0 (a stuffed data byte) nor 0xFF (fill before a marker); T.81,
// B.1.1.2 and B.1.1.5. Offsets are 32 bits wide: `size` must be below 2^32.
RestartScan scan_restarts(const std::uint8_t* data, std::size_t size, std::size_t from,
                          unsigned number, std::uint32_t* out, std::size_t capacity) noexcept;

// Offset of the first marker in [from, size) that is no RST, or `size`.
std::size_t find_scan_end(const std::uint8_t* data, std::size_t size, std::size_t from) noexcept;

// The same on each machine's plainest instructions, for tests.
RestartScan scan_restarts_portable(const std::uint8_t* data, std::size_t size, std::size_t from,
                                   unsigned number, std::uint32_t* out,
                                   std::size_t capacity) noexcept;

// "avx2", "sse2" or "portable": what scan_restarts runs on in this process.
const char* marker_scan_backend() noexcept;

}  // namespace forebay::jpeg
