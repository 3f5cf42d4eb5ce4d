"""Writes tests/golden/jpeg: seekable JPEG of version 1, and the pixels that it holds.

Run it to add a case. Huffman tables may differ between versions of libjpeg, so the bytes of a case
are never written again: what is there must stay readable.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

from PIL import Image

from forebay.kernels.jpeg_transcode import transcode

FOLDER = Path(__file__).parent / "jpeg"
SOURCES = Path(__file__).parents[1] / "fuzz" / "corpus" / "jpeg"
CASES = (
    "420",
    "422-restarts",
    "444-progressive",
    "rgb",
    "grey",
    "cmyk",
    "one-pixel",
    "orientation",
)


def pixels(data: bytes) -> list[object]:
    """[mode, width, height, SHA-256 of the pixels] as Pillow decodes them."""
    with Image.open(io.BytesIO(data)) as image:
        return [image.mode, *image.size, hashlib.sha256(image.tobytes()).hexdigest()]


def main() -> None:
    """Writes the cases that are not there yet, and the pixels of all of them."""
    FOLDER.mkdir(exist_ok=True)
    facts = {}
    for name in CASES:
        source = (SOURCES / f"{name}.jpg").read_bytes()
        made = transcode(source).data
        if made is None:
            raise SystemExit(f"{name}.jpg is kept as it is")
        path = FOLDER / f"v1-{name}.jpg"
        if not path.exists():
            path.write_bytes(made)
        facts[path.name] = pixels(source)
    (FOLDER / "pixels.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
