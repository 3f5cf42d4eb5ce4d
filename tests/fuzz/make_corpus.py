"""Writes tests/fuzz/corpus/jpeg: small JPEG files of every kind that Pillow writes.

Run it to add a file; what fuzzing found is added beside them by hand, under a name that says what
it is.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from forebay.kernels.jpeg_transcode import transcode

FOLDER = Path(__file__).parent / "corpus" / "jpeg"


def picture(width: int, height: int, mode: str) -> Image.Image:
    """A gradient with a little noise in one corner."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    y, x, b = np.mgrid[:height, :width, :bands]
    pixels = (x * 5 + y * 3 + b * 40).astype(np.uint8)
    corner = pixels[: height // 3, : width // 3]
    corner[:] = np.random.default_rng(1).integers(0, 256, corner.shape)
    if mode == "CMYK":
        return Image.frombytes(mode, (width, height), pixels.tobytes())
    return Image.fromarray(pixels[..., 0] if bands == 1 else pixels)


def exif(orientation: int) -> Image.Exif:
    """EXIF that says which way is up."""
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags


CASES: dict[str, tuple[int, int, str, dict[str, Any]]] = {
    "420": (33, 17, "RGB", {"subsampling": "4:2:0"}),
    "422-restarts": (40, 24, "RGB", {"subsampling": "4:2:2", "restart_marker_blocks": 2}),
    "444": (17, 9, "RGB", {"subsampling": "4:4:4"}),
    "444-optimised": (24, 24, "RGB", {"subsampling": "4:4:4", "optimize": True}),
    "420-progressive": (33, 17, "RGB", {"subsampling": "4:2:0", "progressive": True}),
    "444-progressive": (17, 9, "RGB", {"subsampling": "4:4:4", "progressive": True}),
    "rgb": (17, 9, "RGB", {"keep_rgb": True, "subsampling": "4:4:4"}),
    "grey": (20, 20, "L", {}),
    "grey-progressive": (20, 20, "L", {"progressive": True}),
    "cmyk": (16, 16, "CMYK", {"subsampling": "4:4:4"}),
    "one-pixel": (1, 1, "RGB", {"subsampling": "4:2:0"}),
    "orientation": (9, 16, "RGB", {"exif": exif(6)}),
    "profile-and-comment": (8, 8, "L", {"icc_profile": bytes(range(60)), "comment": b"made up"}),
}


# The targets that read seekable JPEG would hardly ever make one by mutation. MCUs between restart
# markers at most, and a case as above.
SEEKABLE: dict[str, tuple[int, tuple[int, int, str, dict[str, Any]]]] = {
    "seekable-420": (2, (64, 40, "RGB", {"subsampling": "4:2:0"})),
    "seekable-422": (1, (40, 17, "RGB", {"subsampling": "4:2:2"})),
    "seekable-444": (5, (35, 90, "RGB", {"subsampling": "4:4:4"})),
    "seekable-grey": (1, (32, 90, "L", {})),
    "seekable-cmyk": (3, (17, 24, "CMYK", {"subsampling": "4:4:4"})),
    "seekable-orientation": (3, (33, 17, "RGB", {"subsampling": "4:2:0", "exif": exif(8)})),
}


def encoded(width: int, height: int, mode: str, options: dict[str, Any]) -> bytes:
    """The picture as Pillow writes it."""
    out = io.BytesIO()
    picture(width, height, mode).save(out, "JPEG", **({"quality": 70} | options))
    return out.getvalue()


def main() -> None:
    """Writes every case."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, case in CASES.items():
        (FOLDER / f"{name}.jpg").write_bytes(encoded(*case))
    for name, (interval, case) in SEEKABLE.items():
        done = transcode(encoded(*case), max_interval=interval)
        if done.data is None:
            raise SystemExit(f"{name} cannot be made seekable: {done.detail}")
        (FOLDER / f"{name}.jpg").write_bytes(done.data)


if __name__ == "__main__":
    main()
