#include "../core/columns.hpp"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <vector>

#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

using Index = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Addresses = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table =
    nb::ndarray<const std::uint64_t, nb::shape<-1, -1, 3>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Room = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr std::size_t kMost = std::size_t{1} << 40;  // products of a few such sizes are checked

void check_width(std::size_t width) {
  if (width != 1 && width != 2 && width != 4 && width != 8)
    throw nb::value_error("columns: values must be of 1, 2, 4 or 8 bytes");
}

void put_side_by_side(const Bytes& data, const Index& starts, std::size_t rows, std::size_t width,
                      const Room& out) {
  check_width(width);
  const std::size_t count = starts.size();
  if (count == 0) return;
  if (rows > kMost || out.size() / width / count < rows)
    throw nb::index_error("interleave: the columns do not fit out");
  std::vector<const std::uint8_t*> columns(count);
  for (std::size_t c = 0; c < count; ++c) {
    const auto start = static_cast<std::uint64_t>(starts.data()[c]);
    if (start > data.size() || (data.size() - start) / width < rows)
      throw nb::index_error("interleave: a column does not lie inside data");
    columns[c] = data.data() + start;
  }
  nb::gil_scoped_release unlocked;
  interleave(columns.data(), count, rows, width, out.data());
}

std::int64_t gather(const Table& table, const Index& which, const Index& rows, const Index& places,
                    std::int64_t room, std::size_t width, const Addresses& outs) {
  check_width(width);
  const std::size_t count = rows.size();
  for (const Index* one : {&which, &places})
    if (one->size() != 0 && one->size() != count)
      throw nb::value_error("gather_columns: which and places must be empty or as long as rows");
  if (outs.size() != table.shape(1) || room < 0)
    throw nb::value_error("gather_columns: each column needs an array");
  const Named named{which.size() ? which.data() : nullptr, rows.data(),
                    places.size() ? places.data() : nullptr, static_cast<std::int64_t>(count)};
  std::vector<std::uint8_t*> to(outs.size());
  std::transform(outs.data(), outs.data() + outs.size(), to.begin(),
                 [](std::uint64_t one) { return reinterpret_cast<std::uint8_t*>(one); });
  const ColumnTable from{reinterpret_cast<const FixedBlock*>(table.data()),
                         static_cast<std::int64_t>(table.shape(0)),
                         static_cast<std::int64_t>(table.shape(1)), width};
  nb::gil_scoped_release unlocked;
  return gather_columns(from, named, room, to.data());
}

}  // namespace

void register_columns(nb::module_& module) {
  module.def("interleave", &put_side_by_side, nb::arg("data").noconvert(),
             nb::arg("starts").noconvert(), nb::arg("rows"), nb::arg("width"),
             nb::arg("out").noconvert());
  module.def("gather_columns", &gather, nb::arg("table").noconvert(), nb::arg("which").noconvert(),
             nb::arg("rows").noconvert(), nb::arg("places").noconvert(), nb::arg("room"),
             nb::arg("width"), nb::arg("outs").noconvert());
}

}  // namespace forebay::bind
