#include "../../core/jpeg/decode.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "../buffer.hpp"
#include "../register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

using Array = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<3>, nb::c_contig>;
using Starts = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Result = std::tuple<int, std::string, std::optional<Array>>;
using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

Array copied(const jpeg::Pixels& pixels) {
  const std::size_t line = std::size_t{pixels.width} * pixels.channels;
  auto bytes = std::make_unique<std::uint8_t[]>(line * pixels.height);
  for (std::uint32_t y = 0; y < pixels.height; ++y)
    std::memcpy(bytes.get() + y * line, pixels.row(y), line);
  const nb::capsule owner(bytes.get(),
                          [](void* at) noexcept { delete[] static_cast<std::uint8_t*>(at); });
  std::uint8_t* data = bytes.release();
  return Array(data, {pixels.height, pixels.width, pixels.channels}, owner);
}

Result decode(jpeg::Decoder& decoder, nb::handle buffer, const Place& place, bool luma,
              unsigned denominator, bool libjpeg, const std::optional<Starts>& row_starts) {
  const ByteView data(buffer);
  const auto [top, left, height, width] = place;
  jpeg::Request request{{top, left, height, width},
                        luma ? jpeg::Color::luma : jpeg::Color::rgb,
                        denominator,
                        nullptr,
                        libjpeg ? jpeg::Entropy::libjpeg : jpeg::Entropy::own};
  jpeg::Pixels pixels;
  jpeg::DecodeStatus status;
  {
    nb::gil_scoped_release unlocked;
    jpeg::Header header;
    const bool parsed =
        jpeg::parse_header(data.data(), data.size(), header) == jpeg::HeaderStatus::ok;
    if (parsed && row_starts.has_value() && row_starts->size() == header.mcu_rows())
      request.row_starts = row_starts->data();
    status = decoder.decode(data.data(), data.size(), request, pixels);
  }
  if (status != jpeg::DecodeStatus::ok)
    return {static_cast<int>(status), decoder.message(), std::nullopt};
  return {0, "", copied(pixels)};
}

}  // namespace

void register_jpeg_decode(nb::module_& module) {
  nb::class_<jpeg::Decoder>(module, "JpegDecoder")
      .def(nb::init<std::size_t>(), nb::arg("limit") = std::size_t{1} << 30)
      .def("decode", &decode, nb::arg("data"), nb::arg("window"), nb::arg("luma"),
           nb::arg("denominator"), nb::arg("libjpeg"), nb::arg("row_starts").none());
}

}  // namespace forebay::bind
