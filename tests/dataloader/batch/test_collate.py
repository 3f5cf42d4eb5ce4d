"""Collating: as torch does it, but that what differs is refused by name."""

from __future__ import annotations

from collections import OrderedDict, UserDict, namedtuple
from enum import IntEnum

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import default_collate

from forebay.dataloader.batch.collate import Unlike, collate

Pair = namedtuple("Pair", "a b")
NUMPY = [np.float32, np.int16, np.bool_, np.uint8, np.float64]
LEAVES = st.one_of(
    st.sampled_from([bool, int, float, str, bytes, "tensor", "array", *NUMPY]),
    st.tuples(st.just("shape"), st.lists(st.integers(0, 3), max_size=2)),
)
STRUCTURES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.lists(inner, min_size=1, max_size=3).map(tuple),
        st.dictionaries(st.text("abc", max_size=2), inner, min_size=1, max_size=3),
        st.tuples(st.just(Pair), inner, inner),
    ),
    max_leaves=8,
)


def made(structure, rng):
    """A sample of a structure."""
    match structure:
        case {}:
            return {key: made(inner, rng) for key, inner in structure.items()}
        case ["shape", list(shape)] if isinstance(structure, tuple):
            return torch.from_numpy(rng.random(shape, np.float32))
        case [kind, a, b] if kind is Pair:
            return Pair(made(a, rng), made(b, rng))
        case list():
            return [made(inner, rng) for inner in structure]
        case tuple():
            return tuple(made(inner, rng) for inner in structure)
        case "tensor":
            return torch.from_numpy(rng.integers(0, 9, 4))
        case "array":
            return rng.random((2, 2))
    if structure is str:
        return str(rng.integers(99))
    if structure is bytes:
        return rng.bytes(3)
    return structure(rng.integers(0, 2))


def same(ours, theirs):
    if isinstance(theirs, tuple) and isinstance(theirs[0], str | bytes):
        theirs = list(theirs)  # text within something comes as a tuple there, by itself as a list
    assert type(ours) is type(theirs)
    if isinstance(ours, torch.Tensor):
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs)
    elif isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for key in ours:
            same(ours[key], theirs[key])
    elif isinstance(ours, list | tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    else:
        assert ours == theirs


@given(STRUCTURES, st.integers(1, 4), st.integers(0, 9))
def test_like_samples_collate_as_torch_does(structure, n, seed):
    rng = np.random.default_rng(seed)
    samples = [made(structure, rng) for _ in range(n)]
    same(collate(samples), default_collate(samples))


@pytest.mark.parametrize(
    ("samples", "index", "got", "first"),
    [
        ([1, 2, 2.5], 2, "the sample is of type float", "of type int"),
        ([True, 1], 1, "the sample is of type int", "of type bool"),
        ([np.float32(1), 1.0], 1, "the sample is of type float", "of type float32"),
        ([(1, 2), (1,)], 1, "the sample is a tuple of 1", "a tuple of 2"),
        ([[1], (1,)], 1, "the sample is of type tuple", "of type list"),
        ([Pair(1, 2), (1, 2)], 1, "the sample is of type tuple", "of type Pair"),
        ([{"a": 1}, {"b": 1}], 1, "the sample is a dict of [\"'b'\"]", "a dict of [\"'a'\"]"),
        ([{"a": 1}, {"a": 1, "b": 2}], 1, "the sample is a dict of", "a dict of"),
        ([{"a": [1, 2]}, {"a": [1, "2"]}], 1, "['a'][1] is of type str", "of type int"),
        ([{"a": 1}, None], 1, "the sample is None", "of type dict"),
        (["a", None], 1, "None, not a sample", None),
        ([None], 0, "None, not a sample", None),
        ([torch.zeros(2), torch.zeros(3)], 1, "float32 of shape (3,)", "float32 of shape (2,)"),
        ([torch.zeros(2), torch.zeros(2).int()], 1, "int32 of shape (2,)", "float32 of shape"),
        ([np.zeros(2), torch.zeros(2)], 1, "of type Tensor", "of type ndarray"),
        ([np.zeros(2), np.zeros(2, "f4")], 1, "float32 of shape (2,)", "float64 of shape (2,)"),
        ([np.float32(1), np.float64(1)], 1, "float64 of shape ()", "float32 of shape ()"),
        ([object(), object()], 0, "of type object, which is none of tensors", None),
        ([{"a": {1}}], 0, "['a'] is of type set, which is none of", None),
        ([np.array(["x"])], 0, "which torch does not know", None),
        ([np.datetime64(1, "s")], 0, "which torch does not know", None),
        ([1, 2**63], 1, "the int 9223372036854775808, which int64 does not hold", None),
    ],
)
def test_what_differs_is_named(samples, index, got, first):
    with pytest.raises(Unlike) as caught:
        collate(samples)
    assert caught.value.index == index
    assert got in caught.value.got
    assert caught.value.first is None if first is None else first in caught.value.first


def test_text_that_may_be_missing_is_a_list():
    assert collate([{"t": "a"}, {"t": None}]) == {"t": ["a", None]}


def test_other_mappings_keep_their_kind():
    made_ = collate([UserDict(a=1), UserDict(a=2)])
    assert type(made_) is UserDict
    assert made_["a"].tolist() == [1, 2]
    assert type(collate([OrderedDict(a=1)])) is OrderedDict


def test_numbers_by_name_are_numbers():
    kind = IntEnum("kind", "ONE TWO")
    assert collate([kind.ONE, kind.TWO]).tolist() == [1, 2]


def test_nothing_is_shared():
    sample = torch.zeros(3)
    (batch,) = collate([[sample]])
    batch[0, 0] = 1
    assert sample.tolist() == [0, 0, 0]
    array = np.zeros(2)
    collate([array])[0, 0] = 1
    assert array.tolist() == [0, 0]
    assert collate([(), ()]) == []
