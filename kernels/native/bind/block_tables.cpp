#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "../core/gather.hpp"
#include "../core/ragged.hpp"
#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

template <int Width>
using Table = nb::ndarray<std::uint64_t, nb::shape<-1, Width>, nb::c_contig, nb::device::cpu>;

// An array's buffer for as long as this lives.
class View {
 public:
  explicit View(nb::handle array) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_STRIDES | PyBUF_FORMAT) != 0)
      throw nb::python_error();
  }
  ~View() { PyBuffer_Release(&view_); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(view_.buf); }
  std::string_view format() const { return view_.format ? view_.format : "B"; }
  std::uint64_t rows() const { return static_cast<std::uint64_t>(view_.shape[0]); }
  int dimensions() const { return view_.ndim; }

  bool rows_like(const View& other) const {
    if (view_.ndim != other.view_.ndim || view_.itemsize != other.view_.itemsize ||
        format() != other.format())
      return false;
    for (int i = 1; i < view_.ndim; ++i)
      if (view_.shape[i] != other.view_.shape[i]) return false;
    return true;
  }

  // Bytes from row to row, of which each is contiguous and scalars lie end to end; -1 for others.
  Py_ssize_t apart() const {
    Py_ssize_t bytes = view_.itemsize;
    for (int i = view_.ndim - 1; i > 0; --i) {
      if (view_.shape[i] > 1 && view_.strides[i] != bytes && view_.len != 0) return -1;
      bytes *= view_.shape[i];
    }
    if (view_.shape[0] <= 1 || view_.len == 0) return bytes;
    const Py_ssize_t stride = view_.strides[0];
    return stride == bytes || (stride > bytes && view_.ndim > 1) ? stride : -1;
  }

  bool run_of(std::string_view format) const {
    return view_.ndim == 1 && this->format() == format && apart() == view_.itemsize;
  }

 private:
  Py_buffer view_;
};

// Tuples rather than lists: giving out a buffer may run Python, which could shorten a list.
std::size_t fixed_table(const nb::tuple& arrays, const Table<3>& out) {
  const std::size_t count = arrays.size();
  if (out.shape(0) != count) throw nb::value_error("fixed_table: out needs a row for each array");
  if (count == 0) return 0;
  const View first(arrays[0]);
  if (first.dimensions() == 0) return 0;
  auto* const blocks = reinterpret_cast<FixedBlock*>(out.data());
  for (std::size_t i = 0; i < count; ++i) {
    const View one(arrays[i]);
    const Py_ssize_t apart = one.rows_like(first) ? one.apart() : -1;
    if (apart < 0) return i;
    blocks[i] = {one.address(), one.rows(), static_cast<std::uint64_t>(apart)};
  }
  return count;
}

std::size_t ragged_table(const nb::tuple& values, const nb::tuple& starts,
                         const nb::tuple& lengths, const Table<5>& out) {
  const std::size_t count = values.size();
  if (out.shape(0) != count || starts.size() != count || lengths.size() != count)
    throw nb::value_error("ragged_table: out needs a row for each block, and all their arrays");
  if (count == 0) return 0;
  const std::string format(View(values[0]).format());
  auto* const blocks = reinterpret_cast<RaggedBlock*>(out.data());
  for (std::size_t i = 0; i < count; ++i) {
    const View value(values[i]), start(starts[i]), length(lengths[i]);
    // "l" is int64 wherever NumPy runs but on Windows; others take the slow way.
    if (!value.run_of(format) || !start.run_of("l") || !length.run_of("l") ||
        start.rows() != length.rows())
      return i;
    blocks[i] = {value.address(), value.rows(), start.rows(), start.address(), length.address()};
  }
  return count;
}

}  // namespace

void register_block_tables(nb::module_& module) {
  module.def("fixed_table", &fixed_table, nb::arg("arrays"), nb::arg("out").noconvert());
  module.def("ragged_table", &ragged_table, nb::arg("values"), nb::arg("starts"),
             nb::arg("lengths"), nb::arg("out").noconvert());
}

}  // namespace forebay::bind
