#include "../core/resample.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <optional>
#include <string>
#include <tuple>

#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

using Table = nb::ndarray<const float, nb::shape<-1, 256>, nb::c_contig, nb::device::cpu>;
using Image = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::device::cpu>;
using Out = nb::ndarray<nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Pair = std::tuple<int, int>;
using Four = std::tuple<int, int, int, int>;

[[noreturn]] void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }

pixels::ValueType type_named(const std::string& name) {
  if (name == "uint8") return pixels::ValueType::u8;
  if (name == "float32") return pixels::ValueType::f32;
  if (name == "float16") return pixels::ValueType::f16;
  if (name == "bfloat16") return pixels::ValueType::bf16;
  refuse("ByteValues: dtype must be uint8, float32, float16 or bfloat16, got " + name);
}

void construct_values(pixels::ByteValues* self, const std::string& dtype,
                      const std::optional<Table>& table) {
  const pixels::ValueType type = type_named(dtype);
  if ((type == pixels::ValueType::u8) == table.has_value())
    refuse("ByteValues: uint8 takes no table, and every other dtype needs one; got " + dtype);
  if (!table) {
    new (self) pixels::ByteValues();
    return;
  }
  const std::size_t channels = table->shape(0);
  if (channels != 1 && channels != 3)
    refuse("ByteValues: table must have 1 or 3 channels, got " + std::to_string(channels));
  new (self) pixels::ByteValues(table->data(), static_cast<int>(channels), type);
}

bool holds(nb::dlpack::dtype dtype, pixels::ValueType type) {
  const bool half = dtype == nb::dtype<std::uint16_t>();  // NumPy has no bfloat16
  const auto code = static_cast<nb::dlpack::dtype_code>(dtype.code);
  switch (type) {
    case pixels::ValueType::u8:
      return dtype == nb::dtype<std::uint8_t>();
    case pixels::ValueType::f32:
      return dtype == nb::dtype<float>();
    case pixels::ValueType::f16:
      return code == nb::dlpack::dtype_code::Float && dtype.bits == 16 && dtype.lanes == 1;
    case pixels::ValueType::bf16:
      return half || (code == nb::dlpack::dtype_code::Bfloat && dtype.bits == 16);
  }
  return false;
}

// The place that an array is, once it is known to hold such values of such channels.
pixels::Place place_of(const Out& out, const pixels::ByteValues& values, std::size_t channels,
                       Pair corner, bool planar) {
  const std::size_t height = out.shape(planar ? 1 : 0);
  const std::size_t width = out.shape(planar ? 2 : 1);
  const std::size_t deep = out.shape(planar ? 0 : 2);
  if (!holds(out.dtype(), values.type()))
    refuse("resample: out has another dtype than the values (bfloat16 lies in uint16)");
  if (deep != channels)
    refuse("resample: out has " + std::to_string(deep) + " channels in that layout, the image " +
           std::to_string(channels));
  if (height > pixels::kLargestSide || width > pixels::kLargestSide)
    refuse("resample: out is larger than 2**20 on a side");
  return {out.data(),
          {static_cast<int>(height), static_cast<int>(width)},
          std::get<0>(corner),
          std::get<1>(corner),
          planar ? pixels::Order::planar : pixels::Order::interleaved};
}

// A Resampler that two threads cannot use at once.
class Guarded {
 public:
  explicit Guarded(bool portable) : resampler_(portable) {}

  void run(const Image& image, const pixels::ByteValues& values, Pair size, Four window,
           const Out& out, Pair corner, bool planar, bool mirrored) {
    const std::size_t channels = image.shape(2);
    if (image.shape(0) > pixels::kLargestSide || image.shape(1) > pixels::kLargestSide)
      refuse("resample: the image is larger than 2**20 on a side");
    if (image.stride(2) != 1 || image.stride(1) != static_cast<std::int64_t>(channels))
      refuse("resample: each row of the image must be contiguous");
    pixels::Resampling what{image.data(),
                            static_cast<std::ptrdiff_t>(image.stride(0)),
                            static_cast<int>(channels),
                            {static_cast<int>(image.shape(0)), static_cast<int>(image.shape(1))},
                            {std::get<0>(size), std::get<1>(size)},
                            {std::get<0>(window), std::get<1>(window), std::get<2>(window),
                             std::get<3>(window)},
                            mirrored};
    const pixels::Place place = place_of(out, values, channels, corner, planar);
    const pixels::Outcome outcome = fitted(what, values, place);
    if (outcome == pixels::Outcome::no_memory) throw std::bad_alloc();
    if (outcome == pixels::Outcome::bad_shape) refuse(sentence(what, place));
  }

 private:
  pixels::Outcome fitted(pixels::Resampling& what, const pixels::ByteValues& values,
                         const pixels::Place& place) {
    if (busy_.test_and_set(std::memory_order_acquire))
      throw std::runtime_error("resample: this Resampler is in use by another thread");
    nb::gil_scoped_release unlocked;
    const pixels::Outcome outcome = from_whole(what, values, place);
    busy_.clear(std::memory_order_release);
    return outcome;
  }

  // The core reads from the first needed pixel on; an image of Python is a whole box.
  pixels::Outcome from_whole(pixels::Resampling& what, const pixels::ByteValues& values,
                             const pixels::Place& place) noexcept {
    if (!pixels::fits(what, values, place)) return pixels::Outcome::bad_shape;
    const int row = pixels::needed(what.vertical()).first;
    const int column = pixels::needed(what.horizontal()).first;
    what.pixels += row * what.stride + std::ptrdiff_t{column} * what.channels;
    return resampler_.run(what, values, place);
  }

  static std::string sentence(const pixels::Resampling& what, const pixels::Place& place) {
    const auto pair = [](int a, int b) {
      return "(" + std::to_string(a) + ", " + std::to_string(b) + ")";
    };
    const pixels::Window& w = what.window;
    return "resample: an image of " + pair(what.box.height, what.box.width) + " pixels and " +
           std::to_string(what.channels) + " channels to size " +
           pair(what.size.height, what.size.width) + ", window of " + pair(w.height, w.width) +
           " at " + pair(w.top, w.left) + ", placed at " + pair(place.top, place.left) +
           " of an out of " + pair(place.size.height, place.size.width) +
           ": the window must lie inside the size and, placed, inside out; sides are 1 to 2**20, "
           "channels 1 or 3, as the table has";
  }

  pixels::Resampler resampler_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

void fill_out(const pixels::ByteValues& values, const Out& out, bool planar) {
  const std::size_t channels = out.shape(planar ? 0 : 2);
  if ((channels != 1 && channels != 3) ||
      (values.channels() != 0 && channels != static_cast<std::size_t>(values.channels())))
    refuse("resample: out must have 1 or 3 channels, as the table has, got " +
           std::to_string(channels));
  const pixels::Place place = place_of(out, values, channels, {0, 0}, planar);
  nb::gil_scoped_release unlocked;
  pixels::fill(values, place, static_cast<int>(channels));
}

Pair needed_of(int in, int out, int offset, int count) {
  if (in < 1 || out < 1 || in > pixels::kLargestSide || out > pixels::kLargestSide ||
      offset < 0 || count < 1 || count > out || offset > out - count)
    refuse("needed: sides must be in [1, 2**20] and [offset, offset + count) inside the output");
  const pixels::Span span = pixels::needed({in, out, offset, count});
  return {span.first, span.last};
}

}  // namespace

void register_resample(nb::module_& module) {
  nb::class_<pixels::ByteValues>(module, "ByteValues")
      .def("__init__", &construct_values, nb::arg("dtype"), nb::arg("table").noconvert().none())
      .def_prop_ro("linear", &pixels::ByteValues::linear);
  nb::class_<Guarded>(module, "Resampler")
      .def(nb::init<bool>(), nb::arg("portable") = false)
      .def("run", &Guarded::run, nb::arg("image").noconvert(), nb::arg("values"), nb::arg("size"),
           nb::arg("window"), nb::arg("out").noconvert(), nb::arg("corner"), nb::arg("planar"),
           nb::arg("mirrored"));
  module.def("fill_values", &fill_out, nb::arg("values"), nb::arg("out").noconvert(),
             nb::arg("planar"));
  module.def("needed", &needed_of, nb::arg("in_size"), nb::arg("out_size"), nb::arg("offset"),
             nb::arg("count"));
}

}  // namespace forebay::bind
