#include "window_rows.hpp"

#include <algorithm>

namespace forebay {
namespace {

// The last of places [first, stop) whose value is at most `row`; `first` where none is.
std::int64_t last_at_most(const std::int64_t* sorted, std::int64_t first, std::int64_t stop,
                          std::int64_t row) noexcept {
  while (stop - first > 1) {
    const std::int64_t middle = first + (stop - first) / 2;
    if (sorted[middle] <= row)
      first = middle;
    else
      stop = middle;
  }
  return first;
}

}  // namespace

Shuffled shuffle_positions(const std::int64_t* positions, std::int64_t count, Edges lanes,
                           Edges windows, const std::uint64_t* tables, std::int64_t* present,
                           std::int64_t* out) noexcept {
  Shuffled found{-1, 0, 0};
  const std::int64_t total = lanes.at[lanes.count];
  const auto turns = static_cast<std::uint64_t>(lanes.count);
  std::fill(present, present + lanes.count, std::int64_t{-1});
  for (std::int64_t i = 0; i < count; ++i) {
    if (positions[i] < 0 || positions[i] >= total) {
      found.bad = i;
      return found;
    }
    const auto position = static_cast<std::uint64_t>(positions[i]);
    const std::uint64_t step = position / turns, lane = position - step * turns;
    std::int64_t row = lanes.at[lane] + static_cast<std::int64_t>(step);
    std::int64_t window = present[lane];
    if (window < 0 || row < windows.at[window] || row >= windows.at[window + 1]) {
      window = last_at_most(windows.at, 0, windows.count, row);
      // Only edges that do not ascend, or lanes of other sizes than the plan's, lead out of it.
      if (row < windows.at[window] || row >= windows.at[window + 1]) {
        found.bad = i;
        return found;
      }
      present[lane] = window;
      if (tables[window] == kMissing) out[2 * count + found.missing++] = window;
    }
    out[i] = window;
    const std::uint64_t table = tables[window];
    const std::int64_t first = windows.at[window];
    if (table > kLarge)
      row = first + reinterpret_cast<const std::uint16_t*>(table)[row - first];
    else if (table == kLarge)
      ++found.large;
    out[count + i] = row;
  }
  return found;
}

std::int64_t place_rows(const std::int64_t* window, std::int64_t count, Edges edges, Edges starts,
                        const std::int64_t* blocks, std::int64_t* row,
                        std::int64_t* block) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    if (window[i] < 0 || window[i] >= edges.count) return i;
    const std::int64_t first = edges.at[window[i]];
    // A window ends in the block that the next one begins in, where that is in its middle.
    const std::int64_t stop = std::min(edges.at[window[i] + 1] + 1, starts.count);
    if (first < 0 || first >= stop) return i;
    const std::int64_t place = last_at_most(starts.at, first, stop, row[i]);
    block[i] = blocks[place];
    row[i] -= starts.at[place];
  }
  return -1;
}

}  // namespace forebay
