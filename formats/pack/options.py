"""What a user can ask of a pack, and what is settled from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from forebay.formats.builder import BLOCK_BYTES
from forebay.formats.destination import WriteOptions
from forebay.formats.sources.source import SourceOptions
from forebay.formats.writer import SHARD_BYTES

ORDERS = ("shuffled", "source")
IMAGES = ("seekable", "keep")
QUALITY = 90


@dataclass(frozen=True, slots=True)
class PackOptions:
    """Options of `pack`; None where the source or the dataset appended to decides.

    Args:
        source: what is said about the inputs.
        write: format, codec, level and append. By default Parquet and zstd; image datasets in
            RecordIO are not compressed, which gains nothing and hides them from other readers.
        order: "shuffled" or "source".
        seed: of the shuffle, 0 to 2^64 - 1.
        images: "seekable" writes JPEG anew without loss, so that parts of it can be decoded alone
            (formats/jpeg/SPEC.md), and stores what is no JPEG as it is; "keep" stores all files as
            they are. None is "seekable" where native JPEG support was built.
        keep_metadata: keep all metadata of JPEG that is made seekable, and not only orientation
            and ICC profile.
        resize: pixels of the short side to which images are scaled down; they become JPEG.
        quality: of that JPEG, 1 to 100.
        shard_bytes: bytes of values, uncompressed, of one shard.
        block_bytes: bytes of values, uncompressed, of one block.

    Raises:
        ValueError: an option is not one of the above.
    """

    source: SourceOptions = field(default_factory=SourceOptions)
    write: WriteOptions = field(default_factory=WriteOptions)
    order: str | None = None
    seed: int = 0
    images: str | None = None
    keep_metadata: bool = False
    resize: int | None = None
    quality: int | None = None
    shard_bytes: int = SHARD_BYTES
    block_bytes: int = BLOCK_BYTES

    def __post_init__(self) -> None:
        if self.order is not None and self.order not in ORDERS:
            raise ValueError(f"order must be {' or '.join(ORDERS)}, got {self.order!r}")
        self._check_images()
        if not 0 <= self.seed < 1 << 64:
            raise ValueError(f"seed must be 0 to 2^64 - 1, got {self.seed}")
        for name in ("shard_bytes", "block_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        chunk = self.source.chunk_tokens
        if chunk is not None and not 1 <= chunk <= 1 << 20:
            # Chunks are the unit that is checked; design and memory promise count on 1 MiB.
            raise ValueError(f"chunk_tokens must be 1 to 1048576, got {chunk}")

    def _check_images(self) -> None:
        if self.images is not None and self.images not in IMAGES:
            raise ValueError(f"images must be {' or '.join(IMAGES)}, got {self.images!r}")
        if self.keep_metadata and self.images == "keep":
            raise ValueError("images 'keep' keeps metadata as it is: leave keep-metadata out")
        if self.keep_metadata and self.resize is not None:
            raise ValueError("resize makes new images without metadata: leave keep-metadata out")
        if self.resize is not None and not 1 <= self.resize <= 65_535:
            raise ValueError(f"resize must be 1 to 65535 pixels, got {self.resize}")
        if self.quality is not None and self.resize is None:
            raise ValueError(
                f"quality {self.quality} is for images that are re-encoded: say resize too"
            )
        if self.quality is not None and not 1 <= self.quality <= 100:
            raise ValueError(f"quality must be 1 to 100, got {self.quality}")

    @property
    def jpeg_quality(self) -> int:
        """Quality of re-encoded images."""
        return QUALITY if self.quality is None else self.quality
