// Rows of fixed size out of many blocks, each to its own place. See kernels/gather.py.
#pragma once

#include <cstddef>
#include <cstdint>

#include "names.hpp"

namespace forebay {

// Blocks by address, with the bytes from one row to the next: no less than `width`, which rows have.
struct FixedBlock {
  std::uint64_t address;
  std::uint64_t rows;
  std::uint64_t apart;
};
static_assert(sizeof(FixedBlock) == 24, "Python makes the table: three uint64 a block");

// Copies each row to its place in `out` of `room` rows. -1, or the first row that is
// refused, and then nothing was written.
std::int64_t gather_fixed(const FixedBlock* blocks, std::int64_t count, const Named& named,
                          std::int64_t room, std::size_t width, std::uint8_t* out) noexcept;

}  // namespace forebay
