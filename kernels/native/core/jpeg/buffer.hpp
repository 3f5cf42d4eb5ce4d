// Page-aligned memory that is kept and grown, never zeroed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace forebay::jpeg {

class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { std::free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // At least `size` bytes, their contents undefined; null where there is no memory for them.
  std::uint8_t* grown(std::size_t size) noexcept {
    if (size <= size_) return data_;
    constexpr std::size_t kPage = 4096;
    // Half as much again, so that images of slowly growing sizes do not each allocate.
    const std::size_t rounded = (size + size / 2 + kPage - 1) / kPage * kPage;
    std::free(data_);
    data_ = static_cast<std::uint8_t*>(std::aligned_alloc(kPage, rounded));
    size_ = data_ == nullptr ? 0 : rounded;
    return data_;
  }

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace forebay::jpeg
