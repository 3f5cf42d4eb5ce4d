#include "../core/gather.hpp"

#include <nanobind/ndarray.h>

#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

using Index = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table =
    nb::ndarray<const std::uint64_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

std::int64_t gather(const Table& table, const Index& which, const Index& rows, const Index& places,
                    std::int64_t room, std::size_t width, std::uint64_t out) {
  const std::size_t count = rows.size();
  for (const Index* one : {&which, &places})
    if (one->size() != 0 && one->size() != count)
      throw nb::value_error("gather_fixed: which and places must be empty or as long as rows");
  const Named named{which.size() ? which.data() : nullptr, rows.data(),
                    places.size() ? places.data() : nullptr, static_cast<std::int64_t>(count)};
  nb::gil_scoped_release unlocked;
  return gather_fixed(reinterpret_cast<const FixedBlock*>(table.data()),
                      static_cast<std::int64_t>(table.shape(0)), named, room, width,
                      reinterpret_cast<std::uint8_t*>(out));
}

}  // namespace

void register_gather(nb::module_& module) {
  module.def("gather_fixed", &gather, nb::arg("table").noconvert(), nb::arg("which").noconvert(),
             nb::arg("rows").noconvert(), nb::arg("places").noconvert(), nb::arg("room"),
             nb::arg("width"), nb::arg("out"));
}

}  // namespace forebay::bind
