// Where positions of a window order lie. Lanes, windows and rows: dataloader/plan/window.py.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

// Ascending first rows of `count` parts, and the total behind them.
struct Edges {
  const std::int64_t* at;
  std::int64_t count;
};

struct Shuffled {
  std::int64_t bad;      // number of the first position that does not exist, or -1
  std::int64_t missing;  // windows without a table, written
  std::int64_t large;    // positions in windows too large for one
};

constexpr std::uint64_t kMissing = 0, kLarge = 1;

// Of each position its window and its row in the epoch's order; `out` is three rows of `count`:
// windows, rows, missing windows. `tables` has the address of each window's shuffle (uint16, one a
// row of it, alive and so long), or kMissing or kLarge. `present`: one a lane, for the walk's use.
// Lanes and windows must have the same total; there must be a lane, and a window if any rows.
Shuffled shuffle_positions(const std::int64_t* positions, std::int64_t count, Edges lanes,
                           Edges windows, const std::uint64_t* tables, std::int64_t* present,
                           std::int64_t* out) noexcept;

// Block and row in it of each row of the epoch's order. `edges` has the place in `starts` at which
// each of `windows` windows begins, and the number of blocks. The number of the first row that
// lies in no block of its window, or -1; rows behind it are not written.
std::int64_t place_rows(const std::int64_t* window, std::int64_t count, Edges edges, Edges starts,
                        const std::int64_t* blocks, std::int64_t* row,
                        std::int64_t* block) noexcept;

// Of each row the part of `starts` that it lies in, and how far from that part's begin. The number of
// the first row that lies in none, or -1; rows behind it are not written.
std::int64_t locate_rows(const std::int64_t* rows, std::int64_t count, Edges starts,
                         std::int64_t* place, std::int64_t* offset) noexcept;

}  // namespace forebay
