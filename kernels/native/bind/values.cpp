#include <nanobind/ndarray.h>

#include <cstdint>

#include "../core/runs.hpp"
#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Index = Array<const std::int64_t>;

// A new str or bytes; null for bytes that are not UTF-8, with no exception set for those.
PyObject* value_of(const char* data, Py_ssize_t size, bool text) {
  PyObject* const made =
      text ? PyUnicode_DecodeUTF8(data, size, nullptr) : PyBytes_FromStringAndSize(data, size);
  if (made == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) throw nb::python_error();
    PyErr_Clear();
  }
  return made;
}

nb::list values(const Array<const std::uint8_t>& data, const Index& starts, const Index& lengths,
                const Index& places, const Array<const bool>& valid, bool text, nb::list out) {
  const std::size_t count = starts.size();
  if (lengths.size() != count || places.size() != count ||
      (valid.size() != 0 && valid.size() != count))
    throw nb::value_error("values: starts, lengths, places and valid must have one size");
  if (run_outside(data.size(), starts.data(), lengths.data(), 0, count) != count)
    throw nb::index_error("values: a value does not lie inside data");
  nb::list bad;
  for (std::size_t i = 0; i < count; ++i) {
    const char* const from = reinterpret_cast<const char*>(data.data()) + starts.data()[i];
    const bool null = valid.size() != 0 && !valid.data()[i];
    PyObject* const made = null ? nb::none().release().ptr()
                                : value_of(from, static_cast<Py_ssize_t>(lengths.data()[i]), text);
    if (made == nullptr) {
      bad.append(i);
      continue;
    }
    // Looked up for each: making a value may run the collector, and that any code. It takes `made`
    // in either case.
    if (PyList_SetItem(out.ptr(), static_cast<Py_ssize_t>(places.data()[i]), made) != 0)
      throw nb::python_error();
  }
  return bad;
}

}  // namespace

void register_values(nb::module_& module) {
  module.def("values", &values, nb::arg("data").noconvert(), nb::arg("starts").noconvert(),
             nb::arg("lengths").noconvert(), nb::arg("places").noconvert(),
             nb::arg("valid").noconvert(), nb::arg("text"), nb::arg("out"));
}

}  // namespace forebay::bind
