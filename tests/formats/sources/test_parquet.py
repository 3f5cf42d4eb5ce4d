from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forebay.formats.errors import SourceError


def _table(rows, start=0, nulls=False):
    numbers = list(range(start, start + rows))
    return pa.table(
        {
            "i": pa.array(numbers, pa.int64()),
            "s": pa.array([f"text {n % 7}" for n in numbers]),
            "v": pa.array([[n, n + 1][: n % 3] for n in numbers], pa.list_(pa.int32())),
            "n": pa.array([None if nulls and n % 5 == 0 else n / 2 for n in numbers]),
            "image": pa.array(
                [{"bytes": b"%d" % n, "path": None} for n in numbers],
                pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
            ),
        }
    )


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "data"
    (root / "part").mkdir(parents=True)
    pq.write_table(_table(300), root / "a.parquet", row_group_size=64)
    pq.write_table(_table(200, 300), root / "part" / "b.parquet", row_group_size=64)
    return root


@pytest.mark.parametrize("seed", [None, 3])
def test_all_rows(folder, cut_of, rows_of, seed):
    cut = cut_of(folder, seed=seed, shard_bytes=4000)
    assert len(cut.jobs) > 2
    assert {f.name: f.spec for f in cut.schema} == {
        "i": "int64",
        "s": "text",
        "v": "int32[*]?",
        "n": "float64",
        "image": "image",
    }
    rows = rows_of(cut)
    numbers = [r["i"] for r in rows]
    assert sorted(numbers) == list(range(500))
    assert (numbers == list(range(500))) == (seed is None)
    for row in rows:
        n = row["i"]
        assert row["v"].tolist() == [n, n + 1][: n % 3]
        assert (row["s"], row["n"], row["image"]) == (f"text {n % 7}", n / 2, b"%d" % n)


def test_nulls_are_seen_in_the_counts(tmp_path, cut_of, rows_of):
    pq.write_table(_table(20, nulls=True), tmp_path / "a.parquet")
    cut = cut_of(tmp_path / "a.parquet")
    assert [f.name for f in cut.schema if f.nullable] == ["v", "n"]
    assert [r["n"] for r in rows_of(cut)][:6] == [None, 0.5, 1.0, 1.5, 2.0, None]
    pq.write_table(_table(20), tmp_path / "b.parquet", write_statistics=False)
    assert all(f.nullable for f in cut_of(tmp_path / "b.parquet").schema)


def test_other_schema_names_both_files(folder, cut_of):
    pq.write_table(pa.table({"i": [1.5]}), folder / "z.parquet")
    with pytest.raises(SourceError, match=r"z\.parquet has other columns than a\.parquet.*float64"):
        cut_of(folder)


def test_types_without_a_kind(tmp_path, cut_of):
    import datetime

    pq.write_table(pa.table({"t": [datetime.datetime(2020, 1, 1)]}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"'t'.*timestamp.*cast"):
        cut_of(tmp_path / "a.parquet")


def test_damaged(folder, cut_of, rows_of):
    path = folder / "a.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceError, match=r"a\.parquet.*truncated"):
        cut_of(folder)
    path.write_bytes(b"hello, this is text")
    with pytest.raises(SourceError, match=r"a\.parquet"):
        cut_of(folder)


def test_no_rows(tmp_path, cut_of):
    pq.ParquetWriter(tmp_path / "a.parquet", pa.schema([("a", pa.int64())])).close()
    with pytest.raises(SourceError, match="no rows"):
        cut_of(tmp_path / "a.parquet")
