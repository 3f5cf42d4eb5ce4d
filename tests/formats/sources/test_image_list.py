from __future__ import annotations

import pytest

from forebay.formats.errors import SourceError


@pytest.fixture
def flat(tmp_path, image_bytes):
    root = tmp_path / "flat"
    root.mkdir()
    for i, name in enumerate(["b.jpg", "a.jpg", "ü.jpg"]):
        (root / name).write_bytes(image_bytes(i))
    return root


def test_without_labels(flat, cut_of, rows_of):
    cut = cut_of(flat)
    assert cut.schema.names == ("image",)
    names = ["a.jpg", "b.jpg", "ü.jpg"]
    assert [r["image"] for r in rows_of(cut)] == [(flat / n).read_bytes() for n in names]


def test_labels_give_order_and_typed_fields(flat, tmp_path, cut_of, rows_of):
    table = tmp_path / "labels.csv"
    table.write_text(
        "file,label,score,note,ok\nü.jpg,3,0.5,x,true\na.jpg,1,,,false\nü.jpg,2,1,z,true\n"
    )
    cut = cut_of(flat, labels=table)
    assert {f.name: f.spec for f in cut.schema} == {
        "image": "jpeg",
        "label": "int64",
        "score": "float64?",
        "note": "text",
        "ok": "bool",
    }
    rows = rows_of(cut)
    assert [r["image"] for r in rows] == [
        (flat / n).read_bytes() for n in ("ü.jpg", "a.jpg", "ü.jpg")
    ]
    assert [r["label"] for r in rows] == [3, 1, 2]
    assert [r["score"] for r in rows] == [0.5, None, 1.0]
    assert [r["note"] for r in rows] == ["x", "", "z"]


def test_text_labels_become_classes(flat, tmp_path, cut_of, rows_of):
    (flat / "labels.csv").write_text("file_name,label\na.jpg,dog\nb.jpg,cat\nü.jpg,dog\n")
    cut = cut_of(flat)
    assert cut.schema["label"].classes == ("cat", "dog")
    assert [r["label"] for r in rows_of(cut)] == [1, 0, 1]


def test_missing_files(flat, tmp_path, cut_of, rows_of):
    table = tmp_path / "l.csv"
    table.write_text("file,label\na.jpg,1\nnope.jpg,2\ngone.jpg,3\n")
    with pytest.raises(SourceError, match=r"2 files.*'nope\.jpg' in row 2.*--skip-bad"):
        cut_of(flat, labels=table)
    cut = cut_of(flat, labels=table, skip_bad=True)
    assert [r.name for r in cut.rejected] == ["nope.jpg", "gone.jpg"]
    assert [r["label"] for r in rows_of(cut)] == [1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,label\na.jpg,1\n", "columns name, label"),
        ("file,label\n../a.jpg,1\n", "leads out of"),
        ("file,label\n/etc/passwd,1\n", "leads out of"),
        ("file,x,x\na.jpg,1,2\n", "two columns of the name 'x'"),
        ("file,label\na.jpg\n", "cannot read labels"),
        ("", "cannot read labels"),
        ("file,image\na.jpg,1\n", "image"),
    ],
)
def test_bad_labels(flat, tmp_path, cut_of, text, said):
    table = tmp_path / "l.csv"
    table.write_text(text)
    with pytest.raises(ValueError, match=said):
        cut_of(flat, labels=table)


def test_label_file_is_part_of_the_digest(flat, tmp_path):
    from forebay.formats.sources.detect import detect
    from forebay.formats.sources.source import SourceOptions

    table = tmp_path / "l.csv"
    table.write_text("file,label\na.jpg,1\n")
    before = detect(flat, SourceOptions(labels=table)).digest
    table.write_text("file,label\na.jpg,15\n")
    assert detect(flat, SourceOptions(labels=table)).digest != before


def test_values_stay_as_they_are_written(flat, tmp_path, cut_of, rows_of, image_bytes):
    for name in ("1.50", "007"):
        (flat / name).write_bytes(image_bytes(9))
    table = tmp_path / "l.csv"
    table.write_text("file,zip,day\n1.50,02134,2020-01-01\n007,99501,NA\n")
    cut = cut_of(flat, labels=table)
    assert {f.name: f.spec for f in cut.schema} == {"image": "jpeg", "zip": "text", "day": "text"}
    assert [r["zip"] for r in rows_of(cut)] == ["02134", "99501"]
    assert [r["day"] for r in rows_of(cut)] == ["2020-01-01", "NA"]


def test_every_file_bad_is_refused(flat, tmp_path, cut_of):
    table = tmp_path / "l.csv"
    table.write_text("file\nnope.jpg\ngone.jpg\n")
    with pytest.raises(
        SourceError, match=r"nothing is left.*all 2 inputs.*nope\.jpg: no such file"
    ):
        cut_of(flat, labels=table, skip_bad=True)
