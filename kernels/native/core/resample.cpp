#include "resample.hpp"

#include <algorithm>
#include <array>
#include <new>

#include "simd.hpp"

namespace forebay::pixels {
namespace {

bool in_range(Size size) noexcept {
  return size.height > 0 && size.width > 0 && size.height <= kLargestSide &&
         size.width <= kLargestSide;
}

// Whether [first, first + count) is a part of [0, all) and not empty.
bool lies_in(int first, int count, int all) noexcept {
  return first >= 0 && count > 0 && count <= all && first <= all - count;
}

// Writes one row of bytes to row `y`, from column `x` on, of the place. In planar order channels
// lie `pitch` bytes apart.
struct RowStore {
  const ByteValues& values;
  const Place& place;
  int channels;
  bool avx2;

  std::byte* at(std::size_t value) const noexcept {
    return static_cast<std::byte*>(place.data) + value * value_bytes(values.type());
  }

  void put(const std::uint8_t* bytes, std::size_t pitch, int y, int x, int width) const noexcept {
    const auto row = static_cast<std::size_t>(y);
    const auto column = static_cast<std::size_t>(x);
    const auto wide = static_cast<std::size_t>(place.size.width);
    const auto high = static_cast<std::size_t>(place.size.height);
    const auto count = static_cast<std::size_t>(width);
    const auto deep = static_cast<std::size_t>(channels);
    if (place.order == Order::interleaved) {
      values.interleaved(bytes, count * deep, at((row * wide + column) * deep), avx2);
      return;
    }
    for (std::size_t c = 0; c < deep; ++c)
      values.channel(bytes + c * pitch, count, static_cast<int>(c),
                     at((c * high + row) * wide + column), avx2);
  }
};

}  // namespace

bool fits(const Resampling& what, const ByteValues& values, const Place& place) noexcept {
  const Window& window = what.window;
  return (what.channels == 1 || what.channels == 3) && in_range(what.box) && in_range(what.size) &&
         in_range(place.size) && lies_in(window.top, window.height, what.size.height) &&
         lies_in(window.left, window.width, what.size.width) &&
         lies_in(place.top, window.height, place.size.height) &&
         lies_in(place.left, window.width, place.size.width) &&
         (values.channels() == 0 || values.channels() == what.channels);
}

Resampler::Resampler(bool portable) noexcept : avx2_(!portable && has_avx2()) {}

void Resampler::prepare(const Resampling& what) {
  rows_.prepare(what.vertical());
  columns_.prepare(what.horizontal(), what.channels, what.mirrored);
  const Span span = needed(what.horizontal());
  const auto words = static_cast<std::size_t>(span.last - span.first) *
                     static_cast<std::size_t>(what.channels);
  // What lies behind the row's levels is read with a weight of zero.
  if (levels_.size() < std::max(words, columns_.level_words()))
    levels_.resize(std::max(words, columns_.level_words()));
  if (bytes_.size() < columns_.byte_room()) bytes_.resize(columns_.byte_room());
}

Outcome Resampler::run(const Resampling& what, const ByteValues& values,
                       const Place& place) noexcept {
  if (!fits(what, values, place)) return Outcome::bad_shape;
  const Window& window = what.window;
  const RowStore store{values, place, what.channels, avx2_};
  if (what.copies() && !what.mirrored &&
      (place.order == Order::interleaved || what.channels == 1)) {
    for (int y = 0; y < window.height; ++y)
      store.put(what.pixels + y * what.stride, 0, place.top + y, place.left, window.width);
    return Outcome::done;
  }
  try {
    prepare(what);
  } catch (const std::bad_alloc&) {
    return Outcome::no_memory;
  }
  const Span span = needed(what.horizontal());
  const int row_bytes = (span.last - span.first) * what.channels;
  for (int y = 0; y < window.height; ++y) {
    rows_.row(y, what.pixels, what.stride, row_bytes, levels_.data(), avx2_);
    columns_.row(levels_.data(), place.order, bytes_.data(), avx2_);
    store.put(bytes_.data(), static_cast<std::size_t>(columns_.pitch()), place.top + y, place.left,
              window.width);
  }
  return Outcome::done;
}

void fill(const ByteValues& values, const Place& place, int channels) noexcept {
  constexpr int kRun = 255;  // a multiple of three
  static constexpr std::array<std::uint8_t, kRun> zeros{};
  const int wide = place.order == Order::interleaved ? kRun / 3 : kRun;
  const RowStore store{values, place, channels, has_avx2()};
  for (int y = 0; y < place.size.height; ++y)
    for (int x = 0; x < place.size.width; x += wide)
      store.put(zeros.data(), 0, y, x, std::min(wide, place.size.width - x));
}

}  // namespace forebay::pixels
