#include "../core/plain.hpp"

#include <nanobind/ndarray.h>

#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
constexpr std::size_t kColumns = sizeof(PlainChunk) / sizeof(std::int64_t);
using Table = nb::ndarray<const std::int64_t, nb::shape<-1, kColumns>, nb::c_contig,
                          nb::device::cpu>;

std::size_t decode(const Array<const std::uint8_t>& data, const Table& chunks,
                   const Array<std::uint8_t>& out, const Array<std::int64_t>& spans,
                   const Array<std::uint8_t>& valid) {
  const PlainBuffers buffers{data.data(),  data.size(),  out.data(),   out.size(),
                             spans.data(), spans.size(), valid.data(), valid.size()};
  const std::size_t count = chunks.shape(0);
  const auto* const described = reinterpret_cast<const PlainChunk*>(chunks.data());
  nb::gil_scoped_release unlocked;
  for (std::size_t i = 0; i < count; ++i)
    if (!decode_plain(described[i], buffers)) return i;
  return count;
}

}  // namespace

void register_plain(nb::module_& module) {
  module.def("decode_plain", &decode, nb::arg("data").noconvert(), nb::arg("chunks").noconvert(),
             nb::arg("out").noconvert(), nb::arg("spans").noconvert(),
             nb::arg("valid").noconvert());
}

}  // namespace forebay::bind
