"""The lists that hang together: workloads, peers, environments and formats."""

import pytest

from forebay.benchmarks.peers.__main__ import choose
from forebay.benchmarks.peers.case import Setting, Workload
from forebay.benchmarks.peers.corpus.make import formats
from forebay.benchmarks.peers.environments import ENVIRONMENTS, PROJECT, layers
from forebay.benchmarks.peers.workloads import MODULES, load


@pytest.mark.parametrize("name", MODULES)
def test_peers_name_what_there_is(name):
    workload = load(name)
    assert workload.name == name
    assert "forebay" in workload.peers
    for peer in workload.peers.values():
        assert peer.environment == PROJECT or peer.environment in ENVIRONMENTS
        assert set(peer.data) <= set(formats(workload.corpus))
        assert len(peer.text) > 30


@pytest.mark.parametrize("name", MODULES)
def test_formats_are_made_where_their_writer_is(name):
    found = formats(load(name).corpus)
    for form in found.values():
        assert form.environment == PROJECT or form.environment in ENVIRONMENTS
        assert set(form.needs) <= set(found)
        assert len(form.text) > 10


def test_unknown_workload_names_the_others():
    with pytest.raises(ValueError, match=r"no workload 'audio'.*images"):
        load("audio")


def test_each_workload_takes_the_named_peers_that_it_has():
    both = [load("images"), load("tokens")]
    assert choose(both, ["dali", "floor-zstd", "forebay"]) == {
        "images": ["forebay", "dali"],
        "tokens": ["forebay", "floor-zstd"],
    }
    assert choose(both, None) == {w.name: list(w.peers) for w in both}


def test_peers_that_no_workload_has_are_refused():
    with pytest.raises(ValueError, match=r"dalli, grian; there are forebay.*ffcv-raw"):
        choose([load("images")], ["forebay", "grian", "dalli"])
    with pytest.raises(ValueError, match="tokens has none"):
        choose([load("images"), load("tokens")], ["dali"])


def test_packages_are_pinned_and_layers_end():
    for e in ENVIRONMENTS.values():
        assert e.proof
        layers(e.name)
        named = [p for p in (*e.packages, *e.without_dependencies) if "==" in p]
        assert named, e.name


def test_a_layer_below_two_others_comes_once():
    assert layers("mosaic") == ["torchvision", "opencv"]


def test_a_peer_without_a_word_is_refused():
    workload = Workload("w", "t", "u", "c", 1, lambda b, s: 1, len)

    def silent(setting: Setting) -> list[int]:
        return []

    with pytest.raises(ValueError, match="docstring"):
        workload.peer("files")(silent)
