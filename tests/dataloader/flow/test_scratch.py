"""Memory that running work cannot wait for: charged, kept for a while, given back."""

from __future__ import annotations

import pytest

from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.scratch import DECAY, Scratch


def test_is_charged_while_it_is_lent_and_kept_for_the_next():
    budget = Budget(1000)
    scratch = Scratch(budget, "decode")
    with scratch.lent(160):
        assert budget.held == 160
    assert budget.held == 160 - 160 // DECAY
    with scratch.lent(160):
        assert budget.held == 160
    scratch.close()
    assert budget.held == 0


def test_uses_at_once_add_up():
    budget = Budget(1000)
    scratch = Scratch(budget, "decode")
    with scratch.lent(100), scratch.lent(50):
        assert budget.held == 150
    scratch.close()
    assert budget.held == 0


def test_one_large_need_does_not_stay():
    budget = Budget(1000)
    scratch = Scratch(budget, "decode")
    with scratch.lent(5000):
        assert budget.overdrawn == 4000
    for _ in range(100):
        with scratch.lent(10):
            pass
    assert budget.held < 50
    scratch.close()


def test_is_given_back_when_the_work_fails():
    budget = Budget(1000)
    scratch = Scratch(budget, "decode")
    with pytest.raises(OSError, match="broken"), scratch.lent(10):
        raise OSError("broken")
    scratch.close()
    assert budget.held == 0
