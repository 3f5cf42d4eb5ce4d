// Many encoded JPEGs to many places of one batch, from any number of threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "sample.hpp"

namespace forebay::jpeg {

// One image of a batch: its bytes, and where its sample goes.
struct Task {
  const std::uint8_t* data;
  std::size_t size;
  Framing framing;
  void* out;
};

// What became of it; message is only written where status is not ok.
struct Made {
  DecodeStatus status = DecodeStatus::ok;
  char message[200] = "";
};

class SampleBatch {
 public:
  // `limit`: bytes that one image may take beside its data.
  SampleBatch(const Field& field, std::size_t limit) : field_(field), limit_(limit) {}

  const Field& field() const noexcept { return field_; }

  // Makes tasks[i] into made[i]; a bad image spoils only its own sample. Throws std::bad_alloc.
  void run(const Task* tasks, std::size_t count, Made* made);

  // Bytes beside the data that `run` holds at most at a time: those of the task that takes most.
  // Nothing is decoded; what cannot be decoded takes nothing.
  std::size_t working(const Task* tasks, std::size_t count) const noexcept;

 private:
  std::unique_ptr<SampleMaker> take();
  void give_back(std::unique_ptr<SampleMaker> maker);

  Field field_;
  std::size_t limit_;
  std::mutex lock_;
  std::vector<std::unique_ptr<SampleMaker>> idle_;
};

}  // namespace forebay::jpeg
