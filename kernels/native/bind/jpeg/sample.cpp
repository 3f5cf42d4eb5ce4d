#include "../../core/jpeg/sample_batch.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "../buffer.hpp"
#include "../register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

constexpr std::size_t kNumbers = 13;  // of a framing, in the order of kernels/jpeg_sample.py

using Framings = nb::ndarray<const std::int32_t, nb::shape<-1, kNumbers>, nb::c_contig,
                             nb::device::cpu>;
using Places = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Bad = std::vector<std::tuple<std::size_t, int, std::string>>;

[[noreturn]] void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }

jpeg::Framing framing_of(const std::int32_t* n) {
  const auto side = [](std::int32_t value) {
    return value < 0 ? 0u : static_cast<std::uint32_t>(value);
  };
  return {{side(n[0]), side(n[1]), side(n[2]), side(n[3])},
          {n[4], n[5]},
          {n[6], n[7], n[8], n[9]},
          n[10],
          n[11],
          n[12] != 0};
}

void construct(jpeg::SampleBatch* self, const pixels::ByteValues& values, int height, int width,
               bool planar, bool luma, bool reduced, std::size_t limit) {
  if (height < 1 || width < 1 || height > pixels::kLargestSide || width > pixels::kLargestSide)
    refuse("JpegSamples: height and width must be in [1, 2**20], got " + std::to_string(height) +
           " and " + std::to_string(width));
  const jpeg::Field field{values,
                          {height, width},
                          planar ? pixels::Order::planar : pixels::Order::interleaved,
                          luma ? jpeg::Color::luma : jpeg::Color::rgb,
                          reduced};
  if (values.channels() != 0 && values.channels() != field.channels())
    refuse("JpegSamples: the table must have " + std::to_string(field.channels()) +
           " channels, got " + std::to_string(values.channels()));
  new (self) jpeg::SampleBatch(field, limit);
}

Bad make(jpeg::SampleBatch& batch, const nb::list& data, const Framings& framings,
         const Places& places, const Out& out) {
  const std::size_t count = data.size();
  if (framings.shape(0) != count || places.size() != count)
    refuse("JpegSamples: data, framings and places must have one size, got " +
           std::to_string(count) + ", " + std::to_string(framings.shape(0)) + " and " +
           std::to_string(places.size()));
  const std::size_t bytes = batch.field().sample_bytes();
  if (out.shape(1) != bytes)
    refuse("JpegSamples: out must have rows of " + std::to_string(bytes) + " bytes, got " +
           std::to_string(out.shape(1)));
  const std::vector<ByteView> views = views_of(data);
  std::vector<jpeg::Task> tasks;
  tasks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t place = places.data()[i];
    if (place < 0 || static_cast<std::uint64_t>(place) >= out.shape(0))
      refuse("JpegSamples: place " + std::to_string(place) + " is not a row of out, which has " +
             std::to_string(out.shape(0)));
    tasks.push_back({views[i].data(), views[i].size(),
                     framing_of(framings.data() + kNumbers * i),
                     out.data() + static_cast<std::size_t>(place) * bytes});
  }
  std::vector<jpeg::Made> made(count);
  {
    nb::gil_scoped_release unlocked;
    batch.run(tasks.data(), count, made.data());
  }
  Bad bad;
  for (std::size_t i = 0; i < count; ++i)
    if (made[i].status != jpeg::DecodeStatus::ok)
      bad.emplace_back(i, static_cast<int>(made[i].status), made[i].message);
  return bad;
}

std::size_t working(const jpeg::SampleBatch& batch, const nb::list& data,
                    const Framings& framings) {
  const std::size_t count = data.size();
  if (framings.shape(0) != count)
    refuse("JpegSamples: data and framings must have one size, got " + std::to_string(count) +
           " and " + std::to_string(framings.shape(0)));
  const std::vector<ByteView> views = views_of(data);
  std::vector<jpeg::Task> tasks;
  tasks.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    tasks.push_back({views[i].data(), views[i].size(), framing_of(framings.data() + kNumbers * i),
                     nullptr});
  nb::gil_scoped_release unlocked;
  return batch.working(tasks.data(), count);
}

}  // namespace

void register_jpeg_sample(nb::module_& module) {
  nb::class_<jpeg::SampleBatch>(module, "JpegSamples")
      .def("__init__", &construct, nb::arg("values"), nb::arg("height"), nb::arg("width"),
           nb::arg("planar"), nb::arg("luma"), nb::arg("reduced") = false,
           nb::arg("limit") = std::size_t{1} << 30)
      .def("make", &make, nb::arg("data"), nb::arg("framings").noconvert(),
           nb::arg("places").noconvert(), nb::arg("out").noconvert())
      .def("working", &working, nb::arg("data"), nb::arg("framings").noconvert());
}

}  // namespace forebay::bind
