#include <nanobind/ndarray.h>

#include <cstdint>

#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

using Out = nb::ndarray<std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A tuple rather than a list: giving out a buffer may run Python, which could shorten a list.
void addresses(const nb::tuple& arrays, const Out& out) {
  const std::size_t count = arrays.size();
  if (out.size() != count) throw nb::value_error("addresses: out must have a place for each array");
  for (std::size_t i = 0; i < count; ++i) {
    Py_buffer view;
    if (PyObject_GetBuffer(nb::handle(arrays[i]).ptr(), &view, PyBUF_STRIDES) != 0)
      throw nb::python_error();
    out.data()[i] = reinterpret_cast<std::uintptr_t>(view.buf);
    PyBuffer_Release(&view);
  }
}

}  // namespace

void register_addresses(nb::module_& module) {
  module.def("addresses", &addresses, nb::arg("arrays"), nb::arg("out").noconvert());
}

}  // namespace forebay::bind
