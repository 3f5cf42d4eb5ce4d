#include "../../core/jpeg/header.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <string>

#include "../buffer.hpp"
#include "../register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

using Values = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Offsets = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<std::int32_t, nb::shape<-1, 10>, nb::c_contig, nb::device::cpu>;

// In the order of kernels/jpeg_header.py's fields.
void write_row(jpeg::HeaderStatus status, const jpeg::Header& header, std::int32_t* row) {
  const std::int32_t fields[10] = {static_cast<std::int32_t>(status),
                                   header.height,
                                   header.width,
                                   header.orientation,
                                   header.components,
                                   header.precision,
                                   static_cast<std::int32_t>(header.coding),
                                   header.arithmetic,
                                   header.restart_interval,
                                   header.claims_seekable()};
  const bool good = status == jpeg::HeaderStatus::ok;
  for (std::size_t i = 0; i < 10; ++i) row[i] = i == 0 || good ? fields[i] : 0;
}

void of_values(const Values& values, const Offsets& starts, const Offsets& lengths,
               const Table& out) {
  const std::size_t count = starts.size();
  if (lengths.size() != count || out.shape(0) != count)
    throw nb::value_error("jpeg_headers: starts, lengths and out must have one size");
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t start = starts.data()[i], length = lengths.data()[i];
    if (start >= 0 && length >= 0 && static_cast<std::uint64_t>(start) <= values.size() &&
        static_cast<std::uint64_t>(length) <= values.size() - static_cast<std::uint64_t>(start))
      continue;
    const std::string message = "jpeg_headers: value " + std::to_string(i) + " (start " +
                                std::to_string(start) + ", length " + std::to_string(length) +
                                ") does not lie inside the buffer of " +
                                std::to_string(values.size()) + " bytes; nothing was written";
    throw nb::index_error(message.c_str());
  }
  nb::gil_scoped_release unlocked;
  for (std::size_t i = 0; i < count; ++i) {
    jpeg::Header header;
    const jpeg::HeaderStatus status =
        jpeg::parse_header(values.data() + starts.data()[i],
                           static_cast<std::size_t>(lengths.data()[i]), header);
    write_row(status, header, out.data() + 10 * i);
  }
}

std::string status_sentence(int status) {
  return jpeg::sentence(static_cast<jpeg::HeaderStatus>(status));
}

}  // namespace

void register_jpeg_header(nb::module_& module) {
  module.def("jpeg_headers", &of_values, nb::arg("values").noconvert(),
             nb::arg("starts").noconvert(), nb::arg("lengths").noconvert(),
             nb::arg("out").noconvert());
  module.def("jpeg_header_sentence", &status_sentence, nb::arg("status"));
}

}  // namespace forebay::bind
