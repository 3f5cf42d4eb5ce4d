"""Cutting a ticket: every place once, in slices that each touch few blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.dataloader.flow.ticket import Cutting, LoadKey, Part, Ticket, cut


def ticket(blocks, step=3, by_record=False):
    blocks = np.array(blocks, np.int64)
    n = len(blocks)
    rows = np.arange(n, dtype=np.int64) * 7 % 50
    parts = (Part(step, 0, n, 0, n, n),)
    return Ticket(0, parts, np.arange(n, dtype=np.int64), blocks, rows, by_record=by_record)


def pieces(whole, threads):
    """Its slices where all fields are decoded."""
    return cut(whole, Cutting(threads, decodes=True, gathers=False))


TICKETS = st.builds(
    ticket, st.lists(st.integers(0, 12), max_size=400), st.just(3), by_record=st.booleans()
)


@settings(max_examples=200, deadline=None)
@given(whole=TICKETS, threads=st.integers(0, 40))
def test_every_place_is_in_one_slice(whole, threads):
    slices = pieces(whole, threads)
    assert sorted(int(p) for s in slices for p in s.places) == list(range(len(whole)))
    for s in slices[:-1]:
        assert 4 <= len(s.places) <= 64
    if slices:
        assert 1 <= len(slices[-1].places) <= 64


@settings(max_examples=200, deadline=None)
@given(whole=TICKETS, threads=st.integers(0, 40))
def test_each_run_of_a_slice_is_of_one_load(whole, threads):
    for s in [*pieces(whole, threads), *cut(whole, Cutting(threads, False, True))]:
        assert len(s.bounds) == len(s.keys) + 1
        assert (int(s.bounds[0]), int(s.bounds[-1])) == (0, len(s.places))
        assert (np.diff(s.bounds) > 0).all()
        assert len(set(s.keys)) == len(s.keys)
        runs = list(s.runs())
        assert [k for k, _, _ in runs] == list(s.keys)
        for (key, places, inside), wanted in zip(runs, s.wanted, strict=True):
            blocks, rows = whole.blocks[places], whole.rows[places]
            if whole.by_record:
                assert key == LoadKey(-1, whole.step, key.number)
                assert wanted.blocks[inside].tolist() == blocks.tolist()
                assert wanted.rows[inside].tolist() == rows.tolist()
            else:
                assert key == LoadKey(key.block)
                assert set(blocks.tolist()) == {key.block}
                assert wanted is None
                assert inside.tolist() == rows.tolist()


@settings(max_examples=100, deadline=None)
@given(whole=TICKETS, threads=st.integers(0, 8))
def test_rows_read_one_by_one_are_read_once_in_the_order_of_their_blocks(whole, threads):
    whole = replace(whole, by_record=True)
    slices = cut(whole, Cutting(threads, decodes=True, gathers=True))
    loads = {}
    for s in slices:
        for key, wanted in zip(s.keys, s.wanted, strict=True):
            read = list(zip(wanted.blocks.tolist(), wanted.rows.tolist(), strict=True))
            assert loads.setdefault(key, read) == read, "slices that share a load ask for the same"
    got = [row for key in sorted(loads) for row in loads[key]]
    assert got == sorted(zip(whole.blocks.tolist(), whole.rows.tolist(), strict=True))


@settings(max_examples=100, deadline=None)
@given(whole=TICKETS.filter(lambda t: not t.by_record), threads=st.integers(1, 8))
def test_a_block_is_split_only_between_neighbouring_slices(whole, threads):
    slices = pieces(whole, threads)
    for block in set(whole.blocks.tolist()):
        touched = [i for i, s in enumerate(slices) if block in whole.blocks[s.places]]
        assert touched == list(range(touched[0], touched[-1] + 1))


def test_blocks_that_stand_first_in_the_batch_are_decoded_first():
    slices = pieces(ticket([9, 2, 9, 5, 2, 5, 9, 2]), 1)
    assert [s.places.tolist() for s in slices] == [[0, 2, 6, 1], [4, 7, 3, 5]]
    assert [[k.block for k in s.keys] for s in slices] == [[9, 2], [2, 5]]


@settings(max_examples=100, deadline=None)
@given(
    blocks=st.lists(st.integers(0, 12), min_size=1, max_size=400),
    apart=st.sampled_from([1, 5_461, 5_462, 10**12]),
)
def test_rows_are_grouped_by_block_and_ascend_in_each_whatever_the_numbers(blocks, apart):
    # 12 x 5,461 fits 16 bits and 12 x 5,462 does not.
    near = pieces(ticket(blocks), 2)
    far = pieces(ticket([10**9 + b * apart for b in blocks]), 2)
    assert [s.places.tolist() for s in far] == [s.places.tolist() for s in near]
    rows = ticket(blocks).rows.tolist()
    expected = sorted(
        range(len(blocks)),
        key=lambda place: (blocks.index(blocks[place]), rows[place], place),
    )
    assert np.concatenate([s.places for s in far]).tolist() == expected


def test_more_threads_make_smaller_slices_between_4_and_64_rows():
    whole = ticket([0] * 256)
    sizes = {t: len(pieces(whole, t)[0].places) for t in (0, 1, 2, 4, 8, 100)}
    assert sizes == {0: 64, 1: 64, 2: 64, 4: 32, 8: 16, 100: 4}


def test_an_empty_ticket_has_no_slices():
    assert cut(ticket([]), Cutting(4, True, True)) == []


@settings(max_examples=50, deadline=None)
@given(whole=TICKETS.filter(len), decodes=st.booleans())
def test_fields_that_are_copied_go_all_rows_at_once_and_last(whole, decodes):
    slices = cut(whole, Cutting(2, decodes, gathers=True))
    assert [s.gathers for s in slices] == [False] * (len(slices) - 1) + [True]
    assert (len(slices) > 1) == decodes
    assert sorted(slices[-1].places.tolist()) == list(range(len(whole)))
