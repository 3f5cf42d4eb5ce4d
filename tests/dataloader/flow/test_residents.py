"""The table of resident blocks: who keeps what, and what it costs."""

from __future__ import annotations

import pytest

from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.residents import Residents
from forebay.dataloader.flow.ticket import LoadKey


class Table:
    """Residents with a budget, which charges as the line does."""

    def __init__(self):
        self.budget = Budget(10**6)
        self.residents = Residents(self.budget)

    def add(self, block, stored=10, memory=100, step=-1):
        self.budget.charge("fetch", stored)
        self.budget.charge("blocks", memory)
        return self.residents.add(LoadKey(block, step), stored, memory)

    def idle(self, block):
        """A block that came, was used, and is kept."""
        resident = self.add(block)
        self.residents.need(resident)
        self.residents.loaded(resident, f"block {block}", 100, None)
        self.residents.unneed(resident)
        return resident

    def held(self):
        return self.budget.by_account().get("fetch", 0), self.budget.by_account().get("blocks", 0)

    def has(self, block):
        return self.residents.get(LoadKey(block)) is not None


@pytest.fixture
def table():
    return Table()


def test_what_was_charged_too_much_comes_back_when_the_load_is_over(table):
    resident = table.add(1)
    assert table.held() == (10, 100)
    resident.waiting.append("a slice")
    assert table.residents.loaded(resident, "block", 60, None) == ["a slice"]
    assert table.held() == (0, 60)
    assert (resident.block, resident.done, resident.waiting) == ("block", True, [])


def test_a_load_larger_than_its_charge_gives_back_no_more_than_that(table):
    resident = table.add(1)
    table.residents.need(resident)
    table.residents.loaded(resident, "block", 150, None)
    table.residents.last_use(LoadKey(1))
    table.residents.unneed(resident)
    assert table.held() == (0, 0)


def test_a_kept_block_stays_until_its_last_use(table):
    resident = table.idle(1)
    assert table.has(1)
    table.residents.need(resident)
    table.residents.last_use(LoadKey(1))
    assert table.has(1), "a slice still needs it"
    table.residents.unneed(resident)
    assert not table.has(1)
    assert table.held() == (0, 0)
    assert resident.block is None


def test_last_use_told_before_the_block_has_come(table):
    resident = table.add(1)
    table.residents.need(resident)
    table.residents.last_use(LoadKey(1))
    table.residents.loaded(resident, "block", 100, None)
    assert table.has(1)
    table.residents.unneed(resident)
    assert not table.has(1)


def test_last_use_of_an_idle_block_drops_it_at_once(table):
    table.idle(1)
    table.residents.last_use(LoadKey(1))
    assert not table.has(1)
    assert table.held() == (0, 0)


def test_telling_about_a_block_that_is_not_there_is_no_error(table):
    table.residents.last_use(LoadKey(9))
    table.residents.set_spare(LoadKey(9))


def test_rows_read_for_one_slice_are_not_kept(table):
    resident = table.add(1, step=3)
    table.residents.need(resident)
    table.residents.loaded(resident, "rows", 100, None)
    table.residents.unneed(resident)
    assert table.residents.get(LoadKey(1, 3)) is None
    assert table.held() == (0, 0)


def test_two_slices_need_it_and_the_last_lets_it_go(table):
    resident = table.add(1)
    table.residents.need(resident)
    table.residents.need(resident)
    table.residents.last_use(LoadKey(1))
    table.residents.loaded(resident, "block", 100, None)
    table.residents.unneed(resident)
    assert table.has(1)
    table.residents.unneed(resident)
    assert not table.has(1)


def test_a_failed_load_is_not_kept_so_that_the_next_ticket_tries_again(table):
    resident = table.add(1)
    table.residents.need(resident)
    table.residents.loaded(resident, None, 0, RuntimeError("damage"))
    table.residents.unneed(resident)
    assert not table.has(1)
    assert table.held() == (0, 0)


def test_the_longest_idle_goes_first(table):
    for block in (1, 2, 3):
        table.idle(block)
    again = table.residents.get(LoadKey(1))
    table.residents.need(again)
    table.residents.unneed(again)
    order = []
    while table.residents.evict(spare_only=False):
        order.append(next(b for b in (1, 2, 3) if not table.has(b) and b not in order))
    assert order == [2, 3, 1]
    assert table.held() == (0, 0)


def test_a_block_that_is_needed_is_never_evicted(table):
    resident = table.idle(1)
    table.residents.need(resident)
    assert not table.residents.evict(spare_only=False)
    assert table.has(1)


def test_spare_blocks_go_before_others_and_alone_where_asked(table):
    table.idle(1)
    table.idle(2)
    assert not table.residents.evict(spare_only=True)
    table.residents.set_spare(LoadKey(2))
    assert table.residents.evict(spare_only=True)
    assert (table.has(1), table.has(2)) == (True, False)
    assert not table.residents.evict(spare_only=True)
    table.residents.set_spare(LoadKey(1))
    assert table.residents.evict(spare_only=False)
    assert table.held() == (0, 0)


def test_a_spare_block_that_is_needed_again_is_spare_no_more(table):
    resident = table.idle(1)
    table.residents.set_spare(LoadKey(1))
    table.residents.need(resident)
    table.residents.unneed(resident)
    assert not table.residents.evict(spare_only=True)
    assert table.residents.evict(spare_only=False)


def test_clear_gives_everything_back(table):
    table.idle(1)
    table.residents.need(table.idle(2))
    table.add(3)
    table.residents.set_spare(LoadKey(1))
    table.residents.clear()
    assert table.held() == (0, 0)
    assert not table.residents.evict(spare_only=False)
    assert not any(map(table.has, (1, 2, 3)))
