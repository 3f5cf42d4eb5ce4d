"""Sealing: a slot's arrays become tensors without a copy, and the batch is told about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from forebay.dataloader.batch.stage import BatchStage
from forebay.dataloader.flow.slot import DenseField, Slot
from forebay.dataloader.flow.ticket import Part, Ticket
from forebay.formats.record import Schema

SCHEMA = Schema.parse(
    {"image": "jpeg", "x": "float32[2,3]", "label": "int64", "ids": "uint16[*]", "text": "text?"}
)


@dataclass(frozen=True)
class Decoded:
    shape: tuple[int, ...] = (3, 4, 5)
    dtype: str = "uint8"
    stored: str = "uint8"
    layout: str = "CHW"


def memory(nbytes):
    return np.empty(nbytes, np.uint8)


def ticket(n=2, n_global=2):
    numbers = np.arange(10, 10 + n, dtype=np.int64)
    return Ticket(7, (Part(5, 0, n, 0, n_global, 30),), numbers, np.zeros(n, np.int64), numbers)


def slot(stage, n=2):
    spec = stage.declare()
    arrays = {f.name: np.ones((n, *f.shape), f.dtype) for f in spec.dense}
    return Slot(n, arrays, {name: [None] * n for name in spec.lists}, memory)


def test_declares_what_a_batch_holds():
    spec = BatchStage(SCHEMA, {"image": Decoded()}, (), as_dict=False, list_bytes=50).declare()
    assert spec.dense == (
        DenseField("image", (3, 4, 5), "uint8"),
        DenseField("x", (2, 3), "float32"),
        DenseField("label", (), "int64"),
    )
    assert spec.lists == ("ids", "text")
    assert spec.nbytes(10) == 10 * (60 + 24 + 8 + 50)


def test_an_encoded_field_without_a_decoder_is_a_list():
    spec = BatchStage(SCHEMA, {}, (), as_dict=False, list_bytes=50).declare()
    assert spec.lists == ("image", "ids", "text")


def test_list_bytes_are_charged_only_where_there_are_lists():
    spec = BatchStage(Schema.parse({"x": "int8"}), {}, (), as_dict=False, list_bytes=50).declare()
    assert spec.nbytes(10) == 10


@pytest.mark.parametrize("as_dict", [False, True])
def test_seals_in_the_schema_s_order(as_dict):
    stage = BatchStage(SCHEMA, {"image": Decoded()}, (), as_dict, list_bytes=0)
    made = slot(stage)
    made.lists["ids"] = [np.array([1, 2], np.uint16), np.empty(0, np.uint16)]
    made.lists["text"] = ["a", None]
    (sealed,) = stage.run(ticket(), 1, made)
    batch = sealed.batch
    values = batch
    if as_dict:
        assert list(batch) == list(SCHEMA.names)
        values = list(batch.values())
    assert isinstance(values, list)
    image, x, label, ids, text = values
    assert (image.shape, image.dtype) == ((2, 3, 4, 5), torch.uint8)
    assert (x.shape, x.dtype) == ((2, 2, 3), torch.float32)
    assert (label.shape, label.dtype) == ((2,), torch.int64)
    assert [t.tolist() for t in ids] == [[1, 2], []]
    assert {t.dtype for t in ids} == {torch.uint16}
    assert text == ["a", None]


def test_tensors_are_the_slot_s_memory():
    stage = BatchStage(Schema.parse({"x": "float32"}), {}, (), as_dict=False, list_bytes=0)
    made = slot(stage)
    (sealed,) = stage.run(ticket(), 1, made)
    (x,) = sealed.batch
    made.arrays["x"][1] = 9
    assert x.tolist() == [1, 9]


def test_tells_about_the_batch():
    stage = BatchStage(Schema.parse({"x": "int8"}), {}, (), as_dict=False, list_bytes=0)
    (sealed,) = stage.run(ticket(2, 8), 1, slot(stage))
    assert (sealed.n, sealed.part) == (2, 0)
    info = sealed.about.info(sealed.part)
    assert (info.epoch, info.step, info.n, info.n_global) == (7, 5, 2, 8)
    assert info.weight == 0.25
    assert info.positions.tolist() == [10, 11]
    assert info.faults == ()


def test_an_empty_batch_weighs_nothing():
    stage = BatchStage(Schema.parse({"x": "int8"}), {}, (), as_dict=False, list_bytes=0)
    (sealed,) = stage.run(ticket(0, 0), 1, slot(stage, 0))
    assert sealed.about.info(0).weight == 0.0
    assert sealed.batch[0].shape == (0,)


def test_seals_the_first_batches_of_a_ticket_and_tells_of_each():
    stage = BatchStage(Schema.parse({"x": "int8"}), {}, (), as_dict=False, list_bytes=0)
    numbers = np.arange(5, dtype=np.int64)
    parts = (Part(3, 0, 2, 0, 2, 22), Part(4, 2, 4, 0, 2, 24), Part(5, 4, 5, 0, 1, 25))
    made = slot(stage, 5)
    made.arrays["x"][:] = numbers
    made.lengths["y"] = numbers + 10
    sealed = stage.run(Ticket(1, parts, numbers + 20, numbers, numbers), 2, made)
    assert [s.batch[0].tolist() for s in sealed] == [[0, 1], [2, 3]]
    infos = [s.about.info(s.part) for s in sealed]
    assert [info.step for info in infos] == [3, 4]
    assert [info.positions.tolist() for info in infos] == [[20, 21], [22, 23]]
    assert [info.lengths["y"].tolist() for info in infos] == [[10, 11], [12, 13]]
