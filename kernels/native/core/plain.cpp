#include "plain.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "utf8.hpp"
#include "zstd.hpp"

namespace forebay {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;  // sums of such numbers never overflow

// What a page's header says, as far as it is needed.
struct Page {
  std::int64_t type = -1;
  std::int64_t uncompressed = -1;
  std::int64_t compressed = -1;
  std::int64_t values = -1;
  std::int64_t encoding = -1;
};

// Thrift's compact protocol, within bounds: once anything is wrong, `good` stays false.
class Thrift {
 public:
  Thrift(const std::uint8_t* at, const std::uint8_t* end) noexcept : at_(at), end_(end) {}

  bool good = true;
  const std::uint8_t* at() const noexcept { return at_; }

  // The next field of a struct: false at its end. `id` is the field before it.
  bool field(std::int64_t& id, int& type) noexcept {
    const std::uint8_t head = byte();
    type = head & 15;
    if (!good || type == 0) return false;
    id = (head >> 4) != 0 ? id + (head >> 4) : zigzag();
    return good;
  }

  std::int64_t integer(int type) noexcept {
    if (type != 5) good = false;
    return zigzag();
  }

  void skip(int type, int depth) noexcept {
    if (depth > 8) good = false;
    if (!good) return;
    switch (type) {
      case 1: case 2: return;
      case 3: byte(); return;
      case 4: case 5: case 6: varint(); return;
      case 7: pass(8); return;
      case 8: pass(varint()); return;
      case 12: {
        std::int64_t id = 0;
        int inner = 0;
        while (field(id, inner)) skip(inner, depth + 1);
        return;
      }
      default: good = false;  // no container belongs into a page header
    }
  }

 private:
  std::uint8_t byte() noexcept {
    if (at_ == end_) good = false;
    return good ? *at_++ : std::uint8_t{0};
  }

  void pass(std::uint64_t bytes) noexcept {
    if (bytes > static_cast<std::uint64_t>(end_ - at_)) good = false;
    if (good) at_ += bytes;
  }

  std::uint64_t varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= std::uint64_t{next & 127u} << shift;
      if (next < 128) return value;
    }
    good = false;
    return 0;
  }

  std::int64_t zigzag() noexcept {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

// The header of a v1 data page; moves `at` behind it. False where it is something else.
bool read_header(const std::uint8_t*& at, const std::uint8_t* end, Page& page) noexcept {
  Thrift thrift(at, end);
  std::int64_t id = 0;
  int type = 0;
  while (thrift.field(id, type)) {
    if (id == 1) page.type = thrift.integer(type);
    else if (id == 2) page.uncompressed = thrift.integer(type);
    else if (id == 3) page.compressed = thrift.integer(type);
    else if (id == 5 && type == 12) {
      std::int64_t inner = 0;
      int kind = 0;
      while (thrift.field(inner, kind)) {
        if (inner == 1) page.values = thrift.integer(kind);
        else if (inner == 2) page.encoding = thrift.integer(kind);
        else thrift.skip(kind, 1);
      }
    } else {
      thrift.skip(type, 0);
    }
  }
  at = thrift.at();
  return thrift.good && page.type == 0 && page.encoding == 0 && page.values >= 0 &&
         page.values <= kMost && page.uncompressed >= 0 && page.uncompressed <= kMost &&
         page.compressed >= 0 && page.compressed <= end - at;
}

// Definition levels in RLE and bit-packed runs behind a u32 length, one bit a value out of them:
// whether it is there. Returns the bytes that they take, or -1.
std::int64_t read_levels(const std::uint8_t* body, std::int64_t size, std::int64_t highest,
                         std::int64_t count, std::uint8_t* valid) noexcept {
  if (size < 4) return -1;
  std::uint32_t length;
  std::memcpy(&length, body, sizeof length);
  if (length > size - 4) return -1;
  const unsigned bits = highest > 1 ? 2 : 1;
  const std::uint8_t* at = body + 4;
  const std::uint8_t* const end = at + length;
  std::int64_t done = 0;
  while (done < count) {
    std::uint64_t head = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at == end || shift > 28) return -1;
      head |= std::uint64_t{*at & 127u} << shift;
      if (*at++ < 128) break;
    }
    if ((head & 1) == 0) {
      const auto run = static_cast<std::int64_t>(head >> 1);
      if (run == 0 || at == end || *at > highest) return -1;
      const std::int64_t many = std::min(run, count - done);
      std::memset(valid + done, *at++ == highest ? 1 : 0, static_cast<std::size_t>(many));
      done += many;
      continue;
    }
    const auto packed = static_cast<std::int64_t>(head >> 1) * bits;  // a byte for 8 bits
    if (packed == 0 || packed > end - at) return -1;
    const std::int64_t many = std::min(packed * 8 / bits, count - done);
    for (std::int64_t i = 0; i < many; ++i) {
      const std::int64_t bit = i * bits;
      const unsigned level = (at[bit / 8] >> (bit % 8)) & ((1u << bits) - 1);
      if (level > highest) return -1;
      valid[done + i] = level == static_cast<unsigned>(highest) ? 1 : 0;
    }
    at += packed;
    done += many;
  }
  return 4 + static_cast<std::int64_t>(length);
}

// One chunk on its way: what its pages have filled so far.
class Decoding {
 public:
  Decoding(const PlainChunk& chunk, const PlainBuffers& buffers) noexcept
      : chunk_(chunk),
        out_(buffers.out + chunk.out),
        starts_(buffers.spans + chunk.spans),
        lengths_(buffers.spans + chunk.spans + chunk.values),
        valid_(chunk.valid < 0 ? nullptr : buffers.valid + chunk.valid) {}

  bool pages(const std::uint8_t* at, const std::uint8_t* end) noexcept {
    std::int64_t size = 0;
    while (done_ < chunk_.values) {
      if (at == end) return false;
      const std::uint8_t* const from = at;
      Page page;
      if (!read_header(at, end, page)) return false;
      size += (at - from) + page.uncompressed;
      if (size > chunk_.uncompressed || page.values > chunk_.values - done_) return false;
      if (chunk_.zstd == 0 && page.compressed != page.uncompressed) return false;
      if (!(chunk_.levels == 0 ? plain(at, page) : levelled(at, page))) return false;
      at += page.compressed;
      done_ += page.values;
    }
    return at == end;
  }

 private:
  // A page of values alone goes straight to its place.
  bool plain(const std::uint8_t* body, const Page& page) noexcept {
    if (chunk_.width != 0 && page.uncompressed != page.values * chunk_.width) return false;
    if (page.uncompressed > chunk_.room - used_) return false;
    if (!unpack(body, page, out_ + used_)) return false;
    if (valid_ != nullptr) std::memset(valid_ + done_, 1, static_cast<std::size_t>(page.values));
    if (chunk_.width == 0) return strings(page.uncompressed, page.values, nullptr);
    used_ += page.uncompressed;
    return true;
  }

  // A page of levels and values goes by way of a buffer, for its values must be aligned.
  bool levelled(const std::uint8_t* body, const Page& page) noexcept {
    const std::size_t need = static_cast<std::size_t>(page.uncompressed + page.values) + 1;
    if (need > scratch_size_) {
      scratch_.reset(new (std::nothrow) std::uint8_t[need]);
      scratch_size_ = scratch_ ? need : 0;
      if (!scratch_) return false;
    }
    std::uint8_t* const raw = scratch_.get();
    std::uint8_t* const present =
        valid_ != nullptr ? valid_ + done_ : raw + page.uncompressed;
    if (!unpack(body, page, raw)) return false;
    const std::int64_t skip =
        read_levels(raw, page.uncompressed, chunk_.levels, page.values, present);
    if (skip < 0) return false;
    const std::int64_t size = page.uncompressed - skip;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < page.values; ++i) count += present[i];
    if (valid_ == nullptr && count != page.values) return false;
    const bool all = count == page.values;
    if (chunk_.width == 0) {
      if (size > chunk_.room - used_) return false;
      std::memcpy(out_ + used_, raw + skip, static_cast<std::size_t>(size));
      return strings(size, page.values, all ? nullptr : present);
    }
    if (size != count * chunk_.width) return false;
    const std::int64_t taken = page.values * chunk_.width;
    if (taken > chunk_.room - used_) return false;
    if (all) {
      std::memcpy(out_ + used_, raw + skip, static_cast<std::size_t>(size));
    } else {
      spread(raw + skip, present, page.values);
    }
    used_ += taken;
    return true;
  }

  void spread(const std::uint8_t* from, const std::uint8_t* present, std::int64_t count) noexcept {
    const auto width = static_cast<std::size_t>(chunk_.width);
    std::uint8_t* to = out_ + used_;
    for (std::int64_t i = 0; i < count; ++i, to += width) {
      if (present[i] == 0) {
        std::memset(to, 0, width);
        continue;
      }
      std::memcpy(to, from, width);
      from += width;
    }
  }

  // Byte arrays that lie at `used_`, each behind its u32 length, in exactly `size` bytes.
  bool strings(std::int64_t size, std::int64_t count, const std::uint8_t* present) noexcept {
    const std::uint8_t* const raw = out_ + used_;
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      starts_[done_ + i] = chunk_.out + used_ + at;
      lengths_[done_ + i] = 0;
      if (present != nullptr && present[i] == 0) continue;
      if (size - at < 4) return false;
      std::uint32_t length;
      std::memcpy(&length, raw + at, sizeof length);
      at += 4;
      if (length > size - at) return false;
      if (chunk_.text != 0 && !is_utf8(raw + at, length)) return false;
      starts_[done_ + i] = chunk_.out + used_ + at;
      lengths_[done_ + i] = length;
      at += length;
    }
    used_ += size;
    return at == size;
  }

  bool unpack(const std::uint8_t* body, const Page& page, std::uint8_t* to) noexcept {
    if (chunk_.zstd == 0) {
      std::memcpy(to, body, static_cast<std::size_t>(page.uncompressed));
      return true;
    }
    const std::int64_t zero = 0;
    std::uint8_t bad = 0;
    const ZstdFrames frame{body, &zero, &page.compressed, to, &zero, &page.uncompressed, 1};
    return zstd_decompress(frame, nullptr, &bad) == 0;
  }

  const PlainChunk& chunk_;
  std::uint8_t* out_;
  std::int64_t* starts_;
  std::int64_t* lengths_;
  std::uint8_t* valid_;
  std::int64_t done_ = 0;
  std::int64_t used_ = 0;
  std::unique_ptr<std::uint8_t[]> scratch_;
  std::size_t scratch_size_ = 0;
};

// Whether `count` entries from `at` on lie inside `size`.
bool inside(std::int64_t at, std::int64_t count, std::size_t size) noexcept {
  return at >= 0 && count >= 0 && static_cast<std::uint64_t>(at) <= size &&
         static_cast<std::uint64_t>(count) <= size - static_cast<std::uint64_t>(at);
}

}  // namespace

bool decode_plain(const PlainChunk& chunk, const PlainBuffers& buffers) noexcept {
  const bool strings = chunk.width == 0;
  if (chunk.values < 0 || chunk.values > kMost || chunk.uncompressed < 0 ||
      chunk.uncompressed > kMost || chunk.width < 0 || chunk.width > 16 || chunk.levels < 0 ||
      chunk.levels > 3)
    return false;
  if (!inside(chunk.start, chunk.length, buffers.size) ||
      !inside(chunk.out, chunk.room, buffers.out_size) ||
      !inside(chunk.spans, strings ? 2 * chunk.values : 0, buffers.spans_size) ||
      (chunk.valid >= 0 && !inside(chunk.valid, chunk.values, buffers.valid_size)))
    return false;
  if (chunk.zstd != 0 && !zstd_found()) return false;
  const std::uint8_t* const from = buffers.data + chunk.start;
  return Decoding(chunk, buffers).pages(from, from + chunk.length);
}

}  // namespace forebay
