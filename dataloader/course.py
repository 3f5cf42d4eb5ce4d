"""The course: where a loader stands in its epochs, and where it goes on."""

from __future__ import annotations

from collections.abc import Callable

from forebay.dataloader.cursor import Position
from forebay.dataloader.flow.ticket import Ticket


class Course:
    """The position of a loader. Used from the consumer's thread alone.

    Args:
        over: whether no batch is left in an epoch from a sample of its order on.
    """

    def __init__(self, over: Callable[[int], bool]) -> None:
        self._over = over
        self._at = self._next = Position(0, 0, 0)
        self._moved = False
        self._renewed: Position | None = None

    @property
    def at(self) -> Position:
        """Behind the batch last delivered; an epoch that is over is the next one's beginning."""
        return self._settled(self._at)

    @property
    def next(self) -> Position:
        """Where the next pass begins."""
        return self._next

    @property
    def moved(self) -> bool:
        """Whether `go` set a position that no pass has gone on from yet."""
        return self._moved

    def go(self, at: Position) -> None:
        """Sets the position, for the pass under way as for the next one."""
        self._at = self._next = self._settled(at)
        self._moved = True

    def renew(self) -> None:
        """What comes behind the batch last delivered is another: the pass under way is to be made
        again. It stays in its epoch, and the next pass begins where it would have."""
        # Where the position was set since, a pass under way has nothing to do with it.
        within = self._at != self._next and self._settled(self._at) == self._at
        self._renewed = self._at if within else None

    def again(self) -> Position | None:
        """Where the pass under way goes on, if it is to be made again; told once."""
        at, self._renewed = self._renewed, None
        return at

    def set_epoch(self, epoch: int) -> None:
        """The next pass begins this epoch, unless it goes on with it anyway; a pass that is under
        way stays in its own."""
        if epoch != self._next.epoch:
            self._next = Position(epoch, 0, 0)
            self._moved = False
        self._at = self._next

    def begin(self) -> Position:
        """Where a pass begins now; the one after it begins the next epoch."""
        at = self._next
        self._at, self._moved, self._renewed = at, False, None
        self._next = Position(at.epoch + 1, 0, 0)
        return at

    def delivered(self, ticket: Ticket, part: int) -> None:
        """A batch is handed out: part number `part` of the ticket."""
        cut = ticket.parts[part]
        self._at = Position(ticket.epoch, cut.step + 1, cut.after)

    def _settled(self, at: Position) -> Position:
        if at.sample and self._over(at.sample):
            return Position(at.epoch + 1, 0, 0)
        return at
