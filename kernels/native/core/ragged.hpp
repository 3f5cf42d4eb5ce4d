// Rows of differing size out of many blocks: where each lies, then copied or padded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "names.hpp"

namespace forebay {

// A block by address: `values` elements, and for each row the first of them and how many, as int64
// of any alignment.
struct RaggedBlock {
  std::uint64_t address;
  std::uint64_t values;
  std::uint64_t rows;
  std::uint64_t starts;
  std::uint64_t lengths;
};
static_assert(sizeof(RaggedBlock) == 40, "Python makes the table: five uint64 a block");

// Rows that were found: `count` addresses, and lengths in elements of `itemsize` bytes.
struct Found {
  const std::uint64_t* address;
  const std::int64_t* lengths;
  std::int64_t count;
  std::size_t itemsize;
};

// Writes each row's address and length, whatever its place. -1, or the first row that is refused,
// and then what was written means nothing.
std::int64_t find_ragged(const RaggedBlock* blocks, std::int64_t count, const Named& named,
                         std::size_t itemsize, std::uint64_t* address,
                         std::int64_t* lengths) noexcept;

// Copies row i to element starts[i] of `out`, which has `room` elements. -1, or the first row that
// does not fit, and then nothing was written.
std::int64_t copy_ragged(const Found& rows, const std::int64_t* starts, std::uint8_t* out,
                         std::int64_t room) noexcept;

// The value of an element that pads, as its bytes, and whether rows are padded before their values.
struct Padding {
  std::uint64_t fill;
  bool left;
};

// Fills widths[i] elements from starts[i] on with row i, cut to them, and the padding. An address of
// a row of length 0 is not read. `itemsize` is 1, 2, 4 or 8. Returns as `copy_ragged`.
std::int64_t pad_ragged(const Found& rows, const std::int64_t* starts, const std::int64_t* widths,
                        const Padding& padding, std::uint8_t* out, std::int64_t room) noexcept;

}  // namespace forebay
