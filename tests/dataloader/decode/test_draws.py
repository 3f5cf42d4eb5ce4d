"""Random numbers of samples: the same for ever, however they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.dataloader.decode.draws import BLOCKS_A_SAMPLE, field_key, uniforms
from forebay.kernels.philox import draws

# (seed, epoch, field, position): the first five draws as 32-bit integers. Written down once; a
# change here changes the augmentation of every run that somebody wants to repeat.
GOLDEN = {
    (0, 0, "image", 0): [1836610732, 2707945591, 3803240604, 3461616326, 2176383515],
    (7, 3, "image", 1): [1545591535, 1762733938, 2555424210, 2082558277, 2908408922],
    (7, 3, "größe", 2**40): [1724937665, 2157664066, 142084338, 394711091, 2547376665],
    (2**64 - 1, 2**64 - 1, "x", 2**48 - 1): [
        4130649183,
        825190364,
        1136325080,
        2202615072,
        328288042,
    ],
}


@pytest.mark.parametrize("case", GOLDEN, ids=str)
def test_draws_are_for_ever(case):
    seed, epoch, field, position = case
    (got,) = uniforms(field_key(seed, epoch, field), np.array([position]), 5)
    assert (got * 2**32).astype(np.int64).tolist() == GOLDEN[case]


@settings(max_examples=100, deadline=None)
@given(
    positions=st.lists(st.integers(0, 2**48 - 1), min_size=1, max_size=30).map(np.array),
    count=st.integers(1, 40),
    seed=st.integers(0, 2**64 - 1),
    data=st.data(),
)
def test_a_sample_s_draws_depend_on_its_position_alone(positions, count, seed, data):
    key = field_key(seed, 1, "image")
    whole = uniforms(key, positions, count)
    assert whole.shape == (len(positions), count)
    assert ((whole >= 0) & (whole < 1)).all()
    at = np.array(data.draw(st.lists(st.integers(0, len(positions) - 1), max_size=9)), np.int64)
    fewer = data.draw(st.integers(1, count))
    assert uniforms(key, positions[at], fewer).tolist() == whole[at, :fewer].tolist()


def test_positions_never_share_a_counter():
    key = field_key(0, 0, "x")
    most = uniforms(key, np.array([7]), 4 * BLOCKS_A_SAMPLE)[0]
    following = uniforms(key, np.array([8]), 4)[0]
    counters = np.array([8 * BLOCKS_A_SAMPLE - 1, 8 * BLOCKS_A_SAMPLE], np.uint64)
    words = draws(key, counters) * 2.0**-32
    assert most[-4:].tolist() == words[0].tolist()
    assert following.tolist() == words[1].tolist()


def test_seed_epoch_and_field_each_give_others():
    positions = np.arange(50, dtype=np.int64)
    found = [
        uniforms(field_key(*k), positions, 8).ravel()
        for k in [(0, 0, "a"), (1, 0, "a"), (0, 1, "a"), (0, 0, "b")]
    ]
    values = np.concatenate(found)
    assert len(set(values.tolist())) >= len(values) - 2


def test_draws_are_even():
    values = uniforms(field_key(3, 1, "image"), np.arange(20_000), 5)
    for column in values.T:
        counts = np.bincount((column * 20).astype(int), minlength=20)
        # The upper 0.01 % of chi-square with 19 degrees of freedom begins at 50.8.
        assert ((counts - 1000) ** 2 / 1000).sum() < 50.8
    assert abs(np.corrcoef(values.T) - np.eye(5)).max() < 0.03
