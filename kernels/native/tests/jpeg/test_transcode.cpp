// Tests of the transcoder without Python: exits 0, or prints each failure and exits 1.
#include "../../core/jpeg/transcode.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <jpeglib.h>

namespace {

using forebay::jpeg::interval_for;
using forebay::jpeg::Outcome;
using forebay::jpeg::outcome_name;
using forebay::jpeg::transcode;
using forebay::jpeg::Transcoded;
using Bytes = std::vector<std::uint8_t>;

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

struct Picture {
  const char* name;
  unsigned width, height;
  J_COLOR_SPACE space;
  int h, v;  // sampling factors of the first component; the others have 1x1
  bool progressive, arithmetic;
  unsigned restart;
  bool separate = false;  // a scan for each component
};

constexpr Picture PICTURES[] = {
    {"4:2:0", 61, 47, JCS_YCbCr, 2, 2, false, false, 0},
    {"4:2:2, restarts", 61, 47, JCS_YCbCr, 2, 1, false, false, 3},
    {"4:4:0", 61, 47, JCS_YCbCr, 1, 2, false, false, 0},
    {"4:4:4 progressive", 61, 47, JCS_YCbCr, 1, 1, true, false, 0},
    {"4:2:0 progressive", 150, 33, JCS_YCbCr, 2, 2, true, false, 0},
    {"grey", 61, 47, JCS_GRAYSCALE, 1, 1, false, false, 0},
    {"grey of 2x2", 61, 47, JCS_GRAYSCALE, 2, 2, true, false, 0},
    {"RGB", 17, 9, JCS_RGB, 1, 1, false, false, 0},
    {"CMYK", 33, 20, JCS_CMYK, 1, 1, false, false, 0},
    {"YCCK", 33, 20, JCS_YCCK, 2, 2, true, false, 0},
    {"one pixel", 1, 1, JCS_YCbCr, 2, 2, false, false, 0},
    {"one row", 300, 1, JCS_YCbCr, 2, 2, false, false, 0},
    {"one column", 1, 300, JCS_YCbCr, 2, 2, false, false, 0},
    {"separate scans", 61, 47, JCS_YCbCr, 2, 2, false, false, 0, true},
#if defined(D_ARITH_CODING_SUPPORTED) && defined(C_ARITH_CODING_SUPPORTED)
    {"arithmetic", 61, 47, JCS_YCbCr, 2, 2, false, true, 0},
    {"arithmetic progressive", 61, 47, JCS_YCbCr, 1, 1, true, true, 0},
#endif
};

// Smooth waves with noise: every coefficient occurs, and flat blocks too.
Bytes encode(const Picture& p) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &out, &size);
  info.image_width = p.width;
  info.image_height = p.height;
  const bool four = p.space == JCS_CMYK || p.space == JCS_YCCK;
  const bool grey = p.space == JCS_GRAYSCALE;
  info.input_components = grey ? 1 : four ? 4 : 3;
  info.in_color_space = grey ? JCS_GRAYSCALE : four ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, p.space);
  jpeg_set_quality(&info, 85, TRUE);
  for (int c = 0; c < info.num_components; ++c) {
    info.comp_info[c].h_samp_factor = c == 0 ? p.h : 1;
    info.comp_info[c].v_samp_factor = c == 0 ? p.v : 1;
  }
  info.arith_code = p.arithmetic;
  info.restart_interval = p.restart;
  if (p.progressive) jpeg_simple_progression(&info);
  const jpeg_scan_info scans[] = {
      {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
  if (p.separate) {
    info.scan_info = scans;
    info.num_scans = 3;
  }
  jpeg_start_compress(&info, TRUE);
  std::mt19937 engine(p.width * 31 + p.height);
  Bytes row(p.width * static_cast<unsigned>(info.input_components));
  for (unsigned y = 0; y < p.height; ++y) {
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = static_cast<std::uint8_t>(y < p.height / 2 ? engine() : (i * 3 + y * 5) & 0xFF);
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes bytes(out, out + size);
  std::free(out);
  return bytes;
}

struct Errors : jpeg_error_mgr {
  std::jmp_buf jump;
};

// Pixels in the file's own color model, 3 bytes in front that tell its shape; empty where it does
// not decode without a warning. `pixels` outlives the jump.
void decode(const std::uint8_t* data, std::size_t size, Bytes& pixels) {
  static jpeg_decompress_struct info;
  static Errors errors;
  info.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr i) { std::longjmp(static_cast<Errors*>(i->err)->jump, 1); };
  errors.emit_message = [](j_common_ptr i, int level) {
    if (level < 0) std::longjmp(static_cast<Errors*>(i->err)->jump, 1);
  };
  pixels.clear();
  if (setjmp(errors.jump) != 0) {
    pixels.clear();
    jpeg_destroy_decompress(&info);
    return;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, data, static_cast<unsigned long>(size));
  jpeg_read_header(&info, TRUE);
  info.out_color_space = info.num_components == 4 ? JCS_CMYK : info.jpeg_color_space;
  if (info.image_width * info.image_height > (1u << 20)) std::longjmp(errors.jump, 1);
  jpeg_start_decompress(&info);
  const std::size_t stride = info.output_width * static_cast<unsigned>(info.output_components);
  pixels = {static_cast<std::uint8_t>(info.jpeg_color_space),
            static_cast<std::uint8_t>(info.output_width),
            static_cast<std::uint8_t>(info.output_height)};
  pixels.resize(3 + stride * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW rows[] = {pixels.data() + 3 + stride * info.output_scanline};
    jpeg_read_scanlines(&info, rows, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
}

Bytes decoded(const std::uint8_t* data, std::size_t size) {
  Bytes pixels;
  decode(data, size, pixels);
  return pixels;
}

// Codes and places of the segments in front of the first scan.
struct Segments {
  std::string codes;  // the second byte of each
  std::vector<std::size_t> places;
};

Segments segments(const std::uint8_t* data, std::size_t size) {
  Segments found;
  for (std::size_t at = 2; at + 4 <= size && data[at] == 0xFF && data[at + 1] != 0xDA;
       at += 2u + static_cast<unsigned>(data[at + 2] << 8 | data[at + 3])) {
    found.codes += static_cast<char>(data[at + 1]);
    found.places.push_back(at);
  }
  return found;
}

std::size_t find_segment(const std::uint8_t* data, std::size_t size, std::uint8_t code) {
  const Segments all = segments(data, size);
  const std::size_t index = all.codes.find(static_cast<char>(code));
  return index == std::string::npos ? 0 : all.places[index];
}

unsigned number(const std::uint8_t* at) { return static_cast<unsigned>(at[0] << 8 | at[1]); }

void every_kind() {
  for (const Picture& p : PICTURES) {
    const Bytes file = encode(p);
    const Transcoded done = transcode(file.data(), file.size(), {});
    const std::string name = p.name;
    expect(done.outcome == Outcome::transcoded, name + ": " + done.detail);
    if (done.outcome != Outcome::transcoded) continue;
    const std::uint8_t* const out = done.data.get();
    const Bytes before = decoded(file.data(), file.size());
    expect(!before.empty() && before == decoded(out, done.size), name + ": pixels");
    expect(find_segment(out, done.size, 0xC0) != 0, name + ": is baseline");
    const std::size_t dri = find_segment(out, done.size, 0xDD);
    const unsigned wide = 8u * static_cast<unsigned>(p.space == JCS_GRAYSCALE ? 1 : p.h);
    const unsigned mcus = (p.width + wide - 1) / wide;
    expect(dri != 0 && number(out + dri + 4) == interval_for(mcus, 8), name + ": interval");
    // libjpeg wrote a JFIF or an Adobe segment or both, and they are here once.
    const std::string had = segments(file.data(), file.size()).codes;
    const std::string has = segments(out, done.size).codes;
    for (const char code : {'\xE0', '\xEE'})
      expect(std::count(had.begin(), had.end(), code) == std::count(has.begin(), has.end(), code),
             name + ": color markers");
    const Transcoded again = transcode(done.data.get(), done.size, {});
    expect(again.outcome == Outcome::transcoded && again.size == done.size &&
               std::memcmp(again.data.get(), out, done.size) == 0,
           name + ": a second time gives the same");
  }
}

void intervals() {
  const struct {
    unsigned mcus, most, want;
  } cases[] = {{1, 8, 1},   {2, 8, 2},     {7, 8, 7},   {8, 8, 8},   {32, 8, 8},   {63, 8, 7},
               {20, 8, 5},  {22, 8, 11},   {47, 8, 47}, {74, 8, 37}, {127, 8, 127}, {131, 8, 1},
               {262, 8, 2}, {8192, 8, 8},  {47, 1, 1},  {47, 47, 47}, {6, 4, 3},   {8191, 8, 1}};
  for (const auto& c : cases)
    expect(interval_for(c.mcus, c.most) == c.want,
           "interval of " + std::to_string(c.mcus) + " at most " + std::to_string(c.most));
  for (unsigned mcus = 1; mcus < 3000; ++mcus)
    for (const unsigned most : {1u, 3u, 8u, 65535u})
      expect(mcus % interval_for(mcus, most) == 0, "a divisor of " + std::to_string(mcus));
}

// What is cut short is kept, wherever it is cut.
void truncated() {
  for (const Picture& p : {PICTURES[0], PICTURES[3]}) {
    const Bytes file = encode(p);
    for (std::size_t size = 0; size < file.size(); ++size) {
      const Bytes part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      const Transcoded done = transcode(part.data(), part.size(), {});
      expect(done.outcome != Outcome::transcoded && done.data == nullptr && done.detail[0] != 0,
             std::string(p.name) + " cut to " + std::to_string(size));
    }
  }
}

// A changed byte is refused, or gives the pixels that the changed file has.
void damaged() {
  for (const Picture& p : {PICTURES[0], PICTURES[6], PICTURES[9]}) {
    const Bytes file = encode(p);
    std::mt19937 engine(5);
    for (std::size_t at = 0; at < file.size(); ++at) {
      Bytes bad = file;
      bad[at] ^= static_cast<std::uint8_t>(1 + engine() % 255);
      const Transcoded done = transcode(bad.data(), bad.size(), {});
      if (done.outcome != Outcome::transcoded) continue;
      expect(decoded(bad.data(), bad.size()) == decoded(done.data.get(), done.size),
             std::string(p.name) + ": silent change by byte " + std::to_string(at));
    }
  }
}

// A header of 65,500 x 65,500 pixels without data, and one of more segments than any camera writes.
void hostile() {
  Bytes file = encode(PICTURES[0]);
  const std::size_t frame = find_segment(file.data(), file.size(), 0xC0);
  for (const std::size_t at : {5, 7}) file[frame + at] = 0xFF, file[frame + at + 1] = 0xDC;
  expect(transcode(file.data(), file.size(), {}).outcome == Outcome::too_large, "65,500 squared");
  file[frame + 5] = 8;
  file[frame + 7] = 8;
  expect(transcode(file.data(), file.size(), {}).outcome == Outcome::corrupt, "2,268 squared");

  Bytes many = encode(PICTURES[0]);
  const std::uint8_t segment[] = {0xFF, 0xE1, 0, 3, 0};
  Bytes segments;
  for (int i = 0; i < 5000; ++i) segments.insert(segments.end(), segment, segment + sizeof segment);
  many.insert(many.begin() + 2, segments.begin(), segments.end());
  expect(transcode(many.data(), many.size(), {}).outcome == Outcome::too_large, "5,000 segments");
  expect(transcode(nullptr, 0, {}).outcome == Outcome::not_jpeg, "nothing");
}

// The bytes of a file whose last scan comes `times` times.
Bytes repeated(const Picture& p, int times) {
  const Bytes file = encode(p);
  std::size_t last = 0;
  for (std::size_t at = 0; at + 1 < file.size(); ++at)
    if (file[at] == 0xFF && file[at + 1] == 0xDA) last = at;
  Bytes bomb(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(last));
  for (int i = 0; i < times; ++i)
    bomb.insert(bomb.end(), file.begin() + static_cast<std::ptrdiff_t>(last), file.end() - 2);
  bomb.insert(bomb.end(), file.end() - 2, file.end());
  return bomb;
}

// Each scan takes time, and a second one of the same adds nothing, or changes what decoders see.
void many_scans() {
  const Picture &progressive = PICTURES[3], &grey = PICTURES[5], &separate = PICTURES[13];
  const auto outcome = [](const Bytes& file) {
    return transcode(file.data(), file.size(), {}).outcome;
  };
  expect(outcome(repeated(grey, 1)) == Outcome::transcoded, "one scan");
  expect(outcome(repeated(grey, 2)) == Outcome::corrupt, "two scans");
  expect(outcome(repeated(separate, 0)) == Outcome::incomplete, "a component without a scan");
  expect(outcome(repeated(separate, 2)) == Outcome::corrupt, "a component with two");
  expect(outcome(repeated(separate, 200)) == Outcome::too_many_scans, "200 scans");
  expect(outcome(repeated(progressive, 1)) == Outcome::transcoded, "progressive");
  expect(outcome(repeated(progressive, 2)) == Outcome::corrupt, "a refinement too many");
  expect(outcome(repeated(progressive, 0)) == Outcome::incomplete, "a refinement too few");
}

}  // namespace

int main() {
  every_kind();
  intervals();
  truncated();
  damaged();
  hostile();
  many_scans();
  if (failures == 0) std::printf("transcode: all passed\n");
  return failures == 0 ? 0 : 1;
}
