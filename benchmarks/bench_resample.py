"""A decoded photo to a finished 224 x 224 sample, on one core, against Pillow's resize.

Windows are RandomResizedCrop's of a 500 x 375 photo; each round makes 64 samples. Pillow only
resizes: it neither mirrors nor converts.
"""

import numpy as np
import PIL.Image
import pytest

from forebay import transforms
from forebay.dataloader.decode.spec import Image
from forebay.dataloader.decode.transforms import Crop
from forebay.kernels import _native

TABLE = Image(transforms.Resize((224, 224)), transforms.Normalize(*transforms.IMAGENET)).table()
STORED = {"uint8": np.uint8, "float32": np.float32, "float16": np.float16, "bfloat16": np.uint16}
SIZE = (224, 224)


def windows(count=64):
    rng = np.random.default_rng(0)
    photo = rng.integers(0, 256, (375, 500, 3), dtype=np.uint8)
    crop = transforms.RandomResizedCrop(SIZE)
    found = []
    for _ in range(count):
        step = crop.steps((375, 500), rng.random(crop.draws).tolist())[0][0]
        assert isinstance(step, Crop)
        found.append(photo[step.top : step.top + step.height, step.left : step.left + step.width])
    return found


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("layout", ["CHW", "HWC"])
@pytest.mark.parametrize("dtype", list(STORED))
def bench_resample(benchmark, dtype, layout, portable):
    boxes = windows()
    values = _native.ByteValues(dtype, None if dtype == "uint8" else TABLE)
    planar = layout == "CHW"
    out = np.zeros((len(boxes), 3, *SIZE) if planar else (len(boxes), *SIZE, 3), STORED[dtype])
    run = _native.Resampler(portable).run

    def batch():
        for i, box in enumerate(boxes):
            run(box, values, SIZE, (0, 0, *SIZE), out[i], (0, 0), planar, i % 2 == 1)

    benchmark(batch)
    benchmark.extra_info["us/image"] = benchmark.stats.stats.median * 1e6 / len(boxes)


def bench_pillow(benchmark):
    pictures = [PIL.Image.fromarray(box) for box in windows()]
    benchmark(lambda: [p.resize(SIZE, PIL.Image.Resampling.BILINEAR) for p in pictures])
    benchmark.extra_info["us/image"] = benchmark.stats.stats.median * 1e6 / len(pictures)
