#include "../core/zstd.hpp"

#include <nanobind/ndarray.h>

#include <string>

#include "../core/runs.hpp"
#include "buffer.hpp"
#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Offsets = Array<const std::int64_t>;

void make_dictionary(ZstdDictionary* self, nb::handle buffer) {
  const ByteView data(buffer);
  new (self) ZstdDictionary(data.data(), data.size());
  if (self->good()) return;
  self->~ZstdDictionary();
  throw nb::value_error("ZstdDictionary: libzstd refuses these bytes, or is not there");
}

std::size_t decompress(const Array<const std::uint8_t>& data, const Offsets& starts,
                       const Offsets& lengths, const Array<std::uint8_t>& out,
                       const Offsets& out_starts, const Offsets& out_lengths,
                       const Array<std::uint8_t>& bad, const ZstdDictionary* dictionary) {
  const std::size_t count = starts.size();
  if (lengths.size() != count || out_starts.size() != count || out_lengths.size() != count ||
      bad.size() != count)
    throw nb::value_error("zstd_decompress: starts, lengths, their outs and bad must have one size");
  if (!zstd_found()) throw std::runtime_error("zstd_decompress: there is no libzstd");
  const ZstdFrames frames{data.data(),       starts.data(),      lengths.data(), out.data(),
                          out_starts.data(), out_lengths.data(), count};
  std::size_t from, to, wrong = 0;
  {
    nb::gil_scoped_release unlocked;
    from = run_outside(data.size(), starts.data(), lengths.data(), 0, count);
    to = run_outside(out.size(), out_starts.data(), out_lengths.data(), 0, count);
    if (from == count && to == count) wrong = zstd_decompress(frames, dictionary, bad.data());
  }
  if (from != count || to != count) {
    const std::string message = "zstd_decompress: frame " +
                                std::to_string(from != count ? from : to) +
                                " does not lie inside " + (from != count ? "data" : "out") +
                                "; nothing was written";
    throw nb::index_error(message.c_str());
  }
  return wrong;
}

}  // namespace

void register_zstd(nb::module_& module) {
  nb::class_<ZstdDictionary>(module, "ZstdDictionary")
      .def("__init__", &make_dictionary, nb::arg("data"));
  module.def("zstd_version", &zstd_version);
  module.def("zstd_decompress", &decompress, nb::arg("data").noconvert(),
             nb::arg("starts").noconvert(), nb::arg("lengths").noconvert(),
             nb::arg("out").noconvert(), nb::arg("out_starts").noconvert(),
             nb::arg("out_lengths").noconvert(), nb::arg("bad").noconvert(),
             nb::arg("dictionary").none() = nb::none());
}

}  // namespace forebay::bind
