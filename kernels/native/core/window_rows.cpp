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

// The last place whose value is at most `row`, looked for around a guess; values ascend, and that
// behind the last is above.
std::int64_t near(const std::int64_t* sorted, std::int64_t guess, std::int64_t count,
                  std::int64_t row) noexcept {
  std::int64_t first = guess, stop = guess + 1, stride = 1;
  while (stop < count && sorted[stop] <= row) {
    first = stop;
    stop = std::min(count, stop + stride);
    stride *= 2;
  }
  stride = 1;
  while (first > 0 && sorted[first] > row) {
    stop = first;
    first = std::max<std::int64_t>(0, first - stride);
    stride *= 2;
  }
  return last_at_most(sorted, first, stop, row);
}

constexpr std::int64_t kTile = 256;

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

// Parts are nearly equal, so where a row lies is nearly proportional. What is guessed for a tile is
// asked for at once: parts may be many, and each row another line of memory.
std::int64_t locate_rows(const std::int64_t* rows, std::int64_t count, Edges starts,
                         std::int64_t* place, std::int64_t* offset) noexcept {
  const std::int64_t total = starts.at[starts.count];
  const double scale = total > 0 ? static_cast<double>(starts.count) / static_cast<double>(total) : 0;
  for (std::int64_t tile = 0; tile < count; tile += kTile) {
    const std::int64_t stop = std::min(count, tile + kTile);
    for (std::int64_t i = tile; i < stop; ++i) {
      if (rows[i] < 0 || rows[i] >= total) return i;
      const auto guess = static_cast<std::int64_t>(static_cast<double>(rows[i]) * scale);
      place[i] = std::min(guess, starts.count - 1);
#if defined(__GNUC__)
      __builtin_prefetch(starts.at + place[i]);
#endif
    }
    for (std::int64_t i = tile; i < stop; ++i) {
      place[i] = near(starts.at, place[i], starts.count, rows[i]);
      if (starts.at[place[i]] > rows[i]) return i;
      offset[i] = rows[i] - starts.at[place[i]];
    }
  }
  return -1;
}

}  // namespace forebay
