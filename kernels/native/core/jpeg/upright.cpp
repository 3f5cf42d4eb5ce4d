#include "upright.hpp"

#include <cstring>

namespace forebay::jpeg {
namespace {

// Upright (y, x) is stored (y, x) with the axes exchanged first and then counted from the far end.
struct Turn {
  bool transposed, from_bottom, from_right;
};

// From bottom and from right are said of the stored image. 2 mirrors, 3 turns by 180 degrees, 4
// flips, 5 transposes, 6 turns by 90 degrees clockwise, 7 transposes over the other diagonal, 8
// turns by 90 degrees counter-clockwise.
constexpr Turn turn_of(unsigned orientation) noexcept {
  switch (orientation) {
    case 2: return {false, false, true};
    case 3: return {false, true, true};
    case 4: return {false, true, false};
    case 5: return {true, false, false};
    case 6: return {true, true, false};
    case 7: return {true, true, true};
    case 8: return {true, false, true};
    default: return {false, false, false};
  }
}

}  // namespace

Window stored_window(const Window& upright, unsigned orientation, std::uint32_t stored_height,
                     std::uint32_t stored_width) noexcept {
  const Turn turn = turn_of(orientation);
  Window w = upright;
  if (turn.transposed) w = {upright.left, upright.top, upright.width, upright.height};
  if (turn.from_bottom) w.top = stored_height - w.top - w.height;
  if (turn.from_right) w.left = stored_width - w.left - w.width;
  return w;
}

void turn_upright(const Pixels& stored, unsigned orientation, std::uint8_t* out) noexcept {
  const Turn turn = turn_of(orientation);
  const std::uint32_t height = turn.transposed ? stored.width : stored.height;
  const std::uint32_t width = turn.transposed ? stored.height : stored.width;
  const std::size_t channels = stored.channels;
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      std::uint32_t row = turn.transposed ? x : y;
      std::uint32_t column = turn.transposed ? y : x;
      if (turn.from_bottom) row = stored.height - 1 - row;
      if (turn.from_right) column = stored.width - 1 - column;
      std::memcpy(out, stored.row(row) + column * channels, channels);
      out += channels;
    }
  }
}

}  // namespace forebay::jpeg
