#include "sample_batch.hpp"

#include <algorithm>
#include <cstdio>

#include "reduced.hpp"
#include "upright.hpp"

namespace forebay::jpeg {
namespace {

// A row of the resampler's, and its weights, for each row and column that it reads or makes.
constexpr std::size_t kResamplerBytes = 32;

std::size_t working_bytes(const Task& task, const Field& field) noexcept {
  Header header;
  if (parse_header(task.data, task.size, header) != HeaderStatus::ok) return 0;
  const bool transposed = is_transposed(header.orientation);
  const std::uint32_t height = transposed ? header.width : header.height;
  const std::uint32_t width = transposed ? header.height : header.width;
  const Window& box = task.framing.box;
  if (!box.inside(height, width) || task.framing.size.height < 1 || task.framing.size.width < 1)
    return 0;
  const Reduced reduced =
      field.reduced ? reduced_box(header, box, task.framing.size) : Reduced{1, box};
  Request request;
  request.denominator = reduced.denominator;
  request.window = stored_window(reduced.box, header.orientation,
                                 reduced_side(header.height, reduced.denominator),
                                 reduced_side(header.width, reduced.denominator));
  request.color = field.color;
  const auto channels = static_cast<std::size_t>(field.channels());
  const std::size_t turned =
      header.orientation == 1 ? 0 : std::size_t{box.height} * box.width * channels;
  const std::size_t sides = std::size_t{box.height} + box.width +
                            static_cast<std::size_t>(field.size.height + field.size.width);
  return working_bytes(task.size, header, request) + turned + kResamplerBytes * sides;
}

// A maker that has met a larger image is not kept: its memory counts only while it works.
constexpr std::size_t kKept = std::size_t{4} << 20;

}  // namespace

void SampleBatch::run(const Task* tasks, std::size_t count, Made* made) {
  std::unique_ptr<SampleMaker> maker = take();
  for (std::size_t i = 0; i < count; ++i) {
    const Task& task = tasks[i];
    made[i].status = maker->make(task.data, task.size, task.framing, field_, task.out);
    if (made[i].status != DecodeStatus::ok)
      std::snprintf(made[i].message, sizeof made[i].message, "%s", maker->message());
  }
  give_back(std::move(maker));
}

std::size_t SampleBatch::working(const Task* tasks, std::size_t count) const noexcept {
  std::size_t most = 0;
  for (std::size_t i = 0; i < count; ++i)
    most = std::max(most, working_bytes(tasks[i], field_));
  return most;
}

std::unique_ptr<SampleMaker> SampleBatch::take() {
  {
    const std::lock_guard<std::mutex> held(lock_);
    if (!idle_.empty()) {
      std::unique_ptr<SampleMaker> maker = std::move(idle_.back());
      idle_.pop_back();
      return maker;
    }
  }
  return std::make_unique<SampleMaker>(limit_);
}

void SampleBatch::give_back(std::unique_ptr<SampleMaker> maker) {
  if (maker->largest() > kKept) return;
  const std::lock_guard<std::mutex> held(lock_);
  idle_.push_back(std::move(maker));
}

}  // namespace forebay::jpeg
