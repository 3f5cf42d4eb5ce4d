from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forebay.formats.errors import SourceError
from forebay.formats.sources.detect import detect
from forebay.formats.sources.source import CutRequest, SourceOptions


@pytest.mark.parametrize(
    ("largest", "dtype"),
    [(255, "uint8"), (256, "uint16"), (65_536, "uint32"), (2**32, "uint64")],
)
def test_narrowest_dtype_of_all_files(tmp_path, cut_of, rows_of, largest, dtype):
    np.save(tmp_path / "a.npy", np.arange(200, dtype=np.int64))
    np.save(tmp_path / "b.npy", np.array([largest], np.uint64))
    cut = cut_of(tmp_path)
    assert cut.schema["tokens"].spec == f"{dtype}[*]"
    rows = rows_of(cut)
    assert [r["tokens"].tolist() for r in rows] == [list(range(200)), [largest]]


def test_bin_files(tmp_path, cut_of, rows_of):
    np.arange(1000, dtype="<u2").tofile(tmp_path / "a.bin")
    with pytest.raises(SourceError, match="--dtype"):
        cut_of(tmp_path / "a.bin")
    rows = rows_of(cut_of(tmp_path / "a.bin", dtype="uint16", chunk_tokens=300))
    assert [len(r["tokens"]) for r in rows] == [300, 300, 300, 100]
    assert np.concatenate([r["tokens"] for r in rows]).tolist() == list(range(1000))
    (tmp_path / "a.bin").write_bytes(b"123")
    with pytest.raises(SourceError, match="3 bytes, not a multiple of the 2"):
        cut_of(tmp_path / "a.bin", dtype="uint16")


def test_chunks_hold_at_most_a_mebibyte(tmp_path, cut_of, rows_of):
    np.save(tmp_path / "a.npy", np.full(3 << 19, 60_000, np.uint16))
    lengths = [len(r["tokens"]) for r in rows_of(cut_of(tmp_path / "a.npy"))]
    assert lengths == [1 << 19] * 3


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    files=st.lists(st.lists(st.integers(0, 4), max_size=60), min_size=1, max_size=4),
    chunk=st.integers(1, 20),
    seed=st.none() | st.integers(0, 5),
)
def test_documents(tmp_path_factory, rows_of, files, chunk, seed):
    if not any(files):
        return
    folder = tmp_path_factory.mktemp("tokens")
    for i, tokens in enumerate(files):
        np.save(folder / f"{i}.npy", np.array(tokens, np.int32))
    options = SourceOptions(eos=0, chunk_tokens=chunk)
    cut = detect(folder, options).cut(CutRequest(64, seed, folder))
    want = []
    for tokens in files:
        for at in range(0, len(tokens), chunk):
            part = tokens[at : at + chunk]
            starts = [j for j in range(len(part)) if at + j == 0 or tokens[at + j - 1] == 0]
            want.append((part, starts))
    got = [(r["tokens"].tolist(), r["documents"].tolist()) for r in rows_of(cut)]
    if seed is None:
        assert got == want
    else:
        assert sorted(got) == sorted(want)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.array([1, -2]), "element 1 is -2"),
        (np.array([], np.int64), "no tokens"),
        (np.array(["a"]), "cannot be packed"),
        (np.array(5), "single number"),
        (np.array([1 + 2j]), "cannot be packed"),
    ],
)
def test_bad_arrays(tmp_path, cut_of, array, said):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(SourceError, match=said):
        cut_of(tmp_path / "a.npy")


def test_objects_are_never_unpickled(tmp_path, cut_of):
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(SourceError, match="as an array"):
        cut_of(tmp_path / "a.npy")


@pytest.mark.parametrize("cut_at", [0, 5, 60, 200])
def test_damaged(tmp_path, cut_of, cut_at):
    np.save(tmp_path / "a.npy", np.arange(100))
    data = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(data[:cut_at])
    with pytest.raises(SourceError, match=r"a\.npy"):
        cut_of(tmp_path / "a.npy")
