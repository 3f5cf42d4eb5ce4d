// An entropy decoder for sequential Huffman scans, in the place of libjpeg's own.
//
// Written from ITU T.81, F.2.2. It is faster than libjpeg-turbo's in three ways: the data lies
// whole in memory, so that no MCU is tried fast and done again slowly ahead of a marker
// (libjpeg-turbo issue 910); one look-up mostly gives run and value of a coefficient at once; and
// of MCUs that are not shown only the DC prediction is kept, or nothing where a restart follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include "bits.hpp"
#include "huffman.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define FOREBAY_ENTROPY_BMI2 1
#endif

namespace forebay::jpeg {

class ScanDecoder {
 public:
  // Takes over `codec`, whose error manager must be a Guard's, after jpeg_start_decompress and
  // before the first row is read. Only MCU columns [first, last] will be looked at. The rest of
  // the codec's source must lie in memory, and the image must be one scan of all components (more
  // than one have been read when this is called). Returns false, with libjpeg's decoder left in
  // place, where the scan is progressive or arithmetic, or its tables are none. This object must outlive the codec's use; it keeps its tables for the next image.
  bool take_over(jpeg_decompress_struct& codec, std::uint32_t first, std::uint32_t last) noexcept;

 private:
  struct Block {
    const HuffmanTable* dc;
    const HuffmanTable* ac;
    std::uint8_t component;
    bool ac_needed;
  };

  static boolean decode_mcu(j_decompress_ptr codec, JBLOCKROW* blocks);
  bool build_tables(const jpeg_decompress_struct& codec) noexcept;
  const char* restart() noexcept;
  const char* decode(JBLOCKROW* blocks) noexcept;
  const char* decode_plain(JBLOCKROW* blocks) noexcept;
#if defined(FOREBAY_ENTROPY_BMI2)
  const char* decode_bmi2(JBLOCKROW* blocks) noexcept;
#endif
  using Decode = const char* (ScanDecoder::*)(JBLOCKROW*) noexcept;
  static const Decode kDecode;  // the one for this processor
  bool rest_is_unseen(bool row_is_skipped) const noexcept;

  BitReader bits_;
  std::uint32_t columns_, column_;  // MCUs a row, and which of them is next
  std::uint32_t first_, last_;
  std::uint32_t interval_, to_go_;  // MCUs between restarts, 0: none; and up to the next
  unsigned restart_number_;
  bool lost_;  // MCUs were passed over since the last restart
  int blocks_a_mcu_;
  std::uint32_t dc_[MAX_COMPS_IN_SCAN];  // unsigned: hostile sums may wrap
  Block block_[D_MAX_BLOCKS_IN_MCU];
  HuffmanTable dc_table_[NUM_HUFF_TBLS];
  HuffmanTable ac_table_[NUM_HUFF_TBLS];
};

}  // namespace forebay::jpeg
