// Tests of the decoder without Python: exits 0, or prints the first failures and exits 1.
#include "../../core/jpeg/decode.hpp"

#include <cstring>
#include <thread>

#include "made_jpeg.hpp"

using namespace forebay::jpeg;
using namespace forebay::jpeg::tests;

namespace {

Decoder shared;

bool same(const Pixels& got, const Whole& whole, const Window& w) {
  if (got.height != w.height || got.width != w.width || got.channels != whole.channels)
    return false;
  for (unsigned y = 0; y < w.height; ++y)
    if (std::memcmp(got.row(y), whole.at(w.top + y, w.left), std::size_t{w.width} * 3) != 0)
      return false;
  return true;
}

void check(const std::string& name, const Bytes& bytes, unsigned random) {
  for (const unsigned denominator : {1u, 2u, 4u, 8u}) {
    const Whole whole = decode_whole(bytes, denominator);
    for (const Window& window : windows(whole.height, whole.width, random)) {
      for (const Entropy entropy : {Entropy::own, Entropy::libjpeg}) {
        Pixels got;
        const Request request{window, Color::rgb, denominator, nullptr, entropy};
        const DecodeStatus status = shared.decode(bytes.data(), bytes.size(), request, got);
        const std::string what = name + " / " + std::to_string(denominator) + " " + text(window) +
                                 (entropy == Entropy::own ? " own: " : " libjpeg: ");
        expect(status == DecodeStatus::ok, what + shared.message());
        if (status == DecodeStatus::ok) expect(same(got, whole, window), what + "pixels");
      }
    }
  }
}

// Every sampling, sizes around MCU edges, plain, seekable, restarting anywhere, and progressive.
void windows_equal_the_whole() {
  constexpr unsigned kSizes[][2] = {{61, 47}, {1, 1}, {33, 16}, {8, 70}, {130, 9}, {97, 100},
                                     {68, 40}, {82, 20}};
  for (const Kind& kind : KINDS) {
    const bool grey = kind.space == JCS_GRAYSCALE;
    const unsigned mcu = grey ? 8u : 8u * static_cast<unsigned>(std::max(kind.h, kind.chroma_h));
    for (const auto& size : kSizes) {
      const unsigned a_row = (size[0] + mcu - 1) / mcu;
      const unsigned half = a_row % 2 == 0 ? a_row / 2 : a_row;
      const std::string name =
          std::string(kind.name) + " " + std::to_string(size[0]) + "x" + std::to_string(size[1]);
      check(name, encode(size[0], size[1], kind, {}), 12);
      check(name + " seekable 1", encode(size[0], size[1], kind, {.restart = 1}), 12);
      check(name + " seekable half", encode(size[0], size[1], kind, {.restart = half}), 12);
      check(name + " restarts", encode(size[0], size[1], kind, {.restart = a_row + 1}), 6);
      check(name + " progressive", encode(size[0], size[1], kind, {.progressive = true}), 6);
      check(name + " optimised 100",
            encode(size[0], size[1], kind, {.restart = a_row, .optimised = true, .quality = 100}),
            6);
    }
  }
}

void luma_is_pillows() {
  const Bytes bytes = encode(61, 47, KINDS[2], {});
  const Whole whole = decode_whole(bytes, 1);
  const Window window{3, 5, 30, 40};
  Pixels got;
  const DecodeStatus status =
      shared.decode(bytes.data(), bytes.size(), Request{window, Color::luma}, got);
  expect(status == DecodeStatus::ok && got.channels == 1, "luma decodes");
  for (unsigned y = 0; y < window.height; ++y)
    for (unsigned x = 0; x < window.width; ++x) {
      const std::uint8_t* rgb = whole.at(3 + y, 5 + x);
      const unsigned want = (rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 32768u) >> 16;
      expect(got.row(y)[x] == want, "luma of a pixel");
    }
}

// libjpeg-turbo stores rows that begin at a vector's boundary past the caches, which costs a tenth
// of a sample's time. Whole rows are asked for, so that the window adds no offset.
void rows_stay_in_the_caches() {
  const Bytes bytes = encode(61, 47, KINDS[2], {});
  Pixels got;
  const DecodeStatus status = shared.decode(bytes.data(), bytes.size(), Request{}, got);
  expect(status == DecodeStatus::ok, "whole image decodes");
  for (unsigned y = 0; y < got.height; ++y)
    expect(reinterpret_cast<std::uintptr_t>(got.row(y)) % 16 != 0, "a row begins off a boundary");
}

// What is cut off anywhere is damage, for a window at the top too.
void truncations_are_damage() {
  for (const Options& options :
       {Options{}, Options{.restart = 2}, Options{.restart = 3}, Options{.progressive = true}}) {
    const Bytes bytes = encode(64, 40, KINDS[2], options);
    for (const Window window : {Window{}, Window{0, 0, 2, 2}})
      for (const Entropy entropy : {Entropy::own, Entropy::libjpeg})
        for (std::size_t size = 0; size < bytes.size(); ++size) {
          const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
          Pixels got;
          const Request request{window, Color::rgb, 1, nullptr, entropy};
          const DecodeStatus status = shared.decode(cut.data(), size, request, got);
          expect(status == DecodeStatus::damaged || (size < 3 && status != DecodeStatus::ok),
                 "cut at " + std::to_string(size) + " of " + std::to_string(bytes.size()));
        }
  }
}

// Any byte may be any other. What libjpeg's entropy decoder finds damaged, ours does; where both
// decode, they agree.
void flips_are_survived() {
  std::mt19937 engine(11);
  for (const Options& options : {Options{}, Options{.restart = 2}, Options{.progressive = true}}) {
    const Bytes good = encode(48, 33, KINDS[2], options);
    for (std::size_t at = 0; at < good.size(); ++at)
      for (int turn = 0; turn < 3; ++turn) {
        Bytes bytes = good;
        bytes[at] = static_cast<std::uint8_t>(engine());
        Decoder other;
        Pixels own, theirs;
        const Request request{{}, Color::rgb, 1, nullptr, Entropy::own};
        const Request plain{{}, Color::rgb, 1, nullptr, Entropy::libjpeg};
        const DecodeStatus a = shared.decode(bytes.data(), bytes.size(), request, own);
        const DecodeStatus b = other.decode(bytes.data(), bytes.size(), plain, theirs);
        const std::string what = "byte " + std::to_string(at);
        if (b == DecodeStatus::damaged) expect(a == b, what + ": own takes " + other.message());
        if (a != DecodeStatus::ok || b != DecodeStatus::ok) continue;
        for (unsigned y = 0; y < own.height; ++y)
          expect(std::memcmp(own.row(y), theirs.row(y), std::size_t{own.width} * 3) == 0,
                 what + ": rows differ");
      }
  }
}

// Ahead of a marker fill bytes are as good as none, and inside the data they are damage.
void fill_bytes() {
  const Bytes good = encode(64, 40, KINDS[2], {.restart = 2, .quality = 100});
  const Whole whole = decode_whole(good, 1);
  int before_zeros = 0, before_markers = 0;
  std::size_t scan = 0;
  while (good[scan] != 0xFF || good[scan + 1] != 0xDA) ++scan;
  for (std::size_t at = scan + 2; at + 1 < good.size(); ++at) {
    if (good[at] != 0xFF) continue;
    const bool marker = good[at + 1] != 0;
    Bytes bytes = good;
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), 3, 0xFF);
    Pixels got;
    const DecodeStatus status =
        shared.decode(bytes.data(), bytes.size(), Request{{}, Color::rgb}, got);
    const std::string what = "fill bytes at " + std::to_string(at);
    expect(status == (marker ? DecodeStatus::ok : DecodeStatus::damaged), what);
    if (status == DecodeStatus::ok)
      expect(same(got, whole, {0, 0, whole.height, whole.width}), what + ": pixels");
    ++(marker ? before_markers : before_zeros);
  }
  expect(before_markers > 3 && before_zeros > 3, "fill bytes of both kinds");
}

std::size_t find(const Bytes& bytes, std::uint8_t marker) {
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i)
    if (bytes[i] == 0xFF && bytes[i + 1] == marker) return i;
  return bytes.size();
}

// An image without tables must not be read with those of the image before it.
void nothing_is_left_from_the_image_before() {
  Bytes bare = encode(40, 24, KINDS[2], {.optimised = true});
  for (std::size_t at = find(bare, 0xC4); at < bare.size(); at = find(bare, 0xC4)) {
    const std::size_t length = 2u + static_cast<std::size_t>(bare[at + 2] << 8 | bare[at + 3]);
    bare.erase(bare.begin() + static_cast<std::ptrdiff_t>(at),
               bare.begin() + static_cast<std::ptrdiff_t>(at + length));
  }
  Decoder fresh;
  Pixels a, b;
  const DecodeStatus alone = fresh.decode(bare.data(), bare.size(), {}, a);
  const Bytes before = encode(40, 24, KINDS[2], {.optimised = true});
  expect(shared.decode(before.data(), before.size(), {}, b) == DecodeStatus::ok, "the one before");
  expect(shared.decode(bare.data(), bare.size(), {}, b) == alone, "the same as alone");
}

void requests_are_checked() {
  const Bytes bytes = encode(61, 47, KINDS[0], {});
  Pixels got;
  for (const Window window : {Window{0, 0, 48, 1}, Window{0, 0, 1, 62}, Window{47, 0, 1, 1},
                              Window{0, 0, 1, 0}, Window{1, 0, UINT32_MAX, 1}})
    expect(shared.decode(bytes.data(), bytes.size(), Request{window}, got) ==
               DecodeStatus::outside,
           text(window));
  expect(shared.decode(bytes.data(), bytes.size(), Request{{}, Color::rgb, 3}, got) ==
             DecodeStatus::outside,
         "a third");
  Decoder small(1 << 16);
  const Bytes large = encode(400, 400, KINDS[0], {});
  expect(small.decode(large.data(), large.size(), {}, got) == DecodeStatus::too_large, "limit");
  expect(shared.decode(nullptr, 0, {}, got) != DecodeStatus::ok, "nothing");
}

// A frame header may promise 65,500 x 65,500 pixels in a few bytes.
void promises_cost_nothing() {
  for (const bool progressive : {false, true}) {
    Bytes bytes = encode(16, 16, KINDS[2], {.progressive = progressive});
    const std::size_t frame = find(bytes, progressive ? 0xC2 : 0xC0);
    bytes[frame + 5] = bytes[frame + 7] = 0xFF;
    Pixels got;
    expect(shared.decode(bytes.data(), bytes.size(), {}, got) == DecodeStatus::too_large,
           "65,296 x 65,296 whole");
    const DecodeStatus status =
        shared.decode(bytes.data(), bytes.size(), Request{{65000, 0, 1, 1}}, got);
    expect(status == (progressive ? DecodeStatus::too_large : DecodeStatus::damaged), "its end");
  }
}

void threads_do_not_meet() {
  const Bytes first = encode(97, 100, KINDS[2], {.restart = 1});
  const Bytes second = encode(97, 100, KINDS[3], {.optimised = true});
  bool good[2] = {true, true};
  const auto work = [](const Bytes& bytes, bool& all) {
    const Whole whole = decode_whole(bytes, 1);
    Decoder decoder;
    for (int i = 0; i < 20; ++i)
      for (const Window& window : windows(100, 97, 8)) {
        Pixels got;
        all &= decoder.decode(bytes.data(), bytes.size(), Request{window}, got) ==
                   DecodeStatus::ok && same(got, whole, window);
      }
  };
  std::thread other(work, std::cref(second), std::ref(good[1]));
  work(first, good[0]);
  other.join();
  expect(good[0] && good[1], "two threads");
}

}  // namespace

int main() {
  windows_equal_the_whole();
  luma_is_pillows();
  rows_stay_in_the_caches();
  truncations_are_damage();
  flips_are_survived();
  fill_bytes();
  nothing_is_left_from_the_image_before();
  requests_are_checked();
  promises_cost_nothing();
  threads_do_not_meet();
  if (failures == 0) std::printf("decode: all passed\n");
  return failures == 0 ? 0 : 1;
}
