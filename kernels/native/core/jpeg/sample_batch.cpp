#include "sample_batch.hpp"

#include <cstdio>

namespace forebay::jpeg {
namespace {

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
