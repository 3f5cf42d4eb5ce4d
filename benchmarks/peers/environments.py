"""What each peer's environment holds: pinned packages, what it lies over, and how it is proven.

An environment lies over others: what it lacks is found in theirs, so that torch is stored once. All
lie over the project's own environment, which holds torch, NumPy, pyarrow, numba and Pillow.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = "project"
"""The environment that the runner itself runs in: forebay and the hand-written floors."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One environment.

    Args:
        packages: requirements, each pinned.
        proof: modules that must import, or the environment does not count as installed.
        over: names of environments whose packages it sees after its own.
        debian: packages of the system that it builds against or loads.
        without_dependencies: requirements installed as they are, since what they ask for is either
            there under another name or unused by the benchmark.
        own_torch: whether it brings a torch of its own in place of the project's.
        build_isolation: False builds with the setuptools named in `packages`.
    """

    name: str
    packages: tuple[str, ...]
    proof: tuple[str, ...]
    over: tuple[str, ...] = ()
    debian: tuple[str, ...] = ()
    without_dependencies: tuple[str, ...] = ()
    own_torch: bool = False
    build_isolation: bool = True


ENVIRONMENTS = {
    e.name: e
    for e in (
        Environment(
            "opencv",
            ("opencv-python-headless==5.0.0.93", "simplejpeg==1.9.0"),
            ("cv2", "simplejpeg"),
        ),
        Environment("torchdata", ("torchdata==0.11.0",), ("torchdata.nodes",), over=("opencv",)),
        Environment("dali", ("nvidia-dali-cuda120==2.4.0",), ("nvidia.dali.plugin.pytorch",)),
        Environment(
            "grain",
            ("grain==0.2.18", "array-record==0.8.6"),
            ("grain", "array_record.python.array_record_module"),
            over=("opencv",),
        ),
        # spdl-io looks for FFmpeg when it decodes, and yields nothing where it is absent.
        Environment(
            "spdl",
            ("spdl-core==0.8.0", "spdl-io==0.8.0"),
            ("spdl.io", "spdl.pipeline"),
            over=("opencv",),
            debian=("ffmpeg",),
        ),
        Environment("webdataset", ("webdataset==1.0.2",), ("webdataset",), over=("opencv",)),
        Environment("datasets", ("datasets==5.2.0",), ("datasets",), over=("opencv",)),
        Environment("lance", ("pylance==14.0.2",), ("lance",), over=("opencv",)),
        Environment("litdata", ("litdata==0.2.76",), ("litdata",), over=("opencv",)),
        # torchvision does not load beside the project's torch, a CPU build.
        Environment(
            "torchvision",
            ("torch==2.14.1", "torchvision==0.29.1"),
            ("torchvision.transforms.v2", "torchvision.io"),
            own_torch=True,
        ),
        Environment(
            "mosaic",
            ("mosaicml-streaming==0.13.0",),
            ("streaming",),
            over=("torchvision", "opencv"),
            own_torch=True,
        ),
        Environment(
            "petastorm",
            ("petastorm==0.13.1", "pyarrow==12.0.1", "numpy<2", "setuptools<81"),
            ("petastorm.pytorch",),
        ),
        Environment("plot", ("matplotlib==3.11.2",), ("matplotlib",)),
        Environment(
            "ffcv",
            (
                "setuptools<81",
                "opencv-python-headless==4.14.0.94",
                "fastargs==1.2.0",
                "terminaltables==3.1.10",
                "pytorch-pfn-extras",
                "tqdm",
            ),
            ("ffcv.loader", "ffcv.fields.decoders", "ffcv.writer"),
            debian=("libturbojpeg0-dev", "libopencv-dev", "pkg-config"),
            without_dependencies=("ffcv==1.0.2",),
            build_isolation=False,
        ),
    )
}


def folder(name: str) -> Path:
    """Where an environment lies: FOREBAY_PEERS/name, or .peers/name below the project."""
    return Path(os.environ.get("FOREBAY_PEERS", ROOT / ".peers")) / name


def interpreter(name: str, project: str) -> str:
    """The Python of an environment, given that of the project's own."""
    return project if name == PROJECT else str(folder(name) / "bin" / "python")


def layers(name: str) -> list[str]:
    """The environments that `name` lies over, nearest first, the project's left out."""
    found: list[str] = []
    for below in ENVIRONMENTS[name].over:
        for one in (below, *layers(below)):
            if one not in found:
                found.append(one)
    return found
