#include "../core/crc32c.hpp"

#include <nanobind/ndarray.h>

#include <string>

#include "buffer.hpp"
#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

using Offsets = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Checks = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::uint32_t of_buffer(nb::handle buffer, std::uint32_t value) {
  const ByteView data(buffer);
  nb::gil_scoped_release unlocked;
  return crc32c(data.data(), data.size(), value);
}

std::uint32_t of_buffer_portable(nb::handle buffer, std::uint32_t value) {
  const ByteView data(buffer);
  nb::gil_scoped_release unlocked;
  return crc32c_portable(data.data(), data.size(), value);
}

void of_ranges(nb::handle buffer, const Offsets& starts, const Offsets& lengths,
               const Checks& out) {
  const ByteView data(buffer);
  const std::size_t count = starts.size();
  if (lengths.size() != count || out.size() != count) {
    const std::string message = "crc32c_ranges: starts, lengths and out must have one size, got " +
                                std::to_string(count) + ", " + std::to_string(lengths.size()) +
                                " and " + std::to_string(out.size());
    throw nb::value_error(message.c_str());
  }
  std::size_t bad;
  {
    nb::gil_scoped_release unlocked;
    bad = crc32c_ranges(data.data(), data.size(), starts.data(), lengths.data(), count, out.data());
  }
  if (bad != count) {
    const std::string message = "crc32c_ranges: range " + std::to_string(bad) + " (start " +
                                std::to_string(starts.data()[bad]) + ", length " +
                                std::to_string(lengths.data()[bad]) +
                                ") does not lie inside the buffer of " +
                                std::to_string(data.size()) + " bytes; nothing was written";
    throw nb::index_error(message.c_str());
  }
}

}  // namespace

// noconvert: nanobind would otherwise copy an array of another dtype, and throw a copied `out` away
// with the results in it.
void register_crc32c(nb::module_& module) {
  module.def("crc32c", &of_buffer, nb::arg("buffer"), nb::arg("value") = 0);
  module.def("crc32c_portable", &of_buffer_portable, nb::arg("buffer"), nb::arg("value") = 0);
  module.def("crc32c_ranges", &of_ranges, nb::arg("buffer"),
             nb::arg("starts").noconvert(), nb::arg("lengths").noconvert(),
             nb::arg("out").noconvert());
  module.def("crc32c_backend", &crc32c_backend);
}

}  // namespace forebay::bind
