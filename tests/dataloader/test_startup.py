"""What the first batch must not wait for: numba, and kernels that it has no use for."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import forebay as fb

FIRST_BATCH = """
import sys
import forebay as fb
T = fb.transforms
dataset = fb.open_dataset(sys.argv[1], columns=sys.argv[2].split(","))
image = fb.Image(T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.Normalize(*T.IMAGENET))
decode = {"image": image} if "image" in sys.argv[2] else {}
if "ids" in sys.argv[2]:
    decode["ids"] = T.Pad()
for order in ("window", "full", "blocks"):
    loader = fb.DataLoader(dataset, 8, order, seed=0, decode=decode, num_workers=2)
    assert len(next(iter(loader))[0]) == 8
print(",".join(sorted({"numba", "llvmlite"} & set(sys.modules))))
"""


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("startup") / "photos"

    def jpeg():
        file = io.BytesIO()
        pixels = rng.integers(0, 256, (40, 50, 3), np.uint8)
        Image.fromarray(pixels).save(file, "JPEG")
        return file.getvalue()

    samples = (
        {"image": jpeg(), "label": i, "text": f"photo {i}", "ids": np.arange(i, dtype=np.int32)}
        for i in range(32)
    )
    fields = {"image": "jpeg", "label": "int64", "text": "text", "ids": "int32[*]"}
    fb.write_dataset(path, samples, fields, format="recordio")
    return path


@pytest.mark.parametrize("columns", ["image,label,text", "label", "ids"])
def test_images_labels_and_padding_take_no_numba(photos, columns):
    done = subprocess.run(
        [sys.executable, "-c", FIRST_BATCH, str(photos), columns],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout == "\n"
