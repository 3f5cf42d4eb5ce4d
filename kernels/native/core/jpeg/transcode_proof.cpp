#include <cstring>

#include "transcode_job.hpp"

namespace forebay::jpeg {
namespace {

// Rows of blocks one by one, of both: the arrays are in memory, so nothing is moved for it.
bool same_blocks(Job& job, jvirt_barray_ptr* found, int c) {
  const jpeg_component_info& part = job.source.comp_info[c];
  const auto s = reinterpret_cast<j_common_ptr>(&job.source);
  const auto r = reinterpret_cast<j_common_ptr>(&job.result);
  for (JDIMENSION row = 0; row < part.height_in_blocks; ++row) {
    JBLOCKARRAY a = job.source.mem->access_virt_barray(s, job.coefficients[c], row, 1, FALSE);
    JBLOCKARRAY b = job.result.mem->access_virt_barray(r, found[c], row, 1, FALSE);
    if (std::memcmp(a[0], b[0], part.width_in_blocks * BLOCK_BYTES) != 0) return false;
  }
  return true;
}

bool same_component(Job& job, jvirt_barray_ptr* found, int c) {
  const jpeg_component_info &a = job.source.comp_info[c], &b = job.result.comp_info[c];
  const bool lone = job.source.num_components == 1;
  return a.component_id == b.component_id && a.width_in_blocks == b.width_in_blocks &&
         a.height_in_blocks == b.height_in_blocks &&
         b.h_samp_factor == (lone ? 1 : a.h_samp_factor) &&
         b.v_samp_factor == (lone ? 1 : a.v_samp_factor) && b.quant_table != nullptr &&
         std::memcmp(a.quant_table->quantval, b.quant_table->quantval,
                     sizeof a.quant_table->quantval) == 0 &&
         same_blocks(job, found, c);
}

}  // namespace

void compare(Job& job) {
  jpeg_decompress_struct &s = job.source, &r = job.result;
  r.err = &job.errors;
  jpeg_create_decompress(&r);
  jpeg_mem_src(&r, job.sink.data, static_cast<unsigned long>(job.sink.size));
  jpeg_read_header(&r, TRUE);
  const bool same_frame =
      r.image_width == s.image_width && r.image_height == s.image_height &&
      r.num_components == s.num_components && r.jpeg_color_space == s.jpeg_color_space &&
      r.saw_JFIF_marker == s.saw_JFIF_marker && r.saw_Adobe_marker == s.saw_Adobe_marker &&
      r.Adobe_transform == s.Adobe_transform && !r.progressive_mode && !r.arith_code &&
      r.comps_in_scan == r.num_components && r.restart_interval == job.target.restart_interval;
  if (!same_frame) keep(job.errors, Outcome::different, "another header was read back");
  jvirt_barray_ptr* found = jpeg_read_coefficients(&r);
  for (int c = 0; c < r.num_components; ++c)
    if (!same_component(job, found, c))
      keep(job.errors, Outcome::different, "component %d was not read back as written", c);
}

}  // namespace forebay::jpeg
