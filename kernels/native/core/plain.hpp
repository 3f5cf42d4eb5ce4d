// Column chunks of Parquet in the form that forebay writes them (formats/parquet/SPEC.md): v1 data
// pages, PLAIN values, no dictionary, no lists, uncompressed or zstd. Every other form is refused,
// not guessed at: its caller has a decoder for those.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

// One column chunk and where its values go. Sizes in bytes unless said.
struct PlainChunk {
  std::int64_t start;         // of the chunk in `data`
  std::int64_t length;        // of the chunk
  std::int64_t values;        // that its pages must add up to, nulls included
  std::int64_t uncompressed;  // that its pages and their headers must not exceed
  std::int64_t width;         // of a value as stored, 1 to 16; 0 for byte arrays
  std::int64_t levels;        // the highest definition level, 0 to 3; a value is null below it
  std::int64_t zstd;          // whether page bodies are zstd frames
  std::int64_t text;          // whether byte arrays must be UTF-8
  std::int64_t out;           // where its values begin in `out`
  std::int64_t room;          // bytes of `out` from there on that are its own
  std::int64_t spans;         // of byte arrays: where their starts, then their lengths, begin in
                              // `spans`, 2 * values entries
  std::int64_t valid;         // where its validity begins in `valid`, `values` entries; -1: nowhere
};

struct PlainBuffers {
  const std::uint8_t* data;
  std::size_t size;
  std::uint8_t* out;
  std::size_t out_size;
  std::int64_t* spans;  // in entries
  std::size_t spans_size;
  std::uint8_t* valid;
  std::size_t valid_size;
};

// Decodes one chunk. False where it is not of the form above, damaged, or out of bounds; what was
// written until then is unspecified, and lies in the chunk's own places.
//
// Fixed values lie end to end at `out`, zeros where they are null. Byte arrays lie at `out` as they
// lie in the pages, each behind its length; their starts are counted from `out`'s first byte of the
// whole buffer, and a null is of no length. `valid` becomes 1 or 0; without a place for it a null is
// refused.
bool decode_plain(const PlainChunk& chunk, const PlainBuffers& buffers) noexcept;

}  // namespace forebay
