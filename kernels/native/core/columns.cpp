#include "columns.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "prefetch.hpp"

namespace forebay {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kAhead = 16;
constexpr std::size_t kColumns = 32;  // at once: their lines stay in the first cache

// Rows that fill a line of each column.
template <std::size_t Width>
constexpr std::size_t kRows = kLine / Width;

// Arrays that begin on pages share their place in the first cache, so columns are not written value
// by value: a tile takes a line of each, and lines go out whole.
template <std::size_t Width>
void tile_out(const std::uint8_t* const* rows, std::size_t count, std::size_t known,
              std::size_t columns, std::size_t skip, std::size_t place,
              std::uint8_t* const* outs) noexcept {
  alignas(kLine) std::uint8_t tile[kColumns][kLine];
  for (std::size_t r = 0; r < count; ++r) {
    if (r + kAhead < known) ask_for(rows[r + kAhead] + skip, columns * Width);
    for (std::size_t c = 0; c < columns; ++c)
      std::memcpy(tile[c] + r * Width, rows[r] + skip + c * Width, Width);
  }
  if (count == kRows<Width>) {
    for (std::size_t c = 0; c < columns; ++c) std::memcpy(outs[c] + place * Width, tile[c], kLine);
  } else {
    for (std::size_t c = 0; c < columns; ++c)
      std::memcpy(outs[c] + place * Width, tile[c], count * Width);
  }
}

// Rows in the order of their places, null where there is none.
template <std::size_t Width>
void rows_out(const std::uint8_t* const* rows, std::size_t room, std::size_t columns,
              std::uint8_t* const* outs) noexcept {
  std::size_t at = 0;
  while (at < room) {
    std::size_t count = 0;
    const std::size_t most = std::min(kRows<Width>, room - at);
    while (count < most && rows[at + count] != nullptr) ++count;
    for (std::size_t c = 0; c < columns && count != 0; c += kColumns)
      tile_out<Width>(rows + at, count, room - at, std::min(kColumns, columns - c), c * Width, at,
                      outs + c);
    at += std::max<std::size_t>(count, 1);
  }
}

void rows_out(std::size_t width, const std::uint8_t* const* rows, std::size_t room,
              std::size_t columns, std::uint8_t* const* outs) noexcept {
  switch (width) {
    case 1: return rows_out<1>(rows, room, columns, outs);
    case 2: return rows_out<2>(rows, room, columns, outs);
    case 4: return rows_out<4>(rows, room, columns, outs);
    default: return rows_out<8>(rows, room, columns, outs);
  }
}

// How many columns from `first` on lie side by side in every block.
std::int64_t side_by_side(const ColumnTable& from, std::int64_t first) noexcept {
  std::int64_t last = first + 1;
  for (; last < from.columns; ++last)
    for (std::int64_t b = 0; b < from.blocks; ++b) {
      const FixedBlock& one = from.table[b * from.columns + last - 1];
      const FixedBlock& next = from.table[b * from.columns + last];
      if (next.address != one.address + from.width || next.apart != one.apart) return last - first;
    }
  return last - first;
}

template <std::size_t Width>
void rows_in(const std::uint8_t* const* columns, std::size_t count, std::size_t rows,
             std::uint8_t* out) noexcept {
  // A few rows of all columns at a time: what is written stays near, and each column is read on.
  constexpr std::size_t kTurn = kRows<Width>;
  for (std::size_t at = 0; at < rows; at += kTurn) {
    const std::size_t turn = std::min(kTurn, rows - at);
    for (std::size_t c = 0; c < count; ++c) {
      std::uint8_t* to = out + (at * count + c) * Width;
      const std::uint8_t* from = columns[c] + at * Width;
      for (std::size_t r = 0; r < turn; ++r, to += count * Width, from += Width)
        std::memcpy(to, from, Width);
    }
  }
}

}  // namespace

void interleave(const std::uint8_t* const* columns, std::size_t count, std::size_t rows,
                std::size_t width, std::uint8_t* out) noexcept {
  switch (width) {
    case 1: return rows_in<1>(columns, count, rows, out);
    case 2: return rows_in<2>(columns, count, rows, out);
    case 4: return rows_in<4>(columns, count, rows, out);
    default: return rows_in<8>(columns, count, rows, out);
  }
}

std::int64_t gather_columns(const ColumnTable& from, const Named& named, std::int64_t room,
                            std::uint8_t* const* outs) noexcept {
  const auto blocks = static_cast<std::size_t>(from.blocks);
  const auto places = static_cast<std::size_t>(room);
  const std::unique_ptr<FixedBlock[]> some(new (std::nothrow) FixedBlock[blocks + 1]);
  const std::unique_ptr<const std::uint8_t*[]> rows(new (std::nothrow) const std::uint8_t*[places]);
  if (!some || !rows) return refusal(0, Refusal::no_room);
  // A block has the rows that all of its columns have.
  for (std::size_t b = 0; b < blocks; ++b) {
    const FixedBlock* const all = from.table + b * static_cast<std::size_t>(from.columns);
    some[b] = {0, from.columns != 0 ? all->rows : 0, 0};
    for (std::int64_t c = 1; c < from.columns; ++c) some[b].rows = std::min(some[b].rows, all[c].rows);
  }
  const std::int64_t code = refused(some.get(), from.blocks, named, room);
  if (code >= 0) return code;
  for (std::int64_t first = 0; first < from.columns;) {
    const std::int64_t beside = side_by_side(from, first);
    for (std::size_t b = 0; b < blocks; ++b)
      some[b] = from.table[static_cast<std::int64_t>(b) * from.columns + first];
    if (beside == 1) {
      gather_fixed(some.get(), from.blocks, named, room, from.width, outs[first]);
    } else {
      std::fill_n(rows.get(), places, nullptr);
      for (std::int64_t i = 0; i < named.count; ++i) {
        const FixedBlock& block = some[static_cast<std::size_t>(named.block(i))];
        rows[static_cast<std::size_t>(named.place(i))] =
            reinterpret_cast<const std::uint8_t*>(block.address) +
            static_cast<std::uint64_t>(named.rows[i]) * block.apart;
      }
      rows_out(from.width, rows.get(), places, static_cast<std::size_t>(beside), outs + first);
    }
    first += beside;
  }
  return code;
}

}  // namespace forebay
