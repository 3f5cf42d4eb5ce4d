#include "../core/file_read.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <tuple>
#include <vector>

#include "buffer.hpp"
#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

std::tuple<bool, std::size_t, std::size_t, int> read(const nb::bytes& path,
                                                     const std::vector<std::int64_t>& offsets,
                                                     const nb::list& outs) {
  if (offsets.size() != outs.size())
    throw nb::value_error("read_file: offsets and outs must have one size");
  const std::vector<ByteView> views = views_of(outs, PyBUF_WRITABLE);
  std::vector<FileRange> ranges;
  ranges.reserve(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::size_t size = views[i].size();
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (offsets[i] < 0 || offsets[i] > most - static_cast<std::int64_t>(size))
      throw nb::value_error("read_file: an offset is below 0 or too large");
    ranges.push_back({views[i].writable(), size, offsets[i]});
  }
  ReadSofar sofar{};
  {
    nb::gil_scoped_release unlocked;
    sofar = read_file(path.c_str(), ranges.data(), ranges.size());
  }
  return {sofar.opened, sofar.ranges, sofar.bytes, sofar.error};
}

}  // namespace

void register_file_read(nb::module_& module) {
  module.def("read_file", &read, nb::arg("path"), nb::arg("offsets"), nb::arg("outs"));
}

}  // namespace forebay::bind
