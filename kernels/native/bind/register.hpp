// One function a topic; register.cpp calls each once.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay::bind {

void register_crc32c(nanobind::module_& module);

#if defined(FOREBAY_JPEG)
void register_jpeg_transcode(nanobind::module_& module);
#endif

}  // namespace forebay::bind
