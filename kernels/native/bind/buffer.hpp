// Views of any Python objects' bytes, held for as long as these live.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace forebay::bind {

// Made and destroyed with the GIL held; between the two it may be read without. An object that is
// no C-contiguous buffer, or is read-only where `flags` ask for PyBUF_WRITABLE, raises what Python
// raises for it (TypeError, BufferError or ValueError).
class ByteView {
 public:
  explicit ByteView(nanobind::handle object, int flags = PyBUF_SIMPLE) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) nanobind::raise_python_error();
  }
  ~ByteView() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
  }
  // A view that was moved from holds nothing.
  ByteView(ByteView&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
  ByteView(const ByteView&) = delete;
  ByteView& operator=(const ByteView&) = delete;
  ByteView& operator=(ByteView&&) = delete;

  const std::uint8_t* data() const noexcept { return writable(); }
  std::size_t size() const noexcept { return static_cast<std::size_t>(view_.len); }

  // Only where it was asked for.
  std::uint8_t* writable() const noexcept { return static_cast<std::uint8_t*>(view_.buf); }

 private:
  Py_buffer view_{};
};

inline std::vector<ByteView> views_of(const nanobind::list& objects, int flags = PyBUF_SIMPLE) {
  std::vector<ByteView> views;
  views.reserve(objects.size());
  for (nanobind::handle object : objects) views.emplace_back(object, flags);
  return views;
}

}  // namespace forebay::bind
