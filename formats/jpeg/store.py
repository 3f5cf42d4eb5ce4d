"""An image's bytes as they are stored: JPEG in its seekable form, everything else as it came."""

from __future__ import annotations

from forebay.kernels.jpeg_transcode import transcode

TRANSCODED = "transcoded"


def seekable(data: bytes, keep_metadata: bool = False) -> tuple[bytes, str]:
    """(the bytes to store, what became of them).

    What became of them is `TRANSCODED`, or the reason for which `data` itself is to be stored: one
    of the words of section 4 of SPEC.md, such as "corrupt".

    Args:
        data: an encoded image, or what was taken for one.
        keep_metadata: as in `forebay.kernels.jpeg_transcode.transcode`.

    Raises:
        RuntimeError: native JPEG support was not built.
    """
    done = transcode(data, keep_metadata=keep_metadata)
    return (data, done.reason) if done.data is None else (done.data, TRANSCODED)
