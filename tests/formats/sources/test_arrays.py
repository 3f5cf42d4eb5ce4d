from __future__ import annotations

import numpy as np
import pytest

from forebay.formats.errors import SourceError


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool", ">f4", "float64"])
@pytest.mark.parametrize("shape", [(3,), (2, 4), ()])
@pytest.mark.parametrize("seed", [None, 1])
def test_rows(tmp_path, cut_of, rows_of, dtype, shape, seed):
    if dtype == "int8" and not shape:
        pytest.skip("1-D integers are tokens")
    rng = np.random.default_rng(0)
    parts = [(rng.integers(-50, 50, (n, *shape)).clip(0)).astype(dtype) for n in (70, 1, 40)]
    for i, part in enumerate(parts):
        np.save(tmp_path / f"{i}.npy", np.asfortranarray(part) if i else part)
    cut = cut_of(tmp_path, seed=seed, shard_bytes=200)
    dims = f"[{','.join(map(str, shape))}]" if shape else ""
    assert cut.schema["x"].spec == f"{np.dtype(dtype).name}{dims}"
    got = [np.asarray(r["x"]).tolist() for r in rows_of(cut)]
    want = np.concatenate(parts).tolist()
    if seed is None:
        assert got == want
    else:
        assert got != want
        assert sorted(map(str, got)) == sorted(map(str, want))


def test_files_must_agree(tmp_path, cut_of):
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    np.save(tmp_path / "b.npy", np.zeros((3, 4)))
    with pytest.raises(SourceError, match=r"b\.npy holds float64 of shape \(3, 4\)"):
        cut_of(tmp_path)


def test_nothing_inside(tmp_path, cut_of):
    np.save(tmp_path / "a.npy", np.zeros((0, 2)))
    with pytest.raises(SourceError, match="no values"):
        cut_of(tmp_path)
