"""What others make of our shards."""

from __future__ import annotations

import pytest

from forebay.formats.image.header import probe
from forebay.formats.record import Schema

SCHEMA = Schema.parse({"image": "jpeg", "label": "int64"})


def test_dali_reads_images_and_labels(tmp_path, shared_data, write_shard):
    dali = pytest.importorskip("nvidia.dali", reason="the DALI reader is an optional extra")
    photos = sorted((shared_data / "imagenet-sample").glob("*.JPEG"))[:24]
    rows = [(p.read_bytes(), 1000 - i) for i, p in enumerate(photos)]
    # The magic, aligned within the record, makes this one several parts.
    rows[5] = (rows[5][0] + bytes(-len(rows[5][0]) % 4) + b"\x0a\x23\xd7\xce tail", 77)
    write_shard(tmp_path, SCHEMA, [rows[:10], rows[10:]], probe=probe)

    @dali.pipeline_def(batch_size=len(rows), num_threads=1, device_id=None)
    def pipeline():
        images, labels = dali.fn.readers.mxnet(
            path=[str(tmp_path / "s.rec")], index_path=[str(tmp_path / "s.idx")]
        )
        return images, labels

    pipe = pipeline()
    pipe.build()
    images, labels = pipe.run()
    assert [int(labels.at(i)[0]) for i in range(len(rows))] == [label for _, label in rows]
    for i, (body, _) in enumerate(rows):
        assert bytes(images.at(i)) == body, i
