#include "ragged.hpp"

#include <algorithm>
#include <cstring>

#include "prefetch.hpp"

namespace forebay {
namespace {

// Rows ahead of the one at work that are asked for: a miss of the cache costs as much as all the
// rest of a row.
constexpr std::int64_t kSpansAhead = 12, kRowsAhead = 8;

std::int64_t number_at(std::uint64_t numbers, std::int64_t i) noexcept {
  std::int64_t number;
  std::memcpy(&number, reinterpret_cast<const std::uint8_t*>(numbers) + 8 * i, sizeof number);
  return number;
}

const std::uint8_t* bytes_of(const Found& rows, std::int64_t i) noexcept {
  return reinterpret_cast<const std::uint8_t*>(rows.address[i]);
}

bool fits(std::int64_t start, std::int64_t width, std::int64_t room) noexcept {
  return start >= 0 && width >= 0 && width <= room && start <= room - width;
}

template <class T>
void fill(std::uint8_t* out, std::size_t count, std::uint64_t value) noexcept {
  const T one = static_cast<T>(value);
  for (std::size_t j = 0; j < count; ++j) std::memcpy(out + j * sizeof(T), &one, sizeof one);
}

void pad_with(std::uint8_t* out, std::size_t count, std::size_t itemsize,
              std::uint64_t value) noexcept {
  if (value == 0) {
    std::memset(out, 0, count * itemsize);
    return;
  }
  switch (itemsize) {
    case 1: return fill<std::uint8_t>(out, count, value);
    case 2: return fill<std::uint16_t>(out, count, value);
    case 4: return fill<std::uint32_t>(out, count, value);
    default: return fill<std::uint64_t>(out, count, value);
  }
}

}  // namespace

std::int64_t find_ragged(const RaggedBlock* blocks, std::int64_t count, const Named& named,
                         std::size_t itemsize, std::uint64_t* address,
                         std::int64_t* lengths) noexcept {
  const std::int64_t code = refused(blocks, count, named, named.count);
  if (code >= 0) return code;
  for (std::int64_t i = 0; i < named.count; ++i) {
    if (const std::int64_t next = i + kSpansAhead; next < named.count) {
      const RaggedBlock& ahead = blocks[named.block(next)];
      const auto skip = 8 * static_cast<std::uint64_t>(named.rows[next]);
      ask_for(reinterpret_cast<const std::uint8_t*>(ahead.starts + skip), 1);
      ask_for(reinterpret_cast<const std::uint8_t*>(ahead.lengths + skip), 1);
    }
    const RaggedBlock& block = blocks[named.block(i)];
    const std::int64_t start = number_at(block.starts, named.rows[i]);
    const std::int64_t length = number_at(block.lengths, named.rows[i]);
    if (!fits(start, length, static_cast<std::int64_t>(block.values)))
      return refusal(i, Refusal::no_span);
    address[i] = block.address + static_cast<std::uint64_t>(start) * itemsize;
    lengths[i] = length;
  }
  return -1;
}

std::int64_t copy_ragged(const Found& rows, const std::int64_t* starts, std::uint8_t* out,
                         std::int64_t room) noexcept {
  for (std::int64_t i = 0; i < rows.count; ++i)
    if (!fits(starts[i], rows.lengths[i], room)) return refusal(i, Refusal::no_room);
  for (std::int64_t i = 0; i < rows.count; ++i) {
    if (const std::int64_t next = i + kRowsAhead; next < rows.count)
      ask_for(bytes_of(rows, next), static_cast<std::size_t>(rows.lengths[next]) * rows.itemsize);
    if (const auto nbytes = static_cast<std::size_t>(rows.lengths[i]) * rows.itemsize)
      std::memcpy(out + static_cast<std::size_t>(starts[i]) * rows.itemsize, bytes_of(rows, i),
                  nbytes);
  }
  return -1;
}

std::int64_t pad_ragged(const Found& rows, const std::int64_t* starts, const std::int64_t* widths,
                        const Padding& padding, std::uint8_t* out, std::int64_t room) noexcept {
  for (std::int64_t i = 0; i < rows.count; ++i)
    if (!fits(starts[i], widths[i], room)) return refusal(i, Refusal::no_room);
  const auto kept = [&](std::int64_t i) {
    return static_cast<std::size_t>(std::min(rows.lengths[i], widths[i]));
  };
  for (std::int64_t i = 0; i < rows.count; ++i) {
    if (const std::int64_t next = i + kRowsAhead; next < rows.count) {
      ask_for(bytes_of(rows, next), kept(next) * rows.itemsize);
      // What is written is fetched too, and rows in the order of blocks go anywhere.
      ask_for(out + static_cast<std::size_t>(starts[next]) * rows.itemsize,
              static_cast<std::size_t>(widths[next]) * rows.itemsize);
    }
    const std::size_t size = kept(i), blank = static_cast<std::size_t>(widths[i]) - size;
    std::uint8_t* const row = out + static_cast<std::size_t>(starts[i]) * rows.itemsize;
    std::uint8_t* const values = padding.left ? row + blank * rows.itemsize : row;
    if (size) std::memcpy(values, bytes_of(rows, i), size * rows.itemsize);
    if (blank)
      pad_with(padding.left ? row : row + size * rows.itemsize, blank, rows.itemsize,
               padding.fill);
  }
  return -1;
}

}  // namespace forebay
