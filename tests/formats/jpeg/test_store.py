from __future__ import annotations

import io

import pytest
from PIL import Image

from forebay.formats.jpeg.store import TRANSCODED, seekable
from forebay.kernels.jpeg_transcode import available, transcode

pytestmark = pytest.mark.skipif(not available(), reason="built without libjpeg-turbo's headers")


def _encoded(kind, **options):
    out = io.BytesIO()
    Image.linear_gradient("L").convert("RGB").save(out, kind, **options)
    return out.getvalue()


def test_jpeg_becomes_seekable():
    data = _encoded("JPEG", comment=b"hello")
    stored, fate = seekable(data)
    assert fate == TRANSCODED
    assert stored == transcode(data).data != data
    assert b"hello" not in stored
    assert b"hello" in seekable(data, keep_metadata=True)[0]


@pytest.mark.parametrize(
    ("data", "fate"),
    [(_encoded("PNG"), "not-jpeg"), (b"", "not-jpeg"), (_encoded("JPEG")[:-100], "corrupt")],
)
def test_everything_else_stays_as_it_came(data, fate):
    assert seekable(data) == (data, fate)
