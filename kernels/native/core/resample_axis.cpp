#include "resample_axis.hpp"

#include <algorithm>
#include <cmath>

namespace forebay::pixels {
namespace {

struct Triangle {
  double start;
  double scale;
  double reach;
  int in;

  explicit Triangle(const AxisShape& shape) noexcept
      : start(shape.stretch.start),
        scale(shape.scale()),
        reach(std::max(scale, 1.0)),
        in(shape.in) {}

  double centre(int i) const noexcept { return start + (i + 0.5) * scale; }
  Span span(int i) const noexcept {
    const int first = std::max(0, static_cast<int>(centre(i) - reach + 0.5));
    const int last = std::min(in, static_cast<int>(centre(i) + reach + 0.5));
    return {first, std::max(last, first + 1)};
  }
};

}  // namespace

Span needed(const AxisShape& shape) noexcept {
  const Triangle triangle(shape);
  return {triangle.span(shape.offset).first, triangle.span(shape.offset + shape.count - 1).last};
}

int most_taps(const AxisShape& shape) noexcept {
  return std::min(shape.in, 2 * static_cast<int>(std::ceil(Triangle(shape).reach)) + 1);
}

void AxisWeights::build(const AxisShape& shape, int bits, int greatest) {
  const Triangle triangle(shape);
  const double one = static_cast<double>(std::int64_t{1} << bits);
  const double slope = 1.0 / triangle.reach;
  const int origin = triangle.span(shape.offset).first;
  const auto outputs = static_cast<std::size_t>(shape.count);
  taps_ = most_taps(shape);
  count_ = shape.count;
  first_.resize(outputs);
  size_.resize(outputs);
  share_.resize(static_cast<std::size_t>(taps_));
  weights_.assign(outputs * static_cast<std::size_t>(taps_), 0);
  int most = 1;
  for (std::size_t i = 0; i < outputs; ++i) {
    const int output = shape.offset + static_cast<int>(i);
    const Span span = triangle.span(output);
    const double from = span.first + 0.5 - triangle.centre(output);
    const int size = span.last - span.first;
    double sum = 0.0;
    for (int t = 0; t < size; ++t) {
      const double share = std::max(0.0, 1.0 - std::abs((from + t) * slope));
      share_[static_cast<std::size_t>(t)] = share;
      sum += share;
    }
    // Rounding the running sum and not each weight makes them add up to one exactly, so that a
    // flat picture stays as it is, and spreads what is below a unit evenly over many taps.
    const double unit = one / sum;
    double reached = 0.0;
    std::int64_t before = 0;
    std::int32_t* weights = weights_.data() + i * static_cast<std::size_t>(taps_);
    int used = 1;
    for (int t = 0; t < size; ++t) {
      reached += share_[static_cast<std::size_t>(t)];
      const auto after = static_cast<std::int64_t>(reached * unit + 0.5);
      weights[t] = static_cast<std::int32_t>(std::min<std::int64_t>(after - before, greatest));
      before = after;
      if (weights[t] != 0) used = t + 1;
    }
    first_[i] = span.first - origin;
    size_[i] = used;
    most = std::max(most, used);
  }
  // Rows of weights are as far apart as the triangle is wide; the last tap is often zero.
  if (most < taps_) {
    const auto wide = static_cast<std::size_t>(taps_);
    const auto narrow = static_cast<std::size_t>(most);
    for (std::size_t i = 1; i < outputs; ++i)
      std::copy_n(weights_.data() + i * wide, narrow, weights_.data() + i * narrow);
    taps_ = most;
  }
}

}  // namespace forebay::pixels
