#include "gather.hpp"

#include <cstring>

#include "prefetch.hpp"

namespace forebay {
namespace {

constexpr std::int64_t kAhead = 8;

// A copy whose size the compiler knows (`Width`, else 0) is a load and a store, not a call.
template <std::size_t Width>
void copy(const FixedBlock* blocks, const Named& named, std::size_t width,
          std::uint8_t* out) noexcept {
  const std::size_t size = Width ? Width : width;
  const auto source = [&](std::int64_t i) {
    const FixedBlock& block = blocks[named.block(i)];
    return reinterpret_cast<const std::uint8_t*>(block.address) +
           static_cast<std::uint64_t>(named.rows[i]) * block.apart;
  };
  for (std::int64_t i = 0; i < named.count; ++i) {
    if (i + kAhead < named.count) ask_for(source(i + kAhead), size);
    std::memcpy(out + static_cast<std::size_t>(named.place(i)) * size, source(i), size);
  }
}

}  // namespace

std::int64_t gather_fixed(const FixedBlock* blocks, std::int64_t count, const Named& named,
                          std::int64_t room, std::size_t width, std::uint8_t* out) noexcept {
  const std::int64_t code = refused(blocks, count, named, room);
  if (code >= 0 || width == 0) return code;
  switch (width) {
    case 1: copy<1>(blocks, named, width, out); break;
    case 2: copy<2>(blocks, named, width, out); break;
    case 4: copy<4>(blocks, named, width, out); break;
    case 8: copy<8>(blocks, named, width, out); break;
    default: copy<0>(blocks, named, width, out);
  }
  return code;
}

}  // namespace forebay
