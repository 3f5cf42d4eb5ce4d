"""What the records of a foreign file seem to hold, from how each begins (SPEC.md, 7)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from forebay.formats.record import Field, Schema
from forebay.formats.recordio.irheader import IRHEADER
from forebay.formats.recordio.profile import RECORD_FIELD

_HEAD = IRHEADER.itemsize
_MOST_LABELS = 1024
_IMAGE_STARTS = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"BM", b"RIFF", b"II*\0", b"MM\0*")


@dataclass(slots=True)
class Guess:
    """What all records so far have in common."""

    headers: bool = True
    images: int = 0
    flags: set[int] = field(default_factory=set)

    def add(self, head: bytes, after: bytes, raw: int) -> None:
        """Takes a record's first 24 bytes (or fewer), what follows its labels, and its size."""
        self.headers = self.headers and plausible_header(head, raw)
        if self.headers:
            flag = int.from_bytes(head[:4], "little")
            if len(self.flags) < 2:
                self.flags.add(flag)
            self.images += after.startswith(_IMAGE_STARTS)

    def schema(self, records: int) -> Schema:
        """The fields to offer for a file of that many records."""
        if not self.headers or not records:
            return Schema((Field(RECORD_FIELD, "bytes"),))
        image = Field("image", "image", encoding="image")
        content = image if 2 * self.images >= records else Field("data", "bytes")
        if self.flags == {0}:
            label = Field("label", "fixed", dtype="float32")
        elif len(self.flags) == 1:
            label = Field("label", "fixed", dtype="float32", shape=tuple(self.flags))
        else:
            label = Field("label", "ragged", dtype="float32")
        return Schema((content, label))


def plausible_header(head: bytes, raw: int) -> bool:
    """Whether a record of `raw` bytes that begins with these seems to have an image header."""
    if len(head) < _HEAD:
        return False
    header = np.frombuffer(head, IRHEADER, count=1)[0]
    fits = _HEAD + 4 * int(header["flag"]) <= raw
    return fits and int(header["id2"]) == 0 and math.isfinite(float(header["label"]))


@dataclass(slots=True)
class Head:
    """The first bytes of a record: its header, and what follows the header's labels."""

    data: bytes = b""

    @property
    def missing(self) -> int:
        """Bytes that are still wanted: the header first, then up to the content's first eight.

        Labels beyond a plausible number are not fetched: such a record has no header of this kind.
        """
        return max(0, self._wanted - len(self.data))

    @property
    def _wanted(self) -> int:
        if len(self.data) < _HEAD:
            return _HEAD
        return self._content + 8 if self._content <= _HEAD + 4 * _MOST_LABELS else _HEAD

    @property
    def _content(self) -> int:
        return _HEAD + 4 * int.from_bytes(self.data[:4], "little")

    @property
    def first(self) -> bytes:
        """The header, or as much of it as there is."""
        return self.data[:_HEAD]

    @property
    def after(self) -> bytes:
        """The first eight bytes behind the labels, or as many as there are."""
        return self.data[self._content : self._content + 8] if len(self.data) >= _HEAD else b""

    def add(self, data: bytes) -> None:
        """Takes the record's next bytes, and keeps those that are missing."""
        while data and self.missing:
            # What is missing grows once the header's count of labels is known.
            count = self.missing
            self.data += data[:count]
            data = data[count:]
