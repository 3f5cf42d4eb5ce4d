"""What a pack is going to write, so that a rerun can tell whether it would write the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forebay.formats.pack.options import PackOptions
    from forebay.formats.pack.target import Target
    from forebay.formats.pack.work_folder import Plan
    from forebay.formats.sources.source import Source

PLAN_VERSION = 2


def plan_of(source: Source, target: Target, options: PackOptions, order: str, images: str) -> Plan:
    """All that decides which bytes are written: a stopped pack goes on only by the same.

    Args:
        order: as settled.
        images: likewise.
    """
    return {
        "version": PLAN_VERSION,
        "source": source.kind,
        "inputs": source.digest,
        "generation": target.generation,
        "format": target.format,
        "codec": target.codec,
        "order": order,
        "seed": options.seed if order == "shuffled" else None,
        "images": images,
        "keep_metadata": options.keep_metadata,
        "resize": options.resize,
        "quality": options.jpeg_quality if options.resize is not None else None,
        "skip_bad": options.source.skip_bad,
        "shard_bytes": options.shard_bytes,
        "block_bytes": options.block_bytes,
    }
