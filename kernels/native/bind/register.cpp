#include "register.hpp"

NB_MODULE(_native, module) {
  module.doc() = "The native kernels: functions over buffers that release the GIL.";
  forebay::bind::register_crc32c(module);
  forebay::bind::register_columns(module);
#if defined(FOREBAY_JPEG)
  forebay::bind::register_jpeg_transcode(module);
  forebay::bind::register_jpeg_decode(module);
  forebay::bind::register_jpeg_header(module);
  forebay::bind::register_jpeg_slice(module);
#endif
  forebay::bind::register_block_tables(module);
  forebay::bind::register_resample(module);
  forebay::bind::register_file_read(module);
  forebay::bind::register_frames(module);
  forebay::bind::register_plain(module);
  forebay::bind::register_gather(module);
  forebay::bind::register_permute(module);
  forebay::bind::register_ragged(module);
  forebay::bind::register_runs(module);
  forebay::bind::register_values(module);
  forebay::bind::register_window_rows(module);
  forebay::bind::register_zstd(module);
#if defined(FOREBAY_JPEG)
  forebay::bind::register_jpeg_sample(module);  // after ByteValues, which its signature names
#endif
}
