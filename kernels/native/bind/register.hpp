// One function a topic; register.cpp calls each once.
#pragma once

#include <nanobind/nanobind.h>

namespace forebay::bind {

void register_crc32c(nanobind::module_& module);
void register_columns(nanobind::module_& module);
#if defined(FOREBAY_JPEG)
void register_jpeg_decode(nanobind::module_& module);
void register_jpeg_header(nanobind::module_& module);
void register_jpeg_slice(nanobind::module_& module);
void register_jpeg_sample(nanobind::module_& module);
#endif

#if defined(FOREBAY_JPEG)
void register_jpeg_transcode(nanobind::module_& module);
#endif
void register_block_tables(nanobind::module_& module);
void register_resample(nanobind::module_& module);
void register_file_read(nanobind::module_& module);
void register_frames(nanobind::module_& module);
void register_plain(nanobind::module_& module);
void register_gather(nanobind::module_& module);
void register_permute(nanobind::module_& module);
void register_ragged(nanobind::module_& module);
void register_runs(nanobind::module_& module);
void register_values(nanobind::module_& module);
void register_window_rows(nanobind::module_& module);
void register_zstd(nanobind::module_& module);

}  // namespace forebay::bind
