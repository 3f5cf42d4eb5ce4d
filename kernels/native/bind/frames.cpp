#include "../core/frames.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::size_t open(const Array<std::uint8_t>& data, const Array<const std::int64_t>& starts,
                 const Array<const std::int64_t>& lengths,
                 const std::optional<Array<const std::uint32_t>>& crcs,
                 const std::optional<Array<const std::uint32_t>>& sizes,
                 const Array<std::int64_t>& spans, const Array<std::uint8_t>& faults) {
  const std::size_t count = starts.size();
  if (lengths.size() != count || (crcs && crcs->size() != count) ||
      (sizes && sizes->size() != count) || spans.size() != 2 * count || faults.size() != count)
    throw nb::value_error(
        "open_frames: starts, lengths, crcs, sizes and faults must have one size, spans twice it");
  const Frames frames{data.data(),
                      data.size(),
                      starts.data(),
                      lengths.data(),
                      crcs ? crcs->data() : nullptr,
                      sizes ? sizes->data() : nullptr,
                      count};
  std::size_t bad = 0;
  std::size_t misplaced;
  {
    nb::gil_scoped_release unlocked;
    misplaced = misplaced_frame(frames);
    if (misplaced == count)
      bad = open_frames(frames, spans.data(), spans.data() + count,
                        reinterpret_cast<FrameFault*>(faults.data()));
  }
  if (misplaced != count) {
    const std::string message =
        "open_frames: record " + std::to_string(misplaced) + " (start " +
        std::to_string(starts.data()[misplaced]) + ", length " +
        std::to_string(lengths.data()[misplaced]) +
        ") is no run of 4-byte words inside the buffer of " + std::to_string(data.size()) +
        " bytes; nothing was written";
    throw nb::index_error(message.c_str());
  }
  return bad;
}

}  // namespace

// noconvert: a converted copy of what is written to would be thrown away with the results in it.
void register_frames(nb::module_& module) {
  module.def("open_frames", &open, nb::arg("data").noconvert(), nb::arg("starts").noconvert(),
             nb::arg("lengths").noconvert(), nb::arg("crcs").noconvert().none(),
             nb::arg("sizes").noconvert().none(), nb::arg("spans").noconvert(),
             nb::arg("faults").noconvert());
}

}  // namespace forebay::bind
