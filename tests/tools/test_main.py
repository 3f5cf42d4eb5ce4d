"""The forebay command as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

import forebay as package


def test_version(forebay):
    ran = forebay("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"forebay {package.__version__}\n", "")


@pytest.mark.parametrize("verb", ["pack", "inspect", "verify"])
def test_help_has_an_example(forebay, verb):
    ran = forebay(verb, "--help")
    assert ran.code == 0
    assert f"forebay {verb} " in ran.out.split("Example")[1]
    assert "--json" in ran.out


def test_help_lists_the_verbs(forebay):
    ran = forebay("--help")
    assert ran.code == 0
    assert all(verb in ran.out for verb in ("pack", "inspect", "verify", "--version"))


@pytest.mark.parametrize("arguments", [["nothing"], ["verify"], ["inspect", ".", "--no"]])
def test_wrong_use(forebay, arguments):
    ran = forebay(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    assert "forebay" in ran.err


@pytest.mark.parametrize("verb", ["inspect", "verify"])
def test_the_page_names_every_json_key(forebay, dataset, verb):
    page = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
    part = page.read_text("utf-8").split(f"## forebay {verb} ")[1].split("\n## ")[0]
    keys = set(forebay(verb, dataset, "--json").json)
    assert len(keys) > 8
    assert {key for key in keys if f"`{key}`" not in part} == set()
