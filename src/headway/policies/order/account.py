"""What is known of one tenant: what waits and runs, and what it was charged."""

from __future__ import annotations

from collections import deque

from headway.core.rules import Order
from headway.core.sequence import WAITING, Sequence


class Account:
    """One tenant.

    Decode positions of what decodes now are a product of the clock and a number of requests, so that an iteration
    touches no account; see `charges`.

    Attributes:
        number: its place in the order in which tenants came, which tells them apart.
        order: the order among its own requests.
        head: key and ticket of its most urgent request, where urgency goes before tenants.
        weight: its share beside the others'.
        line: its waiting requests in order of arrival; those that wait no more leave lazily.
        waiting: its requests that were never admitted.
        away: its evicted requests, which wait to return.
        running: its requests that hold KV.
        start: its virtual time when it was last lifted or its weight changed; what follows counts from there.
        admissions: requests that were started.
        prefilled: prompt positions that were charged.
        decoded: decode positions that were charged, apart from those of the requests that are `counted`.
        counted: requests that are charged with every decode iteration.
        since: sum of the clocks from which these are counted.
    """

    __slots__ = (
        "admissions",
        "away",
        "counted",
        "decoded",
        "head",
        "line",
        "number",
        "order",
        "prefilled",
        "running",
        "since",
        "start",
        "waiting",
        "weight",
    )

    def __init__(self, number: int, order: Order) -> None:
        self.number: int = number
        self.order: Order = order
        self.head: tuple[float, int] | None = None
        self.weight: float = 1.0
        self.line: deque[Sequence] = deque()
        self.waiting: int = 0
        self.away: int = 0
        self.running: int = 0
        self.start: float = 0.0
        self.admissions: int = 0
        self.prefilled: int = 0
        self.decoded: int = 0
        self.counted: int = 0
        self.since: int = 0

    @property
    def active(self) -> bool:
        """Whether anything of it waits or runs."""
        return self.waiting + self.away + self.running > 0

    def oldest(self) -> Sequence:
        """Return the waiting request that arrived first; there must be one."""
        line = self.line
        while line[0].state != WAITING or line[0].evictions:
            line.popleft()
        return line[0]
