// Tests of the resampling core alone, without Python: exits 0, or prints each failure and exits 1.
// Run under AddressSanitizer they prove that only the needed pixels are read: buffers are exact.
#include "../core/resample.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace forebay::pixels;

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

std::mt19937 engine(11);

int between(int low, int high) {
  return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
}

std::vector<std::uint8_t> noise(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  // Extremes are where sums overflow.
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(engine() % 3 == 0 ? 255 : engine());
  return bytes;
}

std::size_t area(int height, int width, int channels) {
  return static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
         static_cast<std::size_t>(channels);
}

// The needed part of a box in a buffer of exactly its size, rows `gap` bytes apart.
struct Cut {
  std::vector<std::uint8_t> bytes;
  std::ptrdiff_t stride;

  Cut(const std::vector<std::uint8_t>& box, const Resampling& what, int gap) {
    const Span rows = needed(what.vertical());
    const Span columns = needed(what.horizontal());
    const int width = (columns.last - columns.first) * what.channels;
    const int height = rows.last - rows.first;
    stride = width + gap;
    bytes.assign(static_cast<std::size_t>(height) * static_cast<std::size_t>(stride) -
                     static_cast<std::size_t>(gap),
                 0xAA);
    for (int y = 0; y < height; ++y)
      std::memcpy(bytes.data() + y * stride,
                  box.data() + ((rows.first + y) * what.box.width + columns.first) * what.channels,
                  static_cast<std::size_t>(width));
  }
};

// The triangle in double precision over both axes at once: no rounding before the end.
double exact(const std::vector<std::uint8_t>& box, const Resampling& what, int y, int x, int c) {
  const auto weight = [](int in, int out, int i, int t) {
    const double scale = static_cast<double>(in) / out;
    const double reach = scale > 1.0 ? scale : 1.0;
    const double share = 1.0 - std::abs((t + 0.5 - (i + 0.5) * scale) / reach);
    return share > 0.0 ? share : 0.0;
  };
  const Span rows = needed({what.box.height, what.size.height, y, 1});
  const Span columns = needed({what.box.width, what.size.width, x, 1});
  double sum = 0.0;
  double total = 0.0;
  for (int r = rows.first; r < rows.last; ++r)
    for (int k = columns.first; k < columns.last; ++k) {
      const double w = weight(what.box.height, what.size.height, y, r) *
                       weight(what.box.width, what.size.width, x, k);
      const auto at = static_cast<std::size_t>((r * what.box.width + k) * what.channels + c);
      sum += w * box[at];
      total += w;
    }
  return sum / total;
}

Resampling random_case(int largest) {
  const int channels = between(0, 2) == 0 ? 1 : 3;
  const Size box{between(1, largest), between(1, largest)};
  const Size size = between(0, 9) == 0 ? box : Size{between(1, 90), between(1, 90)};
  const int height = between(1, size.height);
  const int width = between(1, size.width);
  return {nullptr,
          0,
          channels,
          box,
          size,
          {between(0, size.height - height), between(0, size.width - width), height, width},
          between(0, 1) == 1};
}

std::string name_of(const Resampling& what) {
  return std::to_string(what.box.height) + "x" + std::to_string(what.box.width) + "x" +
         std::to_string(what.channels) + " to " + std::to_string(what.size.height) + "x" +
         std::to_string(what.size.width) + " window " + std::to_string(what.window.top) + "," +
         std::to_string(what.window.left) + "," + std::to_string(what.window.height) + "," +
         std::to_string(what.window.width) + (what.mirrored ? " mirrored" : "");
}

void near_the_exact_value_on_both_paths() {
  Resampler vectors;
  Resampler portable(true);
  for (int turn = 0; turn < 600; ++turn) {
    Resampling what = random_case(turn % 3 == 0 ? 1500 : 150);
    const auto box = noise(area(what.box.height, what.box.width, what.channels));
    const Cut cut(box, what, between(0, 2) * 5);
    what.pixels = cut.bytes.data();
    what.stride = cut.stride;
    const Window& w = what.window;
    std::vector<std::uint8_t> out(area(w.height, w.width, what.channels), 7);
    std::vector<std::uint8_t> twin(out.size(), 9);
    const Order order = between(0, 1) == 1 ? Order::planar : Order::interleaved;
    const Place place{out.data(), {w.height, w.width}, 0, 0, order};
    const Place other{twin.data(), {w.height, w.width}, 0, 0, order};
    expect(vectors.run(what, ByteValues(), place) == Outcome::done, name_of(what));
    expect(portable.run(what, ByteValues(), other) == Outcome::done, name_of(what));
    expect(out == twin, "paths differ: " + name_of(what));
    for (int probe = 0; probe < 8; ++probe) {
      const int y = between(0, w.height - 1);
      const int x = between(0, w.width - 1);
      const int c = between(0, what.channels - 1);
      const int column = w.left + (what.mirrored ? w.width - 1 - x : x);
      const double value = exact(box, what, w.top + y, column, c);
      const int at = order == Order::planar ? (c * w.height + y) * w.width + x
                                            : (y * w.width + x) * what.channels + c;
      const double got = out[static_cast<std::size_t>(at)];
      expect(std::abs(got - value) < 0.56, name_of(what) + ": " + std::to_string(got) +
                                               " for " + std::to_string(value));
    }
  }
}

void flat_stays_flat() {
  Resampler resampler;
  for (int level = 0; level < 256; level += 5) {
    const Size box{between(1, 700), between(1, 700)};
    const Size size{between(1, 60), between(1, 60)};
    const std::vector<std::uint8_t> pixels(area(box.height, box.width, 3),
                                           static_cast<std::uint8_t>(level));
    std::vector<std::uint8_t> out(area(size.height, size.width, 3));
    const Resampling what{pixels.data(), 3 * std::ptrdiff_t{box.width}, 3,     box,
                          size,          {0, 0, size.height, size.width}, false};
    expect(resampler.run(what, ByteValues(), {out.data(), size, 0, 0, Order::planar}) ==
               Outcome::done,
           "flat");
    for (const auto byte : out) expect(byte == level, "flat level " + std::to_string(level));
  }
}

std::vector<float> table_of(int channels, double mean, double deviation) {
  std::vector<float> table;
  for (int c = 0; c < channels; ++c)
    for (int v = 0; v < 256; ++v)
      table.push_back(static_cast<float>((v / 255.0 - mean - 0.03 * c) / (deviation + 0.01 * c)));
  return table;
}

template <class Value>
void check_values(const std::vector<float>& table, int channels, ValueType type, Value (*of)(float),
                  const std::string& name) {
  const ByteValues values(table.data(), channels, type);
  constexpr std::size_t kCounts[] = {1, 23, 24, 767, 768};
  for (const std::size_t count : kCounts) {
    std::vector<std::uint8_t> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 37);
    for (const bool fast : {true, false}) {
      std::vector<Value> out(count);
      values.interleaved(bytes.data(), count, out.data(), fast);
      bool same = true;
      for (std::size_t i = 0; i < count; ++i) {
        const Value want = of(table[256 * (i % static_cast<std::size_t>(channels)) + bytes[i]]);
        same = same && std::memcmp(&want, &out[i], sizeof want) == 0;
      }
      expect(same, name + ", interleaved, " + std::to_string(count));
      for (int c = 0; c < channels; ++c) {
        values.channel(bytes.data(), count, c, out.data(), fast);
        same = true;
        for (std::size_t i = 0; i < count; ++i) {
          const Value want = of(table[256 * static_cast<std::size_t>(c) + bytes[i]]);
          same = same && std::memcmp(&want, &out[i], sizeof want) == 0;
        }
        expect(same, name + ", channel " + std::to_string(c));
      }
    }
  }
}

void values_are_the_tables() {
  std::vector<float> rough(768);
  for (auto& value : rough) {
    value = std::ldexp(static_cast<float>(between(-999, 999)), between(-40, 20));
  }
  rough[3] = INFINITY;
  rough[4] = NAN;
  rough[5] = -0.0f;
  for (const int channels : {1, 3}) {
    const auto usual = table_of(channels, 0.485, 0.229);
    const auto plain = table_of(channels, 0.0, 1.0);
    for (const auto& table : {usual, plain, rough}) {
      const auto same = [](float v) { return v; };
      check_values<float>(table, channels, ValueType::f32, same, "float32");
      check_values<std::uint16_t>(table, channels, ValueType::f16, to_float16, "float16");
      check_values<std::uint16_t>(table, channels, ValueType::bf16, to_bfloat16, "bfloat16");
    }
  }
}

// Rounding of halves, from the definitions in IEEE 754-2008 3.4 and 4.3.1.
void halves_round_to_even() {
  const struct {
    float value;
    std::uint16_t half;
    std::uint16_t brain;
  } cases[] = {
      {0.0f, 0x0000, 0x0000},        {-0.0f, 0x8000, 0x8000},
      {1.0f, 0x3C00, 0x3F80},        {-2.0f, 0xC000, 0xC000},
      {65504.0f, 0x7BFF, 0x4780},    {65519.996f, 0x7BFF, 0x4780},
      {65520.0f, 0x7C00, 0x4780},    {0x1p-14f, 0x0400, 0x3880},
      {0x1p-24f, 0x0001, 0x3380},    {0x1p-25f, 0x0000, 0x3300},
      {0x1.8p-24f, 0x0002, 0x33C0},  {0x1.002p0f, 0x3C00, 0x3F80},
      {0x1.006p0f, 0x3C02, 0x3F80},  {0x1.01p0f, 0x3C04, 0x3F80},
      {0x1.03p0f, 0x3C0C, 0x3F82},   {INFINITY, 0x7C00, 0x7F80},
      {0x1.ffffp127f, 0x7C00, 0x7F80}, {0x1.ffap-15f, 0x03FF, 0x3880},
      {0x1.ffcp-15f, 0x0400, 0x3880},
  };
  for (const auto& c : cases) {
    expect(to_float16(c.value) == c.half, "float16 of " + std::to_string(c.value));
    expect(to_bfloat16(c.value) == c.brain, "bfloat16 of " + std::to_string(c.value));
  }
  expect((to_float16(NAN) & 0x7FFF) > 0x7C00 && (to_bfloat16(NAN) & 0x7FFF) > 0x7F80, "NaN");
}

void places_are_kept_apart() {
  const auto table = table_of(3, 0.4, 0.2);
  const auto box = noise(area(40, 50, 3));
  Resampler resampler;
  for (const auto order : {Order::planar, Order::interleaved}) {
    const ByteValues values(table.data(), 3, ValueType::f32);
    std::vector<float> out(area(30, 33, 3), -99.0f);
    const Place place{out.data(), {30, 33}, 5, 6, order};
    const Resampling what{box.data(), 150, 3, {40, 50}, {20, 25}, {0, 0, 20, 25}, true};
    expect(resampler.run(what, values, place) == Outcome::done, "placed");
    std::size_t untouched = 0;
    for (const float value : out) untouched += value == -99.0f ? 1 : 0;
    expect(untouched == area(30, 33, 3) - area(20, 25, 3), "nothing beside the window is written");
    fill(values, place, 3);
    for (int c = 0; c < 3; ++c) {
      const float zero = table[static_cast<std::size_t>(256 * c)];
      const auto channel = static_cast<std::size_t>(c);
      const std::size_t first = order == Order::planar ? area(30, 33, c) : channel;
      expect(out[first] == zero && out[first + (order == Order::planar ? 989 : 2967)] == zero,
             "filled with byte 0");
    }
  }
}

void bad_shapes_are_refused() {
  const auto box = noise(area(10, 10, 3));
  std::vector<std::uint8_t> out(area(8, 8, 3));
  Resampler resampler;
  const Resampling good{box.data(), 30, 3, {10, 10}, {8, 8}, {0, 0, 8, 8}, false};
  const Place place{out.data(), {8, 8}, 0, 0, Order::planar};
  expect(resampler.run(good, ByteValues(), place) == Outcome::done, "good");
  const auto refused = [&](const Resampling& what, const Place& where, const char* name) {
    expect(resampler.run(what, ByteValues(), where) == Outcome::bad_shape, name);
  };
  Resampling what = good;
  what.channels = 4;
  refused(what, place, "four channels");
  what = good;
  what.box.height = 0;
  refused(what, place, "empty box");
  what = good;
  what.size.width = kLargestSide + 1;
  refused(what, place, "wide size");
  for (const Window window : {Window{-1, 0, 8, 8}, Window{0, 1, 8, 8}, Window{0, 0, 0, 8},
                              Window{0, 0, 9, 8}, Window{1 << 30, 0, 1 << 30, 1}}) {
    what = good;
    what.window = window;
    refused(what, place, "window");
  }
  Place small = place;
  small.left = 1;
  refused(good, small, "outside the place");
  const auto table = table_of(1, 0.4, 0.2);
  const ByteValues grey(table.data(), 1, ValueType::f32);
  expect(resampler.run(good, grey, place) == Outcome::bad_shape, "values of one channel");
}

}  // namespace

int main() {
  near_the_exact_value_on_both_paths();
  flat_stays_flat();
  values_are_the_tables();
  halves_round_to_even();
  places_are_kept_apart();
  bad_shapes_are_refused();
  if (failures == 0) std::printf("resample: all passed\n");
  return failures == 0 ? 0 : 1;
}
