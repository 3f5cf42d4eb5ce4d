#include "../core/window_rows.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <vector>

#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Int = Array<const std::int64_t>;
using Three = nb::ndarray<std::int64_t, nb::shape<3, -1>, nb::c_contig, nb::device::cpu>;

Edges edges_of(const Int& array) {
  return {array.data(), static_cast<std::int64_t>(array.size()) - 1};
}

std::tuple<std::int64_t, std::int64_t, std::int64_t> shuffle(
    const Int& positions, const Int& lane_start, const Int& windows,
    const Array<const std::uint64_t>& tables, const Three& out) {
  if (lane_start.size() < 2 || windows.size() < 1 || tables.size() != windows.size() - 1)
    throw nb::value_error("shuffle_positions: there must be a lane, and a table for each window");
  // An epoch of no rows has no windows; then no position exists, and none is looked up.
  if (windows.size() == 1 && windows.data()[0] > 0)
    throw nb::value_error("shuffle_positions: there are rows but no window");
  if (lane_start.data()[lane_start.size() - 1] != windows.data()[windows.size() - 1])
    throw nb::value_error("shuffle_positions: lanes and windows must have the same rows");
  if (out.shape(1) != positions.size())
    throw nb::value_error("shuffle_positions: out must be (3, positions)");
  std::vector<std::int64_t> present(lane_start.size() - 1);
  nb::gil_scoped_release unlocked;
  const Shuffled found = shuffle_positions(
      positions.data(), static_cast<std::int64_t>(positions.size()), edges_of(lane_start),
      edges_of(windows), tables.data(), present.data(), out.data());
  return {found.bad, found.missing, found.large};
}

std::int64_t place(const Int& window, const Int& edges, const Int& starts, const Int& blocks,
                   const Array<std::int64_t>& row, const Array<std::int64_t>& block) {
  if (edges.size() < 1 || starts.size() < 1 || blocks.size() != starts.size() - 1)
    throw nb::value_error("place_rows: edges and starts must end in a total, blocks have a start");
  if (row.size() != window.size() || block.size() != window.size())
    throw nb::value_error("place_rows: window, row and block must have one size");
  nb::gil_scoped_release unlocked;
  return place_rows(window.data(), static_cast<std::int64_t>(window.size()), edges_of(edges),
                    edges_of(starts), blocks.data(), row.data(), block.data());
}

std::int64_t locate(const Int& rows, const Int& starts, const Array<std::int64_t>& place,
                    const Array<std::int64_t>& offset) {
  if (starts.size() < 1) throw nb::value_error("locate_rows: starts must end in a total");
  if (starts.size() == 1 && starts.data()[0] > 0)
    throw nb::value_error("locate_rows: there are rows but no part");
  if (place.size() != rows.size() || offset.size() != rows.size())
    throw nb::value_error("locate_rows: rows, place and offset must have one size");
  nb::gil_scoped_release unlocked;
  return locate_rows(rows.data(), static_cast<std::int64_t>(rows.size()), edges_of(starts),
                     place.data(), offset.data());
}

}  // namespace

void register_window_rows(nb::module_& module) {
  const auto strict = [](const char* name) { return nb::arg(name).noconvert(); };
  module.def("shuffle_positions", &shuffle, strict("positions"), strict("lane_start"),
             strict("windows"), strict("tables"), strict("out"));
  module.def("place_rows", &place, strict("window"), strict("edges"), strict("starts"),
             strict("blocks"), strict("row"), strict("block"));
  module.def("locate_rows", &locate, strict("rows"), strict("starts"), strict("place"),
             strict("offset"));
}

}  // namespace forebay::bind
