"""Blocks by number: what is taken in, let go, and refused."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.kernels import _native
from forebay.kernels.blocks import FixedBlocks, RaggedBlocks, row_stride
from forebay.kernels.gather import gather_fixed, ragged_lengths


def test_numbers_are_reused_and_a_dropped_block_is_gone():
    blocks = FixedBlocks(np.int32)
    numbers = [blocks.put(np.full(3, i, np.int32)) for i in range(40)]
    assert sorted(numbers) == list(range(40))
    blocks.drop(numbers[7])
    out = np.zeros(1, np.int32)
    with pytest.raises(IndexError, match=r"row 0 of block 7 .*block was dropped"):
        gather_fixed(blocks, np.array([7]), np.array([0]), None, out)
    assert blocks.put(np.full(3, 99, np.int32)) == 7
    gather_fixed(blocks, np.array([7]), np.array([2]), None, out)
    assert out[0] == 99
    with pytest.raises(KeyError, match="no block has number 41"):
        blocks.drop(41)


def test_blocks_made_at_once_are_those_put_one_by_one():
    block = np.arange(18, dtype=np.int32).reshape(3, 6)
    for count in (1, 7, 8, 9, 40):
        held = [block[i % 3 :] for i in range(count)]
        at_once, one_by_one = FixedBlocks.of(held), FixedBlocks(np.int32, (6,))
        for array in held:
            one_by_one.put(array)
        assert np.array_equal(at_once.table[:count], one_by_one.table[:count])
        assert at_once.put(block) == one_by_one.put(block) == count
        at_once.drop(0)
        assert at_once.put(block) == 0
    with pytest.raises(ValueError, match=r"rows of int32 \(6,\), got int32 \(2, 5\)"):
        FixedBlocks.of([block, np.zeros((2, 5), np.int32)])
    with pytest.raises(ValueError, match="one size"):
        RaggedBlocks.of([(np.zeros(3), np.zeros(2, np.int64), np.zeros(1, np.int64))])


DTYPES = ["u1", "<i2", ">i4", "<f8", "?", "S5", "<c16"]


@given(st.sampled_from(DTYPES), st.integers(0, 9), st.booleans(), st.lists(st.integers(0, 4)))
def test_tables_are_what_single_arrays_say(dtype, rows, writable, others):
    """One native walk against NumPy's own words on each array, views and empty ones included."""
    whole = np.zeros(800, np.uint8)[: 800 - 800 % np.dtype(dtype).itemsize].view(dtype)
    whole = whole[:45].reshape(9, 5)
    whole.flags.writeable = writable
    views = [
        whole[:rows, 1:4],
        whole[rows:, 1:4],
        whole[::2, 2:],
        whole[:, :3].copy(),
        whole[:1, :3],
    ]
    arrays = tuple(views[i] for i in (0, *others))
    table = np.zeros((len(arrays), 3), np.uint64)
    assert _native.fixed_table(arrays, table) == len(arrays)
    for array, (address, count, apart) in zip(arrays, table.tolist(), strict=True):
        assert (address, count) == (array.__array_interface__["data"][0], len(array))
        assert apart == row_stride(array)


def test_tables_stop_at_what_is_unlike_the_first():
    block = np.zeros((4, 6), np.int32)
    table = np.zeros((2, 3), np.uint64)
    unlike = [block[:, :5], block.view(np.float32), block[:, ::-1], block[::-1], block[:, None]]
    for other in (*unlike, np.broadcast_to(block[:1], (4, 6)), np.zeros((4, 6), ">i4")):
        assert _native.fixed_table((block, other), table) == 1
    line = np.zeros(8, np.int64)
    assert _native.fixed_table((line, line[::2]), table) == 1
    assert _native.fixed_table((np.array(3), line), table) == 0
    table = np.zeros((2, 5), np.uint64)
    good = (line, line, line)
    for bad in (
        (line.view(np.float64), line, line), (line[::2], line, line), (line[None], line, line),
        (line, line.view(np.uint64), line), (line, line, line[::2]), (line, line[:3], line),
    ):  # fmt: skip
        assert _native.ragged_table(*zip(good, bad, strict=True), table) == 1
        assert table[0].tolist() == [line.ctypes.data, 8, 8, line.ctypes.data, line.ctypes.data]


def test_blocks_alike_are_those_made_at_once_or_none():
    block = np.arange(24, dtype=np.int32).reshape(4, 6)
    held = [block, block[1:], block[:0]]
    made = FixedBlocks.alike(held, block[:1])
    assert made is not None
    assert np.array_equal(made.table, FixedBlocks.of(held).table)
    for other in (block[:, :5], block[::-1], block.astype(np.int64)):
        assert FixedBlocks.alike([block, other], block) is None
        if other.strides[0] > 0:
            assert FixedBlocks.alike([block], other) is None


def test_what_is_unlike_by_its_letter_alone_is_taken():
    held = [np.arange(3, dtype=np.int64), np.arange(3, 6).astype(np.longlong)]
    assert held[0].dtype == held[1].dtype
    out = np.zeros(2, np.int64)
    gather_fixed(FixedBlocks.of(held), np.array([1, 0]), np.array([2, 1]), None, out)
    assert out.tolist() == [5, 1]
    blocks = RaggedBlocks.of([(held[0], held[0], held[0]), (held[1], held[1] - 3, held[1] - 3)])
    assert ragged_lengths(blocks, np.array([1, 0]), np.array([1, 0])).tolist() == [1, 0]


def test_tables_refuse_what_is_no_array():
    with pytest.raises(ValueError, match="a row for each"):
        _native.fixed_table((np.zeros(3),), np.zeros((2, 3), np.uint64))
    with pytest.raises(ValueError, match="a row for each"):
        _native.ragged_table((np.zeros(3),), (), (), np.zeros((1, 5), np.uint64))
    with pytest.raises((TypeError, BufferError)):
        _native.fixed_table((object(),), np.zeros((1, 3), np.uint64))
    with pytest.raises(TypeError):
        _native.fixed_table((), np.zeros((0, 3), np.int32))
    index = np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="C-contiguous, got strides"):
        RaggedBlocks.of([(np.zeros(4), index, np.zeros(4, np.int64)[::2])])


def test_blocks_keep_their_arrays_alive():
    blocks = FixedBlocks(np.int64, (1000,))
    for i in range(20):
        blocks.put(np.full((10, 1000), i))
    junk = [np.full((10, 1000), -1) for _ in range(40)]
    out = np.empty((20, 1000), np.int64)
    gather_fixed(blocks, np.arange(20), np.full(20, 9), None, out)
    assert (out == np.arange(20)[:, None]).all()
    assert len(junk) == 40


def test_threads_put_and_drop():
    blocks, failed = FixedBlocks(np.int64), []

    def work(i):
        for turn in range(200):
            number = blocks.put(np.array([1000 * i + turn]))
            out = np.zeros(1, np.int64)
            gather_fixed(blocks, np.array([number]), np.array([0]), None, out)
            if out[0] != 1000 * i + turn:
                failed.append((i, turn))
            if turn % 3:
                blocks.drop(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_what_is_refused():
    with pytest.raises(ValueError, match="dtype object"):
        FixedBlocks(object)
    with pytest.raises(ValueError, match=r"rows of int32 \(2,\), got int32 \(5, 3\)"):
        FixedBlocks(np.int32, (2,)).put(np.zeros((5, 3), np.int32))
    with pytest.raises(ValueError, match="C-contiguous"):
        FixedBlocks(np.int32).put(np.zeros(6, np.int32)[::2])
    rows = np.zeros((4, 6), np.int32)
    for odd in (rows[:, ::2], rows[::-1, :3], np.broadcast_to(rows[:1, :3], (4, 3))):
        with pytest.raises(ValueError, match="behind the one before it"):
            FixedBlocks(np.int32, (3,)).put(odd)
    values, index = np.zeros(5, np.uint8), np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="1-D uint8, got 1-D int16"):
        RaggedBlocks(np.uint8).put(values.astype(np.int16), index, index)
    with pytest.raises(ValueError, match="int64, got int32 and int64"):
        RaggedBlocks(np.uint8).put(values, index.astype(np.int32), index)
    with pytest.raises(ValueError, match="one size"):
        RaggedBlocks(np.uint8).put(values, index, index[:1])
