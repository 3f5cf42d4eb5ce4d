"""Real processes under torchrun: one is killed in an epoch, others go on, nothing is lost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

import forebay as fb

# A rank: it goes on from the newest cursor, notes each sample that counts as it is delivered, and
# saves the cursor after each step, as rank 0 does in a training loop. Steps take a while, or an
# epoch would be over before anybody could kill it.
TRAIN = """
import hashlib, json, os, sys, time
import torch.distributed as dist
import forebay as fb

folder, out, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
T = fb.transforms
dist.init_process_group("gloo")
rank = dist.get_rank()
loader = fb.DataLoader(
    fb.open_dataset(folder, columns=["image", "label"]), 16, "window", seed=5, num_workers=1,
    window_bytes="20MB", memory="200MB",
    decode={"image": fb.Image(T.RandomResizedCrop(32), T.RandomHorizontalFlip())},
)
newest = os.path.join(out, "cursor.json")
if os.path.exists(newest):
    with open(newest) as file:
        loader.load_state_dict(json.load(file))
first = loader.position
with open(os.path.join(out, f"samples-{first.step}-of-{dist.get_world_size()}-{rank}"), "w") as log:
    print(json.dumps({"pid": os.getpid()}), file=log, flush=True)
    for images, labels in loader:
        info = loader.batch_info
        for image, label, p in zip(images[: info.n], labels, info.positions.tolist()):
            digest = hashlib.sha256(image.numpy().tobytes()).hexdigest()
            print(json.dumps([info.step, p, int(label), digest]), file=log, flush=True)
        dist.barrier()  # of the training step; the loader needs none
        if rank == 0:
            with open(newest + ".new", "w") as file:
                json.dump(loader.state_dict(), file)
            os.rename(newest + ".new", newest)
        time.sleep(pause)
    assert loader.position.epoch == 1
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def photos(shared_data, tmp_path_factory):
    """A RecordIO dataset of the thousand photos, in blocks of some five."""
    path = tmp_path_factory.mktemp("photos") / "d"
    files = sorted((shared_data / "imagenet-sample").iterdir())
    records = ({"image": f.read_bytes(), "label": i} for i, f in enumerate(files))
    fb.write_dataset(
        path, records, {"image": "jpeg", "label": "int64"}, format="recordio", codec="none",
        block_bytes=500_000, shard_bytes=20_000_000,
    )  # fmt: skip
    return path


def torchrun(script, ranks, *arguments):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return subprocess.Popen(
        [*command, f"--nproc-per-node={ranks}", script, *map(str, arguments)],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def saved(out):
    with contextlib.suppress(FileNotFoundError):
        return json.loads((out / "cursor.json").read_text())
    return {"step": 0, "epoch": 0}


def delivered(out, pattern):
    """(step, position, label, digest) of every sample that ranks noted whole."""
    found = []
    for file in out.glob(pattern):
        for line in file.read_text().splitlines()[1:]:
            with contextlib.suppress(json.JSONDecodeError):  # the last line of a killed one
                found.append(tuple(json.loads(line)))
    return found


def kill_one(out, process, ranks, step):
    """SIGKILL to the last rank once so many steps are saved; returns the cursor that is left."""
    deadline = time.monotonic() + 120
    while saved(out)["step"] < step:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    log = next(out.glob(f"samples-*-of-{ranks}-{ranks - 1}"))
    os.kill(json.loads(log.read_text().splitlines()[0])["pid"], signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "SIGKILL" in errors or "Signal 9" in errors, errors
    return saved(out)


@pytest.mark.long
@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 2)])
def test_killed_and_restarted_with_other_ranks_the_epoch_is_exact(photos, tmp_path, before, after):
    script, out = tmp_path / "train.py", tmp_path / "out"
    script.write_text(TRAIN)
    out.mkdir()
    cursor = kill_one(out, torchrun(script, before, photos, out, 0.1), before, step=6)
    assert cursor["epoch"] == 0
    assert 6 <= cursor["step"] < -(-1000 // (16 * before))
    first = [s for s in delivered(out, f"*-of-{before}-*") if s[0] < cursor["step"]]

    process = torchrun(script, after, photos, out, 0.0)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    second = delivered(out, f"samples-{cursor['step']}-of-{after}-*")
    assert saved(out)["epoch"] == 1

    reference = fb.DataLoader(
        fb.open_dataset(photos, columns=["label"]), 100, "window", seed=5, num_workers=0,
        window_bytes="20MB",
    )  # fmt: skip
    expected = {}
    for (labels,) in reference:
        positions = reference.batch_info.positions.tolist()
        expected |= dict(zip(positions, labels.tolist(), strict=True))
    counts = Counter(s[1] for s in first + second)
    assert set(counts.values()) == {1}
    assert {s[1]: s[2] for s in first + second} == expected
    # What was delivered beyond the cursor came again, with the same pixels.
    lost = {s[1]: s[3] for s in delivered(out, f"*-of-{before}-*") if s[0] >= cursor["step"]}
    again = {s[1]: s[3] for s in second}
    assert all(again[position] == digest for position, digest in lost.items())
