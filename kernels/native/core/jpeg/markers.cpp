#include "markers.hpp"

#include <cstring>

namespace forebay::jpeg {

MarkerWalk::Step MarkerWalk::next(Segment& out) noexcept {
  std::size_t at = at_;
  for (;;) {
    if (at >= size_) return Step::truncated;
    if (data_[at] != 0xFF) {
      const void* found = std::memchr(data_ + at, 0xFF, size_ - at);
      if (found == nullptr) return Step::truncated;
      at = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - data_);
    }
    while (at + 1 < size_ && data_[at + 1] == 0xFF) ++at;
    if (at + 1 >= size_) return Step::truncated;
    if (data_[at + 1] != 0x00) break;
    at += 2;
  }
  out = {data_[at + 1], at, at + 2, 0};
  at_ = at + 2;
  if (out.marker == code::kTem || (out.marker >= code::kRst0 && out.marker <= code::kEoi))
    return Step::found;
  if (size_ - at_ < 2) return Step::truncated;
  const std::size_t length = big16(data_ + at_);
  if (length < 2) return Step::bad_length;
  if (length > size_ - at_) return Step::truncated;
  out.body = at_ + 2;
  out.length = length - 2;
  at_ += length;
  return Step::found;
}

}  // namespace forebay::jpeg
