#include "../core/permute.hpp"

#include <nanobind/ndarray.h>

#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Index = Array<const std::int64_t>;

void draws(std::uint64_t low, std::uint64_t high, const Array<const std::uint64_t>& counters,
           const Array<std::uint32_t>& out) {
  const std::size_t count = counters.size();
  if (out.size() / 4 != count || out.size() % 4 != 0)
    throw nb::value_error("draws: out must have four words for each counter");
  nb::gil_scoped_release unlocked;
  philox_fill({low, high}, counters.data(), count, out.data());
}

void table(std::uint64_t low, std::uint64_t high, const Array<std::uint16_t>& out) {
  if (out.size() > 65536) throw nb::value_error("shuffled_table: out must be at most 2**16 long");
  nb::gil_scoped_release unlocked;
  shuffled_table({low, high}, out.data(), out.size());
}

std::int64_t find(const Array<const std::uint16_t>& from, const Index& index,
                  const Array<std::int64_t>& out) {
  if (out.size() != index.size()) throw nb::value_error("look_up: index and out differ in size");
  nb::gil_scoped_release unlocked;
  return look_up(from.data(), static_cast<std::int64_t>(from.size()), index.data(),
                 static_cast<std::int64_t>(index.size()), out.data());
}

template <auto Send>
std::int64_t send(std::int64_t n, std::uint64_t left, std::uint64_t right, std::uint64_t low,
                  std::uint64_t high, const Index& index, const Array<std::int64_t>& out) {
  const Halves halves{n, left, right};
  if (!halves.sound())
    throw nb::value_error("permute: left and right must be at most 2**31, their product n or more");
  if (out.size() != index.size()) throw nb::value_error("permute: index and out differ in size");
  nb::gil_scoped_release unlocked;
  return Send(halves, {low, high}, index.data(), static_cast<std::int64_t>(index.size()),
              out.data());
}

}  // namespace

void register_permute(nb::module_& module) {
  const auto strict = [](const char* name) { return nb::arg(name).noconvert(); };
  module.def("draws", &draws, nb::arg("low"), nb::arg("high"), strict("counters"), strict("out"));
  module.def("shuffled_table", &table, nb::arg("low"), nb::arg("high"), strict("out"));
  module.def("look_up", &find, strict("table"), strict("index"), strict("out"));
  module.def("permute", &send<&permute>, nb::arg("n"), nb::arg("left"), nb::arg("right"),
             nb::arg("low"), nb::arg("high"), strict("index"), strict("out"));
  module.def("permute_portable", &send<&permute_portable>, nb::arg("n"), nb::arg("left"),
             nb::arg("right"), nb::arg("low"), nb::arg("high"), strict("index"), strict("out"));
}

}  // namespace forebay::bind
