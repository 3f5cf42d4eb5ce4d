#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "../core/prefetch.hpp"
#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Index = Array<const std::int64_t>;

constexpr std::size_t kAhead = 16;

// What short texts begin with: a hash, and whether all is ASCII.
struct Look {
  std::uint64_t hash;
  bool ascii;
};

Look look_at(const char* data, std::size_t size) noexcept {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15u, kHigh = 0x8080808080808080u;
  std::uint64_t hash = size, any = 0;
  const auto add = [&](std::uint64_t word) {
    any |= word;
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 29;
  };
  std::size_t at = 0;
  std::uint64_t word = 0;
  for (; at + sizeof word <= size; at += sizeof word) {
    std::memcpy(&word, data + at, sizeof word);
    add(word);
  }
  if (at < size) {
    word = 0;
    std::memcpy(&word, data + at, size - at);
    add(word);
  }
  return {hash, (any & kHigh) == 0};
}

// Short ASCII texts that were made lately, to be given again: a column often has few of them, and
// finding one costs a fraction of making it. Where that is seldom so, it stops looking.
class Lately {
 public:
  static constexpr std::size_t kLongest = 64;

  Lately() = default;
  Lately(const Lately&) = delete;
  Lately& operator=(const Lately&) = delete;
  ~Lately() {
    for (const Entry& entry : entries_) Py_XDECREF(entry.made);
  }

  bool looks() const noexcept { return looks_; }

  // A new reference; null with an exception set.
  PyObject* get(const char* data, std::size_t size, std::uint64_t hash) {
    Entry& entry = entries_[hash >> (64 - kBits)];
    ++asked_;
    if (entry.made != nullptr && entry.hash == hash &&
        static_cast<std::size_t>(PyUnicode_GET_LENGTH(entry.made)) == size &&
        std::memcmp(PyUnicode_1BYTE_DATA(entry.made), data, size) == 0) {
      ++found_;
      return Py_NewRef(entry.made);
    }
    // Each of the first few is new.
    if (asked_ >= 2 * entries_.size() && found_ < asked_ / 2) looks_ = false;
    PyObject* const made = PyUnicode_New(static_cast<Py_ssize_t>(size), 127);
    if (made == nullptr) return nullptr;
    std::memcpy(PyUnicode_1BYTE_DATA(made), data, size);
    Py_XSETREF(entry.made, Py_NewRef(made));
    entry.hash = hash;
    return made;
  }

 private:
  struct Entry {
    std::uint64_t hash = 0;
    PyObject* made = nullptr;
  };
  static constexpr int kBits = 11;
  std::array<Entry, std::size_t{1} << kBits> entries_;
  std::size_t asked_ = 0;
  std::size_t found_ = 0;
  bool looks_ = true;
};

// A new str; null for bytes that are not UTF-8, with no exception set for those.
PyObject* text_of(const char* data, std::size_t size, Lately& lately) {
  PyObject* made = nullptr;
  const Look look = size > 1 && size <= Lately::kLongest ? look_at(data, size) : Look{0, false};
  if (look.ascii && lately.looks()) {
    made = lately.get(data, size, look.hash);
  } else if (look.ascii) {
    made = PyUnicode_New(static_cast<Py_ssize_t>(size), 127);
    if (made != nullptr) std::memcpy(PyUnicode_1BYTE_DATA(made), data, size);
  } else {
    made = PyUnicode_DecodeUTF8(data, static_cast<Py_ssize_t>(size), nullptr);
  }
  if (made == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) throw nb::python_error();
    PyErr_Clear();
  }
  return made;
}

nb::list values(const Array<const std::uint64_t>& addresses, const Index& lengths,
                const Index& places, const Array<const bool>& valid, bool text, nb::list out) {
  const std::size_t count = addresses.size();
  if (lengths.size() != count || places.size() != count ||
      (valid.size() != 0 && valid.size() != count))
    throw nb::value_error("values: addresses, lengths, places and valid must have one size");
  nb::list bad;
  Lately lately;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      const auto* const next = reinterpret_cast<const std::uint8_t*>(addresses.data()[i + kAhead]);
      ask_for(next, static_cast<std::size_t>(lengths.data()[i + kAhead]));
    }
    const char* const from = reinterpret_cast<const char*>(addresses.data()[i]);
    const auto size = static_cast<std::size_t>(lengths.data()[i]);
    PyObject* made = nullptr;
    if (valid.size() != 0 && !valid.data()[i]) {
      made = nb::none().release().ptr();
    } else if (text) {
      made = text_of(from, size, lately);
      if (made == nullptr) {
        bad.append(i);
        continue;
      }
    } else {
      made = PyBytes_FromStringAndSize(from, static_cast<Py_ssize_t>(size));
      if (made == nullptr) throw nb::python_error();
    }
    // Looked up for each: what stood there may run any code as it goes. It takes `made` in either
    // case.
    if (PyList_SetItem(out.ptr(), static_cast<Py_ssize_t>(places.data()[i]), made) != 0)
      throw nb::python_error();
  }
  return bad;
}

}  // namespace

void register_values(nb::module_& module) {
  module.def("values", &values, nb::arg("addresses").noconvert(), nb::arg("lengths").noconvert(),
             nb::arg("places").noconvert(), nb::arg("valid").noconvert(), nb::arg("text"),
             nb::arg("out"));
}

}  // namespace forebay::bind
