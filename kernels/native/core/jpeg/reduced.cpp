#include "reduced.hpp"

#include <utility>

#include "upright.hpp"

namespace forebay::jpeg {
namespace {

unsigned denominator_of(const Window& box, pixels::Size size) noexcept {
  const auto rows = static_cast<std::uint64_t>(size.height);
  const auto columns = static_cast<std::uint64_t>(size.width);
  unsigned d = 8;
  while (d > 1 && (box.height < d * rows || box.width < d * columns)) d /= 2;
  return d;
}

// Narrows [first, first + count) of an axis to the reduced pixels that it covers, and says where in
// them it lies, counted from the end if `turned`.
pixels::Stretch reduce(std::uint32_t& first, std::uint32_t& count, unsigned d,
                       bool turned) noexcept {
  const double begin = static_cast<double>(first) / d;
  const double end = static_cast<double>(first + count) / d;
  const std::uint32_t stop = reduced_side(first + count, d);
  first /= d;
  count = stop - first;
  return {turned ? stop - end : begin - first, end - begin};
}

// Turning by 90 degrees is undone by turning the other way; the rest undo themselves.
constexpr unsigned undone(unsigned orientation) noexcept {
  return orientation == 6 ? 8u : orientation == 8 ? 6u : orientation;
}

}  // namespace

Reduced reduced_box(const Header& header, const Window& box, pixels::Size size) noexcept {
  const unsigned d = denominator_of(box, size);
  if (d == 1) return {1, box};
  // Pixels of the reduced image are counted from the stored image's corner.
  const unsigned orientation = header.orientation;
  Window stored = stored_window(box, orientation, header.height, header.width);
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 ||
                           orientation == 7;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 ||
                          orientation == 8;
  pixels::Stretch rows = reduce(stored.top, stored.height, d, from_bottom);
  pixels::Stretch columns = reduce(stored.left, stored.width, d, from_right);
  std::uint32_t high = reduced_side(header.height, d);
  std::uint32_t wide = reduced_side(header.width, d);
  if (is_transposed(orientation)) {
    std::swap(rows, columns);
    std::swap(high, wide);
  }
  return {d, stored_window(stored, undone(orientation), high, wide), rows, columns};
}

}  // namespace forebay::jpeg
