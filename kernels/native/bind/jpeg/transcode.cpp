#include "../../core/jpeg/transcode.hpp"

#include "../buffer.hpp"
#include "../register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

nb::tuple of_buffer(nb::handle buffer, unsigned max_interval, bool keep_metadata) {
  const ByteView data(buffer);
  if (max_interval == 0) throw nb::value_error("jpeg_transcode: max_interval must be at least 1");
  jpeg::Transcoded done;
  {
    nb::gil_scoped_release unlocked;
    done = jpeg::transcode(data.data(), data.size(), {max_interval, keep_metadata});
  }
  if (done.outcome == jpeg::Outcome::transcoded)
    return nb::make_tuple(nb::bytes(done.data.get(), done.size), "", "");
  return nb::make_tuple(nb::none(), jpeg::outcome_name(done.outcome), done.detail);
}

}  // namespace

void register_jpeg_transcode(nb::module_& module) {
  module.def("jpeg_transcode", &of_buffer, nb::arg("buffer"), nb::arg("max_interval"),
             nb::arg("keep_metadata"));
}

}  // namespace forebay::bind
