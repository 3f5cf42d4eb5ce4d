#include "arena.hpp"

#include <new>

#include <jerror.h>

#include "guard.hpp"

namespace forebay::jpeg {
namespace {

constexpr std::size_t kAlign = 64;  // twice what libjpeg-turbo's widest vectors want
constexpr std::size_t kFirst = 256 * 1024;

constexpr std::size_t rounded(std::size_t bytes) noexcept {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

[[noreturn]] void fail(j_common_ptr codec) {
  codec->err->msg_code = JERR_OUT_OF_MEMORY;
  codec->err->msg_parm.i[0] = 0;
  (*codec->err->error_exit)(codec);
  __builtin_unreachable();  // a Guard's error_exit does not return
}

void* checked(j_common_ptr codec, std::size_t bytes) {
  auto& guard = *reinterpret_cast<Guard*>(codec->err);
  void* memory = guard.arena->take(bytes);
  if (memory == nullptr) fail(codec);
  return memory;
}

// Pools end together, with the codec.
void* allocate(j_common_ptr codec, int, std::size_t bytes) { return checked(codec, bytes); }

// Rows padded to whole vectors, as libjpeg's own manager does: its vector code runs over the ends.
template <class Item>
Item** allocate_rows(j_common_ptr codec, int, JDIMENSION items, JDIMENSION count) {
  const std::size_t row = rounded(std::size_t{items} * sizeof(Item));
  auto** rows = static_cast<Item**>(checked(codec, count * sizeof(Item*)));
  auto* bytes = static_cast<std::uint8_t*>(checked(codec, row * count + kAlign));
  for (JDIMENSION i = 0; i < count; ++i) rows[i] = reinterpret_cast<Item*>(bytes + i * row);
  return rows;
}

}  // namespace

void* Arena::take(std::size_t bytes) noexcept {
  const std::size_t wanted = rounded(bytes);
  if (wanted < bytes || wanted > SIZE_MAX / 2 - used_) return nullptr;
  const std::size_t at = used_;
  used_ += wanted;
  if (used_ <= size_) return block_.grown(size_) + at;
  try {
    extra_.push_back(std::make_unique<Buffer>());
    return extra_.back()->grown(wanted);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

bool Arena::serve(jpeg_decompress_struct& codec) noexcept {
  extra_.clear();
  const std::size_t wanted = used_ > kFirst ? used_ : kFirst;
  if (wanted > size_) size_ = block_.grown(wanted) == nullptr ? 0 : wanted;
  used_ = 0;
  reinterpret_cast<Guard*>(codec.err)->arena = this;
  codec.mem->alloc_small = allocate;
  codec.mem->alloc_large = allocate;
  codec.mem->alloc_sarray = allocate_rows<JSAMPLE>;
  codec.mem->alloc_barray = allocate_rows<JBLOCK>;
  return size_ != 0;
}

}  // namespace forebay::jpeg
