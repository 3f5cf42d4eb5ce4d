// Columns that lie row by row, and their way back into arrays. See kernels/columns.py.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gather.hpp"

namespace forebay {

// Value r of column c goes to place r * count + c of `out`; values are `width` bytes: 1, 2, 4 or 8.
void interleave(const std::uint8_t* const* columns, std::size_t count, std::size_t rows,
                std::size_t width, std::uint8_t* out) noexcept;

// Columns by block: column c of block b is table[b * columns + c]; all of `width` bytes.
struct ColumnTable {
  const FixedBlock* table;
  std::int64_t blocks;
  std::int64_t columns;
  std::size_t width;
};

// Copies each row of each column to its place in that column's array of `room` values. Columns that
// lie side by side in every block are taken together: a row of them is a cache line or two, where
// each by itself is one a column. -1, or the first row that is refused, and then nothing was
// written.
std::int64_t gather_columns(const ColumnTable& from, const Named& named, std::int64_t room,
                            std::uint8_t* const* outs) noexcept;

}  // namespace forebay
