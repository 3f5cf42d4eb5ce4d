// A view of any Python object's bytes, held for as long as this lives.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

namespace forebay::bind {

// Made and destroyed with the GIL held; between the two it may be read without. An object that is
// no C-contiguous buffer raises what Python raises for it (TypeError, BufferError or ValueError).
class ByteView {
 public:
  explicit ByteView(nanobind::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) nanobind::raise_python_error();
  }
  ~ByteView() { PyBuffer_Release(&view_); }
  ByteView(const ByteView&) = delete;
  ByteView& operator=(const ByteView&) = delete;

  const std::uint8_t* data() const noexcept { return static_cast<const std::uint8_t*>(view_.buf); }
  std::size_t size() const noexcept { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_;
};

}  // namespace forebay::bind
