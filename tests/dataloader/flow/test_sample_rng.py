"""The generator of a sample: bound to it, exact, and made only when it is asked for."""

from __future__ import annotations

import contextvars
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import forebay as fb
from forebay.dataloader.flow.sample_rng import OfSample, asked_key, globals_key, sample_rng

WORD = st.integers(0, 2**64 - 1)
POSITION = st.integers(0, 2**62)


@given(WORD, WORD, POSITION)
def test_a_stream_is_a_function_of_seed_epoch_and_position(seed, epoch, position):
    def drawn(*at):
        with OfSample(asked_key(*at[:2]), at[2]):
            return sample_rng().integers(0, 2**62, 4).tolist()

    first = drawn(seed, epoch, position)
    assert first == drawn(seed, epoch, position)
    for other in (
        (seed ^ 1, epoch, position), (seed, epoch ^ 1, position), (seed, epoch, position + 1),
        (seed, epoch, position + 2**32), (epoch ^ 2, seed, position),
    ):  # fmt: skip
        assert first != drawn(*other)
    assert asked_key(seed, epoch) != globals_key(seed, epoch)


def test_streams_are_for_ever():
    with OfSample(asked_key(7, 2), 41):
        assert sample_rng().bit_generator.random_raw(2).tolist() == [
            6356755116482137770, 14387239095513557513,
        ]  # fmt: skip
        assert isinstance(sample_rng().bit_generator, np.random.Philox)
        children = sample_rng().spawn(2)
    with OfSample(asked_key(7, 2), 41):
        again = sample_rng().spawn(2)
    assert [c.random() for c in children] == [c.random() for c in again]


def test_calls_for_one_sample_go_on():
    key = asked_key(0, 0)
    with OfSample(key, 5):
        several = [sample_rng().random(), sample_rng().random()]
        kept = sample_rng()
    with OfSample(key, 5):
        assert sample_rng().random(2).tolist() == several
        assert sample_rng() is not kept
    # What was kept is nobody else's.
    with OfSample(key, 6):
        sample_rng().random()
    with OfSample(key, 5):
        assert sample_rng().random(3)[2] == kept.random()


def test_samples_within_samples():
    key = asked_key(0, 0)
    with OfSample(key, 1):
        outer = sample_rng()
        with OfSample(key, 2):
            assert sample_rng() is not outer
        assert sample_rng() is outer
        with pytest.raises(ZeroDivisionError), OfSample(key, 3):
            raise ZeroDivisionError
        assert sample_rng() is outer


def test_outside_of_a_sample_it_says_where_it_works():
    with pytest.raises(fb.errors.OutsideSample, match="works inside the map= and filter="):
        fb.sample_rng()
    found = []

    def elsewhere():
        try:
            sample_rng()
        except fb.errors.OutsideSample as e:
            found.append(e)

    with OfSample(asked_key(0, 0), 1):
        thread = threading.Thread(target=contextvars.Context().run, args=(elsewhere,))
        thread.start()
        thread.join()
    assert len(found) == 1
