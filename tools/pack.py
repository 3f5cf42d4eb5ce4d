"""`forebay pack`: real data into a dataset of shards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forebay.formats.errors import ForebayError, StorageError
from forebay.formats.size import parse_size
from forebay.tools.output import say
from forebay.tools.pack_progress import PackProgress, summary
from forebay.tools.refusal import STOPPED, refuse

if TYPE_CHECKING:
    from forebay.formats.pack.images import Reencode
    from forebay.formats.pack.options import PackOptions


def pack(  # noqa: PLR0913  one parameter an option of the command
    src: Annotated[Path, typer.Argument(help="Folder or file to pack.", show_default=False)],
    dst: Annotated[Path, typer.Argument(help="Folder of the dataset.", show_default=False)],
    format: Annotated[str | None, typer.Option(help="parquet (default) or recordio.")] = None,
    codec: Annotated[
        str | None,
        typer.Option(
            help="zstd or none. Default: zstd, but none for images in RecordIO: they are "
            "compressed already, and MXNet and DALI read such shards."
        ),
    ] = None,
    level: Annotated[int | None, typer.Option(help="Of zstd, 1 to 19; default 3.")] = None,
    order: Annotated[
        str | None, typer.Option(help="shuffled (default for images) or source (others).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the shuffle.")] = 0,
    images: Annotated[
        str | None,
        typer.Option(
            help="seekable (default where it is built in): JPEG anew, without loss, so that its "
            "parts decode alone. keep: the files' bytes."
        ),
    ] = None,
    keep_metadata: Annotated[
        bool, typer.Option("--keep-metadata", help="In seekable JPEG, beyond orientation and ICC.")
    ] = False,
    resize: Annotated[
        int | None, typer.Option(help="Scale images down to this short side, as JPEG.")
    ] = None,
    quality: Annotated[int | None, typer.Option(help="Of that JPEG; default 90.")] = None,
    append: Annotated[bool, typer.Option("--append", help="Add to the dataset at DST.")] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out what is no image, and list it.")
    ] = False,
    workers: Annotated[int | None, typer.Option(help="Processes; default: CPUs.")] = None,
    shard_bytes: Annotated[str, typer.Option(help="Size of a shard.")] = "128MiB",
    block_bytes: Annotated[str, typer.Option(help="Size of a block in a shard.")] = "1MiB",
    labels: Annotated[
        Path | None, typer.Option(help="CSV with a column `file`, and others that become fields.")
    ] = None,
    dtype: Annotated[str | None, typer.Option(help="Of .bin files, such as uint16.")] = None,
    chunk_tokens: Annotated[
        int | None, typer.Option(help="Tokens a record; default: 1 MiB of them.")
    ] = None,
    eos: Annotated[int | None, typer.Option(help="Token that ends a document.")] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Forget what a stopped pack left at DST.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Packs SRC into a dataset at DST, in several processes.

    SRC is a folder of images with one folder a class, a flat folder of images (with --labels or
    without), or Parquet, CSV, JSONL, .npy or .bin files. Stopped at any moment, the same command
    goes on where it stopped. The same input and options give the same bytes.

    Example: `forebay pack photos/ data/train --format recordio --seed 1`
    """
    # The engine takes a while to import, and --help and the other verbs do not need it.
    from forebay.formats.destination import WriteOptions
    from forebay.formats.pack.options import PackOptions
    from forebay.formats.pack.packing import Running
    from forebay.formats.pack.packing import pack as run_pack
    from forebay.formats.sources.source import SourceOptions

    try:
        source = SourceOptions(labels, _dtype(dtype), chunk_tokens, eos, skip_bad)
        options = PackOptions(
            source=source,
            write=WriteOptions(format, codec, level, append),
            order=order,
            seed=seed,
            images=images,
            keep_metadata=keep_metadata,
            resize=resize,
            quality=quality,
            shard_bytes=parse_size(shard_bytes, "--shard-bytes"),
            block_bytes=parse_size(block_bytes, "--block-bytes"),
        )
        Running(workers)
        reencode = _reencode(options)
    except ValueError as e:
        refuse("pack", str(e))
    try:
        with PackProgress() as progress:
            running = Running(workers, restart, progress.show, reencode)
            report = run_pack(src, dst, options, running)
    except StorageError as e:
        refuse("pack", f"{e}; {_remedy(dst)}")
    except ForebayError as e:
        refuse("pack", str(e))
    except OSError as e:
        where = f"{e.filename}: " if e.filename else ""
        refuse("pack", f"{where}{e.strerror or e}; {_remedy(dst)}")
    except KeyboardInterrupt:
        typer.echo("forebay pack: stopped; run the same command again to go on", err=True)
        raise typer.Exit(STOPPED) from None
    say(json.dumps(report.to_json()) if as_json else summary(report))


def _remedy(dst: Path) -> str:
    """What to do about a failure of the file system."""
    from forebay.formats.staging import PACK

    kept = f"what is finished is kept in {dst / PACK}: " if (dst / PACK).exists() else ""
    return f"{kept}make room or check permissions, and run the same command again"


def _dtype(name: str | None) -> str | None:
    if name is None:
        return None
    import numpy as np

    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise ValueError(f"--dtype {name!r} is no type of numbers: write such as uint16 or float32")
    return name


def _reencode(options: PackOptions) -> Reencode | None:
    if options.resize is None:
        return None
    # Pillow takes a while to import, and only this needs it.
    from forebay.dataloader.decode.reencode import Reencode as ShortSide

    return ShortSide(options.resize, options.jpeg_quality)
