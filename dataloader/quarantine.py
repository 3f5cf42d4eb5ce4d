"""Samples that could not be delivered: named in a file, and counted against a limit."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forebay.dataloader.flow.errors import StageFailed, TooManyFaults
from forebay.dataloader.flow.fault import Fault
from forebay.dataloader.flow.info import BatchInfo
from forebay.dataloader.flow.mend import OnError

log = logging.getLogger("forebay")


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """What a loader does about samples that cannot be delivered.

    Args:
        on_error: "raise", or go on without them ("skip") or with others ("replace").
        most: of them in one pass over an epoch, by this rank.
        file: that names them, one line of JSON each; None: the log names them.
    """

    on_error: OnError
    most: int
    file: str | None


class Quarantine:
    """Notes the faults of batches as these are handed out. Used from the consumer's thread alone.

    Args:
        where: (shard, record) of a (block, row of it).
        rank: of this process, for the file: several may share one.
    """

    def __init__(
        self, policy: ErrorPolicy, where: Callable[[int, int], tuple[str, int]], rank: int
    ) -> None:
        self._policy = policy
        self._where = where
        self._rank = rank
        self._noted = 0

    def begin(self) -> None:
        """A pass begins."""
        self._noted = 0

    def note(self, info: BatchInfo) -> None:
        """Names the faults of a batch that is about to be handed out.

        Raises:
            TooManyFaults: they are more than the limit.
            StageFailed: the file cannot be written.
        """
        if not info.faults:
            return
        lines = [self._line(info, fault) for fault in info.faults]
        self._write(lines)
        self._noted += len(lines)
        if self._noted > self._policy.most:
            fault = info.faults[-1]
            raise TooManyFaults(
                f"{self._noted} samples of epoch {info.epoch} could not be delivered, more than "
                f"max_errors={self._policy.most}; the last: {lines[-1]}; run `forebay verify` on "
                "the dataset, or give a larger max_errors"
            ) from fault.cause

    def _line(self, info: BatchInfo, fault: Fault) -> str:
        shard, record = self._where(fault.block, fault.row)
        line: dict[str, Any] = {
            "epoch": info.epoch,
            "step": info.step,
            "position": fault.position,
            "rank": self._rank,
            "shard": shard,
            "record": record,
            "stage": fault.stage,
            "cause": f"{type(fault.cause).__name__}: {fault.cause}",
            "action": "left out" if fault.replacement is None else "replaced",
        }
        if fault.replacement is not None:
            by_shard, by_record = self._where(*fault.replacement)
            line["by"] = {"shard": by_shard, "record": by_record}
        return json.dumps(line)

    def _write(self, lines: list[str]) -> None:
        file = self._policy.file
        if file is None:
            for line in lines:
                log.warning("a sample could not be delivered: %s", line)
            return
        try:
            # Opened each time: faults are rare, and what is written stays though we are killed. One
            # write, which O_APPEND keeps apart from those of other ranks.
            descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                data = "".join(line + "\n" for line in lines).encode()
                if os.write(descriptor, data) != len(data):
                    raise OSError("the file took a part of the lines: no room is left")
            finally:
                os.close(descriptor)
        except OSError as e:
            raise StageFailed(
                f"quarantine file {file!r} cannot be written ({e}), so samples would be lost "
                f"unnamed: {'; '.join(lines)}"
            ) from e
