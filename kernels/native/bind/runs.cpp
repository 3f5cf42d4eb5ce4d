#include "../core/runs.hpp"

#include <nanobind/ndarray.h>

#include <string>

#include "register.hpp"

namespace nb = nanobind;

namespace forebay::bind {
namespace {

template <class T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = Array<const std::uint8_t>;
using Offsets = Array<const std::int64_t>;

[[noreturn]] void outside(const char* name, const char* buffer, std::size_t at,
                          std::int64_t start, std::int64_t length, std::size_t size) {
  const std::string message = std::string(name) + ": run " + std::to_string(at) + " (start " +
                              std::to_string(start) + ", length " + std::to_string(length) +
                              ") does not lie inside " + buffer + " of " + std::to_string(size) +
                              " bytes; nothing was written";
  throw nb::index_error(message.c_str());
}

void take(const Bytes& data, const Offsets& starts, std::size_t width,
          const Array<std::uint8_t>& out) {
  const std::size_t count = starts.size();
  if (width == 0 || out.size() / width != count || out.size() % width != 0)
    throw nb::value_error("take_runs: out must have width bytes for each of starts");
  std::size_t bad;
  {
    nb::gil_scoped_release unlocked;
    bad = run_outside(data.size(), starts.data(), nullptr, width, count);
    if (bad == count) take_runs(data.data(), starts.data(), width, count, out.data());
  }
  if (bad != count)
    outside("take_runs", "data", bad, starts.data()[bad], static_cast<std::int64_t>(width),
            data.size());
}

void copy(const Bytes& data, const Offsets& starts, const Array<std::uint8_t>& out,
          const Offsets& out_starts, const Offsets& lengths) {
  const std::size_t count = starts.size();
  if (out_starts.size() != count || lengths.size() != count)
    throw nb::value_error("copy_runs: starts, out_starts and lengths must have one size");
  std::size_t from, to;
  {
    nb::gil_scoped_release unlocked;
    from = run_outside(data.size(), starts.data(), lengths.data(), 0, count);
    to = run_outside(out.size(), out_starts.data(), lengths.data(), 0, count);
    if (from == count && to == count)
      copy_runs(data.data(), starts.data(), out.data(), out_starts.data(), lengths.data(), count);
  }
  if (from != count)
    outside("copy_runs", "data", from, starts.data()[from], lengths.data()[from], data.size());
  if (to != count)
    outside("copy_runs", "out", to, out_starts.data()[to], lengths.data()[to], out.size());
}

std::size_t split(const Bytes& data, const Offsets& starts, const Offsets& lengths,
                  std::size_t prefix, std::size_t sizes_at, std::size_t fields,
                  const Array<std::int64_t>& spans) {
  const std::size_t count = starts.size();
  constexpr std::size_t kMost = std::size_t{1} << 32;
  if (lengths.size() != count || prefix > kMost || sizes_at > prefix ||
      fields > (prefix - sizes_at) / 4 || spans.size() != 2 * fields * count)
    throw nb::value_error(
        "split_records: starts and lengths must have one size, spans 2 * fields times it, and the "
        "sizes of all fields lie inside the prefix");
  std::size_t bad, found = 0;
  {
    nb::gil_scoped_release unlocked;
    bad = run_outside(data.size(), starts.data(), lengths.data(), 0, count);
    if (bad == count)
      found = split_records(data.data(), starts.data(), lengths.data(), count, prefix, sizes_at,
                            fields, spans.data());
  }
  if (bad != count)
    outside("split_records", "data", bad, starts.data()[bad], lengths.data()[bad], data.size());
  return found;
}

}  // namespace

void register_runs(nb::module_& module) {
  module.def("take_runs", &take, nb::arg("data").noconvert(), nb::arg("starts").noconvert(),
             nb::arg("width"), nb::arg("out").noconvert());
  module.def("split_records", &split, nb::arg("data").noconvert(), nb::arg("starts").noconvert(),
             nb::arg("lengths").noconvert(), nb::arg("prefix"), nb::arg("sizes_at"),
             nb::arg("fields"), nb::arg("spans").noconvert());
  module.def("copy_runs", &copy, nb::arg("data").noconvert(), nb::arg("starts").noconvert(),
             nb::arg("out").noconvert(), nb::arg("out_starts").noconvert(),
             nb::arg("lengths").noconvert());
}

}  // namespace forebay::bind
