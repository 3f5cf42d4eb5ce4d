#include "../core/ragged.hpp"

#include <nanobind/ndarray.h>

#include <string>

#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Index = Array<const std::int64_t>;
using Addresses = Array<const std::uint64_t>;
using Table = nb::ndarray<const std::uint64_t, nb::shape<-1, 5>, nb::c_contig, nb::device::cpu>;

std::int64_t find(const Table& table, const Index& which, const Index& rows, std::size_t itemsize,
                  const Array<std::uint64_t>& address, const Array<std::int64_t>& lengths) {
  const std::size_t count = rows.size();
  if ((which.size() != 0 && which.size() != count) || address.size() != count ||
      lengths.size() != count)
    throw nb::value_error("find_ragged: all must be as long as rows; which may be empty");
  const Named named{which.size() ? which.data() : nullptr, rows.data(), nullptr,
                    static_cast<std::int64_t>(count)};
  nb::gil_scoped_release unlocked;
  return find_ragged(reinterpret_cast<const RaggedBlock*>(table.data()),
                     static_cast<std::int64_t>(table.shape(0)), named, itemsize, address.data(),
                     lengths.data());
}

Found found(const char* who, const Addresses& address, const Index& lengths, std::size_t itemsize,
            std::initializer_list<const Index*> others) {
  const std::size_t count = address.size();
  bool alike = lengths.size() == count;
  for (const Index* one : others) alike = alike && one->size() == count;
  if (!alike) throw nb::value_error((std::string(who) + ": the sizes differ").c_str());
  return {address.data(), lengths.data(), static_cast<std::int64_t>(count), itemsize};
}

std::int64_t copy(const Addresses& address, const Index& lengths, std::size_t itemsize,
                  const Index& starts, std::uint64_t out, std::int64_t room) {
  const Found rows = found("copy_ragged", address, lengths, itemsize, {&starts});
  nb::gil_scoped_release unlocked;
  return copy_ragged(rows, starts.data(), reinterpret_cast<std::uint8_t*>(out), room);
}

std::int64_t pad(const Addresses& address, const Index& lengths, std::size_t itemsize,
                 const Index& starts, const Index& widths, std::uint64_t fill, bool left,
                 std::uint64_t out, std::int64_t room) {
  if (itemsize != 1 && itemsize != 2 && itemsize != 4 && itemsize != 8)
    throw nb::value_error("pad_ragged: elements must be of 1, 2, 4 or 8 bytes");
  const Found rows = found("pad_ragged", address, lengths, itemsize, {&starts, &widths});
  nb::gil_scoped_release unlocked;
  return pad_ragged(rows, starts.data(), widths.data(), {fill, left},
                    reinterpret_cast<std::uint8_t*>(out), room);
}

}  // namespace

void register_ragged(nb::module_& module) {
  module.def("find_ragged", &find, nb::arg("table").noconvert(), nb::arg("which").noconvert(),
             nb::arg("rows").noconvert(), nb::arg("itemsize"), nb::arg("address").noconvert(),
             nb::arg("lengths").noconvert());
  module.def("copy_ragged", &copy, nb::arg("address").noconvert(), nb::arg("lengths").noconvert(),
             nb::arg("itemsize"), nb::arg("starts").noconvert(), nb::arg("out"), nb::arg("room"));
  module.def("pad_ragged", &pad, nb::arg("address").noconvert(), nb::arg("lengths").noconvert(),
             nb::arg("itemsize"), nb::arg("starts").noconvert(), nb::arg("widths").noconvert(),
             nb::arg("fill"), nb::arg("left"), nb::arg("out"), nb::arg("room"));
}

}  // namespace forebay::bind
