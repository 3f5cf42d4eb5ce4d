#include "gather.hpp"

#include <algorithm>
#include <cstring>

namespace forebay {
namespace {

constexpr std::int64_t kNoBlock = 0, kNoRow = 1, kNoPlace = 3;
constexpr std::int64_t kAhead = 8;
constexpr std::size_t kLine = 64, kMost = 512;

std::int64_t refused(const FixedBlock* blocks, std::int64_t count, const Named& named,
                     std::int64_t room) noexcept {
  for (std::int64_t i = 0; i < named.count; ++i) {
    const std::int64_t block = named.which ? named.which[i] : 0;
    if (block < 0 || block >= count) return 8 * i + kNoBlock;
    const std::int64_t row = named.rows[i];
    if (row < 0 || static_cast<std::uint64_t>(row) >= blocks[block].rows) return 8 * i + kNoRow;
  }
  if (!named.places) return named.count <= room ? -1 : 8 * room + kNoPlace;
  for (std::int64_t i = 0; i < named.count; ++i)
    if (named.places[i] < 0 || named.places[i] >= room) return 8 * i + kNoPlace;
  return -1;
}

inline void ask_for([[maybe_unused]] const std::uint8_t* row,
                    [[maybe_unused]] std::size_t width) noexcept {
#if defined(__GNUC__)
  // The first lines of a long row: the processor guesses the rest.
  for (std::size_t skip = 0; skip < std::min(width, kMost); skip += kLine)
    __builtin_prefetch(row + skip);
#endif
}

// A copy whose size the compiler knows (`Width`, else 0) is a load and a store, not a call.
template <std::size_t Width>
void copy(const FixedBlock* blocks, const Named& named, std::size_t width,
          std::uint8_t* out) noexcept {
  const std::size_t size = Width ? Width : width;
  const auto source = [&](std::int64_t i) {
    const FixedBlock& block = blocks[named.which ? named.which[i] : 0];
    return reinterpret_cast<const std::uint8_t*>(block.address) +
           static_cast<std::uint64_t>(named.rows[i]) * block.apart;
  };
  for (std::int64_t i = 0; i < named.count; ++i) {
    if (i + kAhead < named.count) ask_for(source(i + kAhead), size);
    const std::int64_t place = named.places ? named.places[i] : i;
    std::memcpy(out + static_cast<std::size_t>(place) * size, source(i), size);
  }
}

}  // namespace

std::int64_t gather_fixed(const FixedBlock* blocks, std::int64_t count, const Named& named,
                          std::int64_t room, std::size_t width, std::uint8_t* out) noexcept {
  const std::int64_t code = refused(blocks, count, named, room);
  if (code >= 0 || width == 0) return code;
  switch (width) {
    case 1: copy<1>(blocks, named, width, out); break;
    case 2: copy<2>(blocks, named, width, out); break;
    case 4: copy<4>(blocks, named, width, out); break;
    case 8: copy<8>(blocks, named, width, out); break;
    default: copy<0>(blocks, named, width, out);
  }
  return code;
}

}  // namespace forebay
