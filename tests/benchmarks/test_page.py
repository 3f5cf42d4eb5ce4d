"""Tables from runs, markers of the page, and the words of a failure."""

import pytest

from forebay.benchmarks.peers.corpus.make import Format, present, size
from forebay.benchmarks.peers.page import PAGE, configurations, fill, machines
from forebay.benchmarks.peers.plot import bars
from forebay.benchmarks.peers.table import sizes, table
from forebay.benchmarks.peers.words import last_words
from forebay.benchmarks.peers.workloads import load


def run(rate, busy=8.0):
    machine = {"busy": busy, "stolen": 0.0, "total": 20.0}
    counted = {"samples": rate * 10, "seconds": 10.0, "cpu_s": 8.0, "read_bytes": 10**6}
    return counted | {"first_s": 0.5, "memory_bytes": 5e8, "ours_s": 8.0, "machine": machine}


def result(**runs):
    runs = {name.replace("_", "-"): each for name, each in runs.items()}
    skipped = {"spdl": "pip install failed: a | b"}
    disk = {"files": 400_000_000, "recordio": 404_000_000}
    return {"runs": runs, "skipped": skipped, "plan": {"others_most": 0.05}, "disk": disk}


def test_the_fastest_comes_first_with_its_ratio_to_ours():
    text = table(load("images"), result(dali=[run(800)], forebay=[run(1_600), run(1_602)]))
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert [row.split("|")[1].strip() for row in rows] == ["peer", "forebay", "dali", "spdl"]
    assert "| 1,601 |" in rows[1]
    assert "| 404 |" in rows[1]
    assert "| 2.00x |" in rows[2]
    assert "skipped: pip install failed: a / b" in rows[3]
    assert len({row.count("|") for row in rows}) == 1


def test_tokens_are_told_in_megabytes_too():
    text = table(load("tokens"), result(forebay=[run(100_000)]))
    assert "| 819 |" in text


def test_dropped_and_disturbed_runs_are_told():
    text = table(load("images"), result(dali=[run(800), run(300, busy=12)], spdl=[run(1, 19)]))
    assert "1 (-1)" in text
    assert "1 *" in text
    assert "do not count: 1." in text
    assert "every run was disturbed" in text


def test_once_workloads_rank_by_time():
    slow = run(0) | {"first_s": 2.0}
    del slow["samples"]
    text = table(load("startup"), result(dali=[slow], forebay=[slow | {"first_s": 0.25}]))
    assert text.index("| forebay | 0.25 ") < text.index("| dali | 2.00 ")


def test_bars_show_the_runs_that_count():
    found = bars(load("images"), result(dali=[run(800), run(900)], forebay=[run(700), run(5, 19)]))
    assert found == [("forebay", 700, 700, 700), ("dali", 850, 800, 900)]


def maker(folder, out):
    """One file a photo,
    in folders.

    Links count once.
    """


def test_sizes_are_told_a_sample_and_held_against_the_originals():
    known = {"files": Format(maker), "seekable": Format(maker), "mds": Format(maker, part=0.2)}
    disk = {"files": 1_000_000, "seekable": 1_015_000, "mds": 206_000, "of-old": 5}
    lines = sizes(disk, known, "files").splitlines()[2:]
    text = "One file a photo, in folders"
    assert lines == [
        f"| files | {text} | 1.0 | 100% | 1.000 |",
        f"| seekable | {text} | 1.0 | 100% | 1.015 |",
        f"| mds | {text} | 0.2 | 20% | 1.030 |",
    ]


def test_formats_that_are_there_are_told_whichever_peers_ran(tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_BENCH_DATA", str(tmp_path))
    for name in ("tar", "mds.partial", "other"):
        (tmp_path / "images" / name).mkdir(parents=True)
        (tmp_path / "images" / name / "0").write_bytes(b"12345")
    assert present("images") == {"tar": 5}


def test_a_peer_that_workloads_share_is_told_once():
    both = [load("images"), load("images-uint8"), load("startup")]
    text = configurations(both)
    assert text.count("| dali |") == 1
    assert text.count("### ") == 2
    assert "| forebay-cold |" in text


def test_fill_replaces_between_markers_alone():
    text = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
    assert fill(text, "x", "new") == "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n"
    assert fill(fill(text, "x", "1"), "x", "old") == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!-- begin x -->",
        "<!-- end x --><!-- begin x -->",
        "<!-- begin x --><!-- end x -->" * 2,
    ],
)
def test_fill_refuses_a_page_without_its_markers(text):
    with pytest.raises(ValueError, match="begin x"):
        fill(text, "x", "new")


def test_the_page_has_every_marker():
    text = PAGE.read_text()
    for name in ("machine", "picture", "tables", "sizes", "environments", "peers"):
        assert fill(text, name, "x") != text


def test_one_machine_is_told_once():
    runs = [{"workload": w, "machine": {"date": "2026-01-01", "cpu": "y"}} for w in "ab"]
    assert machines(runs).splitlines()[2:] == ["| a, b | y | 2026-01-01 |"]


def test_size_counts_each_file_once(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b").write_bytes(b"123")
    (tmp_path / "link").symlink_to("a")
    assert size(tmp_path) == 8
    assert size(tmp_path / "a") == 5


def test_last_words():
    assert last_words("a\nValueError: bad\ncleaning up\n") == "ValueError: bad"
    assert last_words("50%\rdone\n\n") == "done"
    assert last_words("") == "not a word"
