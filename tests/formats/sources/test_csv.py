from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forebay.formats.errors import SourceError, StorageError
from forebay.formats.sources import csv as csv_source


def _write(path, text):
    path.write_bytes(text.encode())
    return path


def test_types_fit_the_whole_file(tmp_path, cut_of, rows_of, monkeypatch):
    # A value that changes its column's type may come long after the first read.
    monkeypatch.setattr(csv_source, "_READ_BYTES", 256)
    lines = ["i,f,s,b,big,n"] + [f"{i},{i},{i},true,{2**63 + i},1" for i in range(100)]
    lines += ['100,0.5,"a, ""b""\nc",false,5,']
    cut = cut_of(_write(tmp_path / "t.csv", "\n".join(lines) + "\n"))
    assert {f.name: f.spec for f in cut.schema} == {
        "i": "int64",
        "f": "float64",
        "s": "text",
        "b": "bool",
        "big": "uint64",
        "n": "int64?",
    }
    rows = rows_of(cut)
    assert len(rows) == 101
    assert rows[7] == {"i": 7, "f": 7.0, "s": "7", "b": True, "big": 2**63 + 7, "n": 1}
    assert rows[100] == {"i": 100, "f": 0.5, "s": 'a, "b"\nc', "b": False, "big": 5, "n": None}


def test_empty_text_is_text(tmp_path, cut_of, rows_of):
    rows = rows_of(cut_of(_write(tmp_path / "t.csv", "s,e\na,\n,\nNA,\n")))
    assert rows == [{"s": "a", "e": ""}, {"s": "", "e": ""}, {"s": "NA", "e": ""}]


def test_tabs_by_suffix(tmp_path, cut_of, rows_of):
    assert rows_of(cut_of(_write(tmp_path / "t.tsv", "a\tb\n1\tx,y\n"))) == [{"a": 1, "b": "x,y"}]


def test_folder_in_order_of_names(tmp_path, cut_of, rows_of):
    folder = tmp_path / "f"
    folder.mkdir()
    _write(folder / "2.csv", "a\n1.5\n")
    _write(folder / "1.csv", "a\n7\n")
    assert rows_of(cut_of(folder)) == [{"a": 7.0}, {"a": 1.5}]
    _write(folder / "3.csv", "b\n7\n")
    with pytest.raises(SourceError, match=r"3\.csv has columns b, but 1\.csv has a"):
        cut_of(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Empty"),
        ("a,b\n", "no rows"),
        ("a,b\n1,2\n3\n", "Row #3.*Expected 2 columns, got 1"),
        ("a,a\n1,2\n", "two columns of the name 'a'"),
        ("a.b\n1\n", "'a.b'.*rename"),
    ],
)
def test_broken_files(tmp_path, cut_of, text, said):
    with pytest.raises(SourceError, match=said):
        cut_of(_write(tmp_path / "t.csv", text))


def test_not_utf8(tmp_path, cut_of):
    (tmp_path / "t.csv").write_bytes(b"a\n\xff\xfe\n")
    with pytest.raises(SourceError, match=r"t\.csv.*UTF-?8"):
        cut_of(tmp_path / "t.csv")


@pytest.mark.parametrize("seed", [None, 0, 5])
def test_shuffle_is_a_permutation_over_all_shards(tmp_path, cut_of, rows_of, seed, monkeypatch):
    monkeypatch.setattr(csv_source, "_READ_BYTES", 512)
    text = "a,b\n" + "".join(f"{i},{'x' * (i % 40)}\n" for i in range(2000))
    cut = cut_of(_write(tmp_path / "t.csv", text), seed=seed, shard_bytes=8000)
    assert len(cut.jobs) > 3
    rows = rows_of(cut)
    numbers = [r["a"] for r in rows]
    assert sorted(numbers) == list(range(2000))
    assert (numbers == list(range(2000))) == (seed is None)
    assert all(r["b"] == "x" * (r["a"] % 40) for r in rows)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(rows=st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0\r"), max_size=20
)), min_size=1, max_size=30))  # fmt: skip
def test_round_trip(tmp_path_factory, rows, rows_of):
    import csv

    from forebay.formats.sources.detect import detect
    from forebay.formats.sources.source import CutRequest, SourceOptions

    folder = tmp_path_factory.mktemp("csv")
    with open(folder / "t.csv", "w", newline="", encoding="utf-8") as f:
        writer = csv.writer(f, quoting=csv.QUOTE_ALL, lineterminator="\n")
        # The prefix keeps texts from reading as numbers.
        writer.writerows([("i", "s"), *((i, "s" + s) for i, s in rows)])
    cut = detect(folder / "t.csv", SourceOptions()).cut(CutRequest(1 << 20, None, folder))
    assert rows_of(cut) == [{"i": i, "s": "s" + s} for i, s in rows]


@pytest.mark.parametrize(
    ("texts", "spec"),
    [
        (["2134", "-7", "0"], "int64"),
        (["2134", "02134"], "text"),
        (["1", "+1"], "text"),
        (["-0"], "text"),
        (["0x10"], "text"),
        ([str(2**63 - 1), str(-(2**63))], "int64"),
        ([str(2**64 - 1), "0"], "uint64"),
        ([str(2**64)], "text"),
        ([str(2**63), "-1"], "text"),
        (["1.5", "7"], "float64"),
        (["1.5", "007"], "text"),
        (["1.5", "+7"], "text"),
        (["1.5", "07.5"], "text"),
        (["0.5", "-0.5", "1e3", "nan", "inf"], "float64"),
        (["0.5", str(2**53 - 1)], "float64"),
        (["0.5", str(2**53 + 1)], "text"),
        (["0.5", "1e400"], "text"),
    ],
)
def test_a_column_is_numbers_only_where_nothing_is_lost(tmp_path, cut_of, rows_of, texts, spec):
    cut = cut_of(_write(tmp_path / "t.csv", "a\n" + "\n".join(texts) + "\n"))
    assert cut.schema["a"].spec == spec
    found = [r["a"] for r in rows_of(cut)]
    python = {"int64": int, "uint64": int, "float64": float, "text": str}[spec]
    assert list(map(repr, found)) == [repr(python(t)) for t in texts]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(texts=st.lists(st.from_regex(r"[+-]?[0-9]{1,21}", fullmatch=True), min_size=1, max_size=4))
def test_digits_are_never_changed(tmp_path_factory, texts, rows_of):
    from forebay.formats.sources.detect import detect
    from forebay.formats.sources.source import CutRequest, SourceOptions

    folder = tmp_path_factory.mktemp("csv")
    path = _write(folder / "t.csv", "a\n" + "\n".join(texts) + "\n")
    cut = detect(path, SourceOptions()).cut(CutRequest(1 << 20, None, folder))
    assert [str(r["a"]) for r in rows_of(cut)] == texts


def test_a_store_that_fails_is_no_fault_of_the_input(tmp_path, cut_of):
    with pytest.raises(StorageError, match=r"cannot read .*mem.*Input/output error"):
        list(csv_source._batches(Path("/proc/self/mem"), {}, nulls=True))
