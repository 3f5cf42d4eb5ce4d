from __future__ import annotations

import json
import re

import pytest

from forebay.formats.errors import SourceError
from forebay.formats.sources import jsonl


def _write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_types_fit_every_line(tmp_path, cut_of, rows_of, monkeypatch):
    monkeypatch.setattr(jsonl, "_READ_BYTES", 200)
    lines = [
        {"i": i, "f": i, "t": f"ü{i}", "b": i % 2 == 0, "v": [i, 2], "d": "2020-01-01", "o": None}
        for i in range(50)
    ]
    lines.append({"i": 1, "f": 0.5, "t": "", "b": True, "v": [], "d": "x", "late": 7})
    cut = cut_of(_write(tmp_path / "t.jsonl", map(json.dumps, lines)))
    assert {f.name: f.spec for f in cut.schema} == {
        "i": "int64",
        "f": "float64",
        "t": "text",
        "b": "bool",
        "v": "int64[*]",
        "d": "text",
        "o": "text?",
        "late": "int64?",
    }
    rows = rows_of(cut)
    assert len(rows) == 51
    for row, line in zip(rows, lines, strict=True):
        assert row["v"].tolist() == line["v"]
        assert [row[k] for k in "iftbd"] == [line[k] for k in "iftbd"]
        assert row["late"] == line.get("late")


def test_blank_lines_and_no_last_newline(tmp_path, cut_of, rows_of):
    (tmp_path / "t.jsonl").write_text('\n{"a":1}\n\n  \n{"a":2}')
    assert rows_of(cut_of(tmp_path / "t.jsonl")) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("read_bytes", [40, 1 << 20])
@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ('{"a": 1', "not JSON"),
        ("[1]", "not an object but list"),
        ('{"a": "text"}', "changed from|do not fit"),
        ("what", "not JSON"),
    ],
)
def test_a_broken_line_is_named(tmp_path, cut_of, monkeypatch, broken, said, read_bytes):
    monkeypatch.setattr(jsonl, "_READ_BYTES", read_bytes)
    lines = [json.dumps({"a": i}) for i in range(20)]
    lines[12] = broken
    lines.insert(5, "")
    path = _write(tmp_path / "t.jsonl", lines)
    with pytest.raises(SourceError, match=said) as caught:
        cut_of(path)
    assert "t.jsonl" in str(caught.value)
    # Of two lines that do not agree, the second is named.
    second = "|line 15:|lines from" if "text" in broken else ""
    assert re.search(f"line 14:{second}", str(caught.value))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"a": {"b": 1}}', "'a'.*struct"),
        ('{"a": [[1]]}', "'a'.*list"),
        ('{"a.b": 1}', "rename"),
        ('{"": 1}', "rename"),
    ],
)
def test_what_cannot_be_packed(tmp_path, cut_of, line, said):
    with pytest.raises(SourceError, match=said):
        cut_of(_write(tmp_path / "t.jsonl", [line]))


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_empty(tmp_path, cut_of, text):
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(SourceError, match="no rows"):
        cut_of(tmp_path / "t.jsonl")


def test_nulls_inside_lists(tmp_path, cut_of, rows_of):
    with pytest.raises(SourceError, match="null inside a list"):
        rows_of(cut_of(_write(tmp_path / "t.jsonl", ['{"a": [1, null]}'])))


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (['{"a": 1}', f'{{"a": {2**63}}}'], f"line 2: field 'a' has the integer {2**63}"),
        (["", f'{{"b": 1, "a": {10**30}}}'], f"line 2: field 'a' has the integer {10**30}"),
        (['{"a": 0.5}', f'{{"a": {2**53 + 1}}}'], f"line 2: field 'a' has the integer {2**53 + 1}"),
        ([f'{{"a": [1, -{2**63 + 1}]}}'], f"line 1: field 'a' has the integer -{2**63 + 1}"),
    ],
)
@pytest.mark.parametrize("read_bytes", [8, 1 << 20])
def test_an_integer_that_would_change_is_named(
    tmp_path, cut_of, monkeypatch, lines, where, read_bytes
):
    monkeypatch.setattr(jsonl, "_READ_BYTES", read_bytes)
    with pytest.raises(SourceError, match=re.escape(where)):
        cut_of(_write(tmp_path / "t.jsonl", lines))


def test_integers_that_fit_are_kept(tmp_path, cut_of, rows_of):
    values = [2**63 - 1, -(2**63), 0]
    lines = [json.dumps({"a": v, "t": f"{2**70}", "f": 1e17, "g": 2**53}) for v in values]
    lines[0] = lines[0].replace(str(2**53), "0.5")
    rows = rows_of(cut_of(_write(tmp_path / "t.jsonl", lines)))
    assert [r["a"] for r in rows] == values
    assert [(r["t"], r["f"]) for r in rows] == [(str(2**70), 1e17)] * 3
    assert [r["g"] for r in rows] == [0.5, 2.0**53, 2.0**53]
