"""The native image decoder: JPEGs by our kernels, whatever they do not know by Pillow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.decode.framing import framing_of
from forebay.dataloader.decode.image.decoder import Bad, Encoded
from forebay.dataloader.decode.image.pillow import PillowDecoder
from forebay.dataloader.decode.spec import Image
from forebay.dataloader.flow.errors import DecodeError
from forebay.dataloader.flow.scratch import Scratch
from forebay.kernels.jpeg_header import headers
from forebay.kernels.jpeg_sample import FRAMING, JpegSampler

PIXEL_BYTES = 8
"""Bytes a pixel of the image while it decodes, at most: its coefficients, 2 bytes of each of three
components, where it has several scans; else pixels of 3 bytes, and a slice of its bytes."""


class NativeDecoder:
    """Decodes many images at once. Safe in several threads. See `image.decoder.ImageDecoder`."""

    def __init__(self, spec: Image, scratch: Scratch) -> None:
        self._spec = spec
        self._scratch = scratch
        self._pillow = PillowDecoder(spec, scratch)
        self._sampler = JpegSampler(
            spec.size, spec.table(), spec.dtype, planar=spec.planar, luma=spec.color == "L"
        )

    def decode(
        self,
        encoded: Encoded,
        u: Sequence[Sequence[float]],
        out: NDArray[Any],
        places: NDArray[np.int64],
    ) -> Bad:
        found = headers(encoded.values, encoded.starts, encoded.lengths)
        framings = np.zeros((len(places), FRAMING), np.int32)
        native = np.zeros(len(places), bool)
        shapes = zip(
            *(found[n].tolist() for n in ("status", "height", "width", "orientation")), strict=True
        )
        for i, (status, height, width, orientation) in enumerate(shapes):
            if status:
                continue
            size = (width, height) if orientation >= 5 else (height, width)
            framing = framing_of(size, self._spec.steps(size, u[i]))
            if framing is not None:
                framings[i] = framing.numbers()
                native[i] = True
        chosen = np.flatnonzero(native)
        bad, rest = self._make(encoded, found, framings, chosen, out, places)
        others = np.r_[np.flatnonzero(~native), np.array(rest, np.int64)]
        if len(others):
            again = [u[i] for i in others.tolist()]
            bad |= self._pillow.decode(encoded.take(others), again, out, places[others])
        return bad

    def _make(
        self,
        encoded: Encoded,
        found: NDArray[np.void],
        framings: NDArray[np.int32],
        chosen: NDArray[np.int64],
        out: NDArray[Any],
        places: NDArray[np.int64],
    ) -> tuple[Bad, list[int]]:
        """What is damaged, and which images Pillow shall try."""
        bad: Bad = {}
        rest: list[int] = []
        if not len(chosen):
            return bad, rest
        data = [encoded.view(i).data for i in chosen.tolist()]
        pixels = found["height"][chosen].astype(np.int64) * found["width"][chosen]
        need = PIXEL_BYTES * int(pixels.max()) + int(encoded.lengths[chosen].max())
        with self._scratch.lent(need):
            lost = self._sampler.make(data, framings[chosen], places[chosen], out)
        for sample in lost:
            index = int(chosen[sample.number])
            if sample.kind == "other":
                rest.append(index)
            else:
                size = int(encoded.lengths[index])
                bad[int(places[index])] = DecodeError(
                    f"image of {size} bytes does not decode: {sample.message}"
                )
        return bad, rest
