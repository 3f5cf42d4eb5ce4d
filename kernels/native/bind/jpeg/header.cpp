#include "../../core/jpeg/header.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "../buffer.hpp"
#include "../register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

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

void of_images(const nb::list& data, const Table& out) {
  const std::size_t count = data.size();
  if (out.shape(0) != count)
    throw nb::value_error("jpeg_headers: data and out must have one size");
  const std::vector<ByteView> views = views_of(data);
  nb::gil_scoped_release unlocked;
  for (std::size_t i = 0; i < count; ++i) {
    jpeg::Header header;
    const jpeg::HeaderStatus status =
        jpeg::parse_header(views[i].data(), views[i].size(), header);
    write_row(status, header, out.data() + 10 * i);
  }
}

std::string status_sentence(int status) {
  return jpeg::sentence(static_cast<jpeg::HeaderStatus>(status));
}

}  // namespace

void register_jpeg_header(nb::module_& module) {
  module.def("jpeg_headers", &of_images, nb::arg("data"), nb::arg("out").noconvert());
  module.def("jpeg_header_sentence", &status_sentence, nb::arg("status"));
}

}  // namespace forebay::bind
