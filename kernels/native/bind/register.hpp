// One function a topic; register.cpp calls each once.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay::bind {

void register_crc32c(nanobind::module_& module);

}  // namespace forebay::bind
