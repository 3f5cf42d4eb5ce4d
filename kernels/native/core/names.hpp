// How gathering kernels name rows, and why they refuse one. See kernels/spans.py.
#pragma once

#include <cstdint>

namespace forebay {

// Which rows go where; `which` null where all are of block 0, `places` null for 0, 1, 2, ...
struct Named {
  const std::int64_t* which;
  const std::int64_t* rows;
  const std::int64_t* places;
  std::int64_t count;

  std::int64_t block(std::int64_t i) const noexcept { return which ? which[i] : 0; }
  std::int64_t place(std::int64_t i) const noexcept { return places ? places[i] : i; }
};

enum class Refusal : std::int64_t { no_block, no_row, no_span, no_place, no_room };

// What a kernel returns for row i that it refuses; -1 stands for none.
constexpr std::int64_t refusal(std::int64_t i, Refusal why) noexcept {
  return 8 * i + static_cast<std::int64_t>(why);
}

// The first row that is in no block or has no place among `room`, as `refusal` tells it; -1 for
// none. `Block` has its number of rows in `rows`.
template <class Block>
std::int64_t refused(const Block* blocks, std::int64_t count, const Named& named,
                     std::int64_t room) noexcept {
  for (std::int64_t i = 0; i < named.count; ++i) {
    const std::int64_t block = named.block(i);
    if (block < 0 || block >= count) return refusal(i, Refusal::no_block);
    const std::int64_t row = named.rows[i];
    if (row < 0 || static_cast<std::uint64_t>(row) >= blocks[block].rows)
      return refusal(i, Refusal::no_row);
  }
  if (!named.places) return named.count <= room ? -1 : refusal(room, Refusal::no_place);
  for (std::int64_t i = 0; i < named.count; ++i)
    if (named.places[i] < 0 || named.places[i] >= room) return refusal(i, Refusal::no_place);
  return -1;
}

}  // namespace forebay
