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
from forebay.kernels.jpeg_sample import LARGEST_SIDE, JpegSampler


class NativeDecoder:
    """Decodes many images at once. Safe in several threads. See `image.decoder.ImageDecoder`."""

    def __init__(self, spec: Image, scratch: Scratch) -> None:
        self._spec = spec
        self._scratch = scratch
        self._pillow = PillowDecoder(spec, scratch)
        self._sampler = JpegSampler(
            spec.size,
            spec.table(),
            spec.dtype,
            planar=spec.planar,
            luma=spec.color == "L",
            reduced=spec.reduced,
        )

    def decode(
        self,
        images: Encoded,
        u: Sequence[Sequence[float]],
        out: NDArray[Any],
        places: NDArray[np.int64],
    ) -> Bad:
        found = headers(images)
        chosen, framings = self._framings(found, u)
        bad, others = self._make(images, framings, chosen, out, places)
        if len(chosen) < len(images):
            others += sorted(set(range(len(images))).difference(chosen))
        if others:
            again = ([images[i] for i in others], [u[i] for i in others], out, places[others])
            bad |= self._pillow.decode(*again)
        return bad

    def _framings(
        self, found: NDArray[np.void], u: Sequence[Sequence[float]]
    ) -> tuple[list[int], list[tuple[int, ...]]]:
        """The images that the kernels shall make, and what of each."""
        chosen: list[int] = []
        framings: list[tuple[int, ...]] = []
        shapes = zip(
            *(found[n].tolist() for n in ("status", "height", "width", "orientation")), strict=True
        )
        for i, (status, height, width, orientation) in enumerate(shapes):
            if status:
                continue
            size = (width, height) if orientation >= 5 else (height, width)
            framing = framing_of(size, self._spec.steps(size, u[i]))
            if framing is not None and max(framing.size) <= LARGEST_SIDE:
                chosen.append(i)
                framings.append(framing.numbers())
        return chosen, framings

    def _make(
        self,
        images: Encoded,
        framings: list[tuple[int, ...]],
        chosen: list[int],
        out: NDArray[Any],
        places: NDArray[np.int64],
    ) -> tuple[Bad, list[int]]:
        """What is damaged, and which images Pillow shall try."""
        bad: Bad = {}
        others: list[int] = []
        if not chosen:
            return bad, others
        data = [images[i] for i in chosen]
        what = np.array(framings, np.int32)
        with self._scratch.lent(self._sampler.working(data, what)):
            lost = self._sampler.make(data, what, places[chosen], out)
        for sample in lost:
            index = chosen[sample.number]
            if sample.kind == "other":
                others.append(index)
            else:
                bad[int(places[index])] = DecodeError(
                    f"image of {len(images[index])} bytes does not decode: {sample.message}"
                )
        return bad, others
