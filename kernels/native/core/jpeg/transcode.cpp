#include "transcode.hpp"

#include <csetjmp>
#include <cstdio>

#include "transcode_job.hpp"
#include "transcode_markers.hpp"

namespace forebay::jpeg {
namespace {

constexpr std::size_t MAX_SEGMENTS = 4096;

// Whether what the header says is within bounds, and vouched for by the bytes that there are:
// coefficients are allocated next.
void check_header(Job& job) {
  const jpeg_decompress_struct& s = job.source;
  const int n = s.num_components;
  if (n != 1 && n != 3 && n != 4)
    keep(job.errors, Outcome::components, "%d components", n);
  std::uint64_t blocks = 0;
  int in_mcu = 0;
  for (int c = 0; c < n; ++c) {
    const jpeg_component_info& part = s.comp_info[c];
    blocks += std::uint64_t{part.width_in_blocks} * part.height_in_blocks;
    in_mcu += part.h_samp_factor * part.v_samp_factor;
    if (s.max_h_samp_factor % part.h_samp_factor || s.max_v_samp_factor % part.v_samp_factor)
      keep(job.errors, Outcome::sampling, "component %d has %dx%d samples of %dx%d", c,
           part.h_samp_factor, part.v_samp_factor, s.max_h_samp_factor, s.max_v_samp_factor);
  }
  if (n > 1 && in_mcu > C_MAX_BLOCKS_IN_MCU)
    keep(job.errors, Outcome::sampling, "%d blocks in an MCU", in_mcu);
  if (blocks > MAX_COEFFICIENT_BYTES / BLOCK_BYTES)
    keep(job.errors, Outcome::too_large, "%ux%u pixels need %llu MiB of coefficients",
         s.image_width, s.image_height,
         static_cast<unsigned long long>(blocks * BLOCK_BYTES >> 20));
  // A Huffman code has a bit at least. Each block has one code in a progressive file (DC), two in a
  // sequential one (DC, end of block). Arithmetic coding has no such bound; it gets the same one.
  const std::uint64_t per_byte = s.progressive_mode || s.arith_code ? 8 : 4;
  if (blocks > per_byte * job.size)
    keep(job.errors, s.arith_code ? Outcome::too_large : Outcome::corrupt,
         "%llu blocks cannot be in %zu bytes", static_cast<unsigned long long>(blocks), job.size);
}

void read_source(Job& job) {
  jpeg_decompress_struct& s = job.source;
  s.err = &job.errors;
  jpeg_create_decompress(&s);
  if (job.size < 4 || job.data[0] != 0xFF || job.data[1] != 0xD8)
    keep(job.errors, Outcome::not_jpeg, "does not begin with FF D8");
  if (count_segments(job.data, job.size, MAX_SEGMENTS) == MAX_SEGMENTS)
    keep(job.errors, Outcome::too_large, "%zu segments or more before the first scan",
         MAX_SEGMENTS);
  jpeg_mem_src(&s, job.data, static_cast<unsigned long>(job.size));
  save_markers(s, job.options.keep_metadata);
  jpeg_read_header(&s, TRUE);
  stop_saving(s);
  check_header(job);
  s.progress = &job.scans;
  job.coefficients = jpeg_read_coefficients(&s);
  // Decoders differ in what they make of a component that comes twice.
  if (!s.progressive_mode && s.input_scan_number > s.num_components)
    keep(job.errors, Outcome::corrupt, "%d scans of %d components", s.input_scan_number,
         s.num_components);
}

// Whether every coefficient was sent, to its last bit: libjpeg smooths what it decodes of a
// progressive file where they were not, and a baseline file would have other pixels.
void check_complete(Job& job) {
  const jpeg_decompress_struct& s = job.source;
  for (int c = 0; c < s.num_components; ++c) {
    const JQUANT_TBL* table = s.comp_info[c].quant_table;
    if (table == nullptr) keep(job.errors, Outcome::incomplete, "component %d has no scan", c);
    for (int k = 0; k < DCTSIZE2; ++k) {
      if (table->quantval[k] > 255)
        keep(job.errors, Outcome::quantisation, "a quantiser of %u, baseline has 255 at most",
             table->quantval[k]);
      if (s.progressive_mode && s.coef_bits[c][k] != 0)
        keep(job.errors, Outcome::incomplete, "coefficient %d of component %d was not sent whole",
             k, c);
    }
  }
}

unsigned mcus_in_row(const jpeg_decompress_struct& s) noexcept {
  const int factor = s.num_components == 1 ? 1 : s.max_h_samp_factor;
  const unsigned wide = DCTSIZE * static_cast<unsigned>(factor);
  return (s.image_width + wide - 1) / wide;
}

void write_target(Job& job) {
  jpeg_compress_struct& t = job.target;
  t.err = &job.errors;
  jpeg_create_compress(&t);
  t.dest = &job.sink;
  jpeg_copy_critical_parameters(&job.source, &t);
  if (t.num_components == 1) t.comp_info[0].h_samp_factor = t.comp_info[0].v_samp_factor = 1;
  t.optimize_coding = TRUE;
  t.restart_interval = interval_for(mcus_in_row(job.source), job.options.max_interval);
  // libjpeg would add what the source lacks; a CMYK file with Adobe's segment is inverted, to some
  // decoders, and one without is not.
  t.write_JFIF_header = t.write_Adobe_marker = FALSE;
  jpeg_write_coefficients(&t, job.coefficients);
  write_markers(job.source, job.options.keep_metadata, t);
  jpeg_finish_compress(&t);
}

void run(Job& job) {
  if (setjmp(job.errors.jump) != 0) return;
  job.errors.otherwise = Outcome::corrupt;
  read_source(job);
  check_complete(job);
  job.errors.otherwise = Outcome::different;
  write_target(job);
  compare(job);
  job.errors.outcome = Outcome::transcoded;
}

}  // namespace

const char* outcome_name(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::transcoded: return "transcoded";
    case Outcome::not_jpeg: return "not-jpeg";
    case Outcome::corrupt: return "corrupt";
    case Outcome::incomplete: return "incomplete";
    case Outcome::arithmetic: return "arithmetic";
    case Outcome::precision: return "precision";
    case Outcome::process: return "process";
    case Outcome::components: return "components";
    case Outcome::sampling: return "sampling";
    case Outcome::quantisation: return "quantisation";
    case Outcome::too_large: return "too-large";
    case Outcome::too_many_scans: return "too-many-scans";
    case Outcome::larger: return "larger";
    case Outcome::different: return "different";
    case Outcome::memory: return "memory";
  }
  return "unknown";
}

unsigned interval_for(unsigned mcus, unsigned max_interval) noexcept {
  unsigned below = 1;
  for (unsigned d = 2; d <= max_interval && d <= mcus; ++d)
    if (mcus % d == 0) below = d;
  if (below == mcus || 2 * below >= max_interval) return below;
  const std::uint64_t most = std::uint64_t{LONG_INTERVAL} * max_interval;
  for (unsigned d = max_interval + 1; d <= most && d <= mcus; ++d)
    if (mcus % d == 0) return d;
  return below;
}

Transcoded transcode(const std::uint8_t* data, std::size_t size,
                     const TranscodeOptions& options) noexcept {
  Transcoded done;
  const std::size_t capacity = size + size / GROWTH_DIVISOR + GROWTH_CONSTANT;
  done.data.reset(static_cast<std::uint8_t*>(std::malloc(capacity)));
  const std::unique_ptr<Job, Free> job(static_cast<Job*>(std::calloc(1, sizeof(Job))));
  if (done.data == nullptr || job == nullptr) {
    done.data.reset();
    std::snprintf(done.detail, sizeof done.detail, "%zu bytes could not be allocated", capacity);
    return done;
  }
  job->data = data;
  job->size = size;
  job->options = options;
  job->sink.capacity = capacity;
  prepare(*job, done);
  run(*job);
  jpeg_destroy_compress(&job->target);
  jpeg_destroy_decompress(&job->result);
  jpeg_destroy_decompress(&job->source);
  done.outcome = job->errors.outcome;
  if (done.outcome == Outcome::transcoded) {
    done.size = job->sink.size;
    done.detail[0] = '\0';
  } else {
    done.data.reset();
  }
  return done;
}

}  // namespace forebay::jpeg
