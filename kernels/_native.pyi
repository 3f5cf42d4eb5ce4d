"""The compiled kernels: thin, strict, and without the GIL; `forebay.kernels.crc` is their face."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

def crc32c(buffer: Buffer, value: int = 0) -> int:
    """CRC-32C of the bytes of a C-contiguous buffer, continuing from `value` (< 2**32).

    Raises:
        TypeError: `buffer` is not a buffer, or `value` does not fit.
        BufferError, ValueError: `buffer` is not C-contiguous; which of the two is its exporter's.
    """

def crc32c_portable(buffer: Buffer, value: int = 0) -> int:
    """As `crc32c`, by tables alone, whatever the processor has."""

def crc32c_ranges(
    buffer: Buffer,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    out: NDArray[np.uint32],
) -> None:
    """Writes the CRC-32C of bytes [starts[i], starts[i] + lengths[i]) of `buffer` to `out[i]`.

    All of `starts`, `lengths` and `out` are contiguous (K,); `out` is the caller's.

    Raises:
        IndexError: a range does not lie inside `buffer`; names it, and `out` is untouched.
        ValueError: the three sizes differ.
    """

def fixed_table(arrays: tuple[NDArray[Any], ...], out: NDArray[np.uint64]) -> int:
    """out[i] = address, number of rows and bytes from row to row of array i, (K, 3).

    Returns K, or the first array whose rows are unlike those of array 0 in dtype or shape, or do
    not lie as `forebay.kernels.blocks.row_stride` asks; what is in `out` from it on means nothing.

    Raises:
        ValueError: `out` has another size.
        TypeError, BufferError: something of `arrays` is no array.
    """

def ragged_table(
    values: tuple[NDArray[Any], ...],
    starts: tuple[NDArray[np.int64], ...],
    lengths: tuple[NDArray[np.int64], ...],
    out: NDArray[np.uint64],
) -> int:
    """As `fixed_table`, of (K, 5): address and number of values, number of rows, addresses of
    starts and of lengths, all of them contiguous."""

def crc32c_backend() -> str:
    """What `crc32c` runs on here: "sse4.2", "armv8" or "portable"."""

# Only where the build found libjpeg-turbo's headers.
def jpeg_transcode(
    buffer: Buffer, max_interval: int, keep_metadata: bool
) -> tuple[bytes | None, str, str]:
    """(seekable JPEG, "", ""), or (None, reason, detail) where the original is to be kept.

    Raises:
        ValueError: `max_interval` is 0.
        TypeError: `buffer` is not a buffer, or `max_interval` does not fit 32 bits.
        BufferError, ValueError: `buffer` is not C-contiguous; which of the two is its exporter's.
    """

def jpeg_headers(data: list[Buffer], out: NDArray[np.int32]) -> None:
    """Writes what the headers of N JPEGs say to `out` (N, 10), the caller's; the columns are
    those of `forebay.kernels.jpeg_header.FIELDS`.

    Raises:
        ValueError: the sizes differ.
        TypeError: something of `data` is not a buffer.
    """

def jpeg_header_sentence(status: int) -> str:
    """What a status in column 0 of `jpeg_headers` says."""

def jpeg_slice(
    data: Buffer, top: int, left: int, height: int, width: int, denominator: int
) -> tuple[bytes, int, int]:
    """The slice of a seekable JPEG for a window, and the window's top and left in it.

    Raises:
        ValueError: no seekable JPEG, a damaged one, or a window that is not inside.
    """

def jpeg_row_starts(data: Buffer) -> bytes:
    """Offsets of the rows of a seekable JPEG, (rows,) native uint32.

    Raises:
        ValueError: no seekable JPEG, or a damaged one.
    """

def jpeg_marker_scan_backend() -> str:
    """What the scan for markers runs on here: "avx2", "sse2" or "portable"."""

class JpegDecoder:
    """A decoder for one thread, with its memory."""

    def __init__(self, limit: int = 1 << 30) -> None:
        """`limit`: bytes that decoding one image may take."""

    def decode(
        self,
        data: Buffer,
        window: tuple[int, int, int, int],
        luma: bool,
        denominator: int,
        libjpeg: bool,
        row_starts: NDArray[np.uint32] | None,
    ) -> tuple[int, str, NDArray[np.uint8] | None]:
        """(status, why not, pixels): pixels are a new (h, w, c) array where status is 0."""

class ByteValues:
    """What becomes of an image's bytes: themselves ("uint8", no table), or a table's values."""

    def __init__(self, dtype: str, table: NDArray[np.float32] | None) -> None:
        """`dtype`: "uint8", "float32", "float16" or "bfloat16"; `table`: (1 or 3, 256), copied.

        Raises:
            ValueError: the dtype is none of these, or a table is missing or too much.
            TypeError: the table is not contiguous float32 of that shape.
        """

    @property
    def linear(self) -> bool:
        """Whether vector arithmetic gives the table's very bits, and so replaces looking it up."""

class Resampler:
    """One thread's scratch memory and weights for resampling; `portable`: no vector code."""

    def __init__(self, portable: bool = False) -> None: ...
    def run(
        self,
        image: NDArray[np.uint8],
        values: ByteValues,
        size: tuple[int, int],
        window: tuple[int, int, int, int],
        out: NDArray[Any],
        corner: tuple[int, int],
        planar: bool,
        mirrored: bool,
    ) -> None:
        """Resamples `image` to `size`, keeps `window` (top, left, height, width) of it, and writes
        that to `out` with its first pixel at `corner` (top, left). The GIL is released.

        `image`: (h, w, c), rows contiguous. `out`: (c, height, width) if `planar`, else (height,
        width, c), contiguous, the caller's; bfloat16 as uint16.

        Raises:
            ValueError: shapes, window or dtype do not go together; nothing was written.
            TypeError: an array of another number of dimensions, not contiguous, or read-only.
            RuntimeError: another thread is in `run` of this object.
        """

def fill_values(values: ByteValues, out: NDArray[Any], planar: bool) -> None:
    """Gives all of `out` (as for `Resampler.run`) the value of byte 0."""

def needed(in_size: int, out_size: int, offset: int, count: int) -> tuple[int, int]:
    """[first, last) source pixels of outputs [offset, offset + count) of one axis."""

def read_file(path: bytes, offsets: list[int], outs: list[Buffer]) -> tuple[bool, int, int, int]:
    """Reads ranges of a file; see `forebay.kernels.file_read.read_file`."""

def open_frames(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    crcs: NDArray[np.uint32] | None,
    sizes: NDArray[np.uint32] | None,
    spans: NDArray[np.int64],
    faults: NDArray[np.uint8],
) -> int:
    """Checks and joins K records in dmlc frames; see `forebay.kernels.frames.open_frames`.

    All are contiguous; `spans` is (2 * K,), the payloads' starts and then their lengths, and
    `faults` (K,). Returns how many records have a fault.

    Raises:
        IndexError: a record is no run of words inside `data`; names it, and nothing is written.
        ValueError: the sizes differ.
    """

def take_runs(
    data: NDArray[np.uint8], starts: NDArray[np.int64], width: int, out: NDArray[np.uint8]
) -> None:
    """Copies `width` bytes from each of (K,) `starts` to `out`, (K * width,), end to end.

    Raises:
        IndexError: a run does not lie inside `data`; names it, and nothing is written.
        ValueError: `out` has another size, or `width` is 0.
    """

def copy_runs(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    out: NDArray[np.uint8],
    out_starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> None:
    """Copies run i, `lengths[i]` bytes, from its start in `data` to its start in `out`.

    The two must not overlap.

    Raises:
        IndexError: a run does not lie inside its buffer; names it, and nothing is written.
        ValueError: the sizes differ.
    """

def split_records(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    prefix: int,
    sizes_at: int,
    fields: int,
    spans: NDArray[np.int64],
) -> int:
    """Finds the values in K records; see `forebay.kernels.runs.split_records`.

    `spans` is (2 * fields * K,). Returns K, or the first record that is not as it must be.

    Raises:
        IndexError: a record does not lie inside `data`.
        ValueError: the sizes differ, or the fields' sizes lie outside the prefix.
    """

class ZstdDictionary:
    """A zstd dictionary made ready once, to be read by any number of threads.

    Raises:
        ValueError: libzstd refuses the bytes, or is not there.
    """

    def __init__(self, data: Buffer) -> None: ...

def zstd_version() -> int:
    """Of the system's libzstd, 10504 for 1.5.4; 0 where there is none."""

def zstd_decompress(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    out: NDArray[np.uint8],
    out_starts: NDArray[np.int64],
    out_lengths: NDArray[np.int64],
    bad: NDArray[np.uint8],
    dictionary: ZstdDictionary | None = None,
) -> int:
    """Decompresses K zstd frames; see `forebay.kernels.zstd.decompress_frames`.

    `bad`, (K,), becomes 1 where a frame is not one of exactly its size. Returns how many are bad.

    Raises:
        IndexError: a frame or its place lies outside its buffer; nothing is written.
        ValueError: the sizes differ.
        RuntimeError: there is no libzstd.
    """

def decode_plain(
    data: NDArray[np.uint8],
    chunks: NDArray[np.int64],
    out: NDArray[np.uint8],
    spans: NDArray[np.int64],
    valid: NDArray[np.uint8],
) -> int:
    """Decodes K Parquet column chunks; see `forebay.kernels.plain.decode_plain`.

    `chunks` is (K, 12), all are contiguous. Returns K, or the first chunk that it could not decode.
    """

class JpegSamples:
    """Encoded JPEGs to finished samples of one field. Safe in several threads at once."""

    def __init__(
        self,
        values: ByteValues,
        height: int,
        width: int,
        planar: bool,
        luma: bool,
        reduced: bool = False,
        limit: int = 1 << 30,
    ) -> None:
        """`height`, `width`: of a sample; `reduced`: large boxes are decoded at a part of their
        size; `limit`: bytes that decoding one image may take.

        Raises:
            ValueError: a size out of [1, 2**20], or a table of other channels.
        """

    def working(self, data: list[Buffer], framings: NDArray[np.int32]) -> int:
        """Bytes that `make` holds at most beside the data and `out`, for one image at a time.

        Raises:
            ValueError: the sizes differ.
        """

    def make(
        self,
        data: list[Buffer],
        framings: NDArray[np.int32],
        places: NDArray[np.int64],
        out: NDArray[np.uint8],
    ) -> list[tuple[int, int, str]]:
        """Writes sample i to row places[i] of `out` (N, bytes of a sample), the caller's.

        `framings` is (n, 13), see `forebay.kernels.jpeg_sample`. Returns (i, status, message) of
        images that could not be made; their rows hold anything.

        Raises:
            ValueError: sizes differ, or a place is no row of `out`.
        """

def draws(low: int, high: int, counters: NDArray[np.uint64], out: NDArray[np.uint32]) -> None:
    """Writes the four words of each of (N,) counters of key (low, high) to `out` (4 * N,)."""

def shuffled_table(low: int, high: int, out: NDArray[np.uint16]) -> None:
    """Fills `out`, at most 2**16 long, with its keyed permutation.

    Raises:
        ValueError: `out` is longer.
    """

def look_up(table: NDArray[np.uint16], index: NDArray[np.int64], out: NDArray[np.int64]) -> int:
    """out[i] = table[index[i]]; the number of the first index outside the table, or -1."""

def permute(
    n: int,
    left: int,
    right: int,
    low: int,
    high: int,
    index: NDArray[np.int64],
    out: NDArray[np.int64],
) -> int:
    """Where key (low, high) sends each index in [0, n); the number of the first outside, or -1.

    Raises:
        ValueError: left * right is below n, one of them above 2**31, or sizes differ.
    """

def permute_portable(
    n: int,
    left: int,
    right: int,
    low: int,
    high: int,
    index: NDArray[np.int64],
    out: NDArray[np.int64],
) -> int:
    """As `permute`, without vector instructions, whatever the processor has."""

def shuffle_positions(
    positions: NDArray[np.int64],
    lane_start: NDArray[np.int64],
    windows: NDArray[np.int64],
    tables: NDArray[np.uint64],
    out: NDArray[np.int64],
) -> tuple[int, int, int]:
    """See `forebay.kernels.window_rows`. The addresses in `tables` are the caller's to prove."""

def place_rows(
    window: NDArray[np.int64],
    edges: NDArray[np.int64],
    starts: NDArray[np.int64],
    blocks: NDArray[np.int64],
    row: NDArray[np.int64],
    block: NDArray[np.int64],
) -> int:
    """See `forebay.kernels.window_rows`; the number of the first row without a block, or -1."""

def locate_rows(
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    place: NDArray[np.int64],
    offset: NDArray[np.int64],
) -> int:
    """See `forebay.kernels.window_rows`; the number of the first row in no part, or -1."""

def gather_fixed(
    table: NDArray[np.uint64],
    which: NDArray[np.int64],
    rows: NDArray[np.int64],
    places: NDArray[np.int64],
    room: int,
    width: int,
    out: int,
) -> int:
    """Copies rows of `width` bytes to address `out`, which has room for so many; -1, or what
    `forebay.kernels.spans.report` understands. Each block of the table is (address, rows, bytes
    from row to row). The addresses are the caller's to prove.

    Raises:
        ValueError: `which` or `places` has another size than `rows`, and is not empty.
    """

def interleave(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    rows: int,
    width: int,
    out: NDArray[np.uint8],
) -> None:
    """See `forebay.kernels.columns.interleave`."""

def gather_columns(
    table: NDArray[np.uint64],
    which: NDArray[np.int64],
    rows: NDArray[np.int64],
    places: NDArray[np.int64],
    room: int,
    width: int,
    outs: NDArray[np.uint64],
) -> int:
    """As `gather_fixed`, of a table (blocks, columns, 3), each column to its address in `outs`.

    Raises:
        ValueError: sizes differ, or values are not of 1, 2, 4 or 8 bytes.
    """

def find_ragged(
    table: NDArray[np.uint64],
    which: NDArray[np.int64],
    rows: NDArray[np.int64],
    itemsize: int,
    address: NDArray[np.uint64],
    lengths: NDArray[np.int64],
) -> int:
    """Writes where each row begins, and how many elements it has; -1, or what
    `forebay.kernels.spans.report` understands. Blocks are as `ragged_table` has them; the addresses
    are the caller's to prove.

    Raises:
        ValueError: sizes differ.
    """

def copy_ragged(
    address: NDArray[np.uint64],
    lengths: NDArray[np.int64],
    itemsize: int,
    starts: NDArray[np.int64],
    out: int,
    room: int,
) -> int:
    """Copies rows that `find_ragged` found to elements `starts` of address `out`, which has room
    for so many. Returns and raises as that."""

def pad_ragged(
    address: NDArray[np.uint64],
    lengths: NDArray[np.int64],
    itemsize: int,
    starts: NDArray[np.int64],
    widths: NDArray[np.int64],
    fill: int,
    left: bool,
    out: int,
    room: int,
) -> int:
    """As `copy_ragged`, each row cut and padded to its width. A row of length 0 needs no address.

    Raises:
        ValueError: sizes differ, or elements are not of 1, 2, 4 or 8 bytes.
    """

def values(
    addresses: NDArray[np.uint64],
    lengths: NDArray[np.int64],
    places: NDArray[np.int64],
    valid: NDArray[np.bool_],
    text: bool,
    out: list[Any],
) -> list[int]:
    """See `forebay.kernels.values`; `valid` may be empty, where all are. Needs the GIL. The
    addresses are the caller's to prove."""
