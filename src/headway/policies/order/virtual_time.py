"""Virtual time: which tenant has received least, for its weight?"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator

from headway.core.sequence import Sequence
from headway.policies.order.account import Account
from headway.policies.order.charges import FOR_EVER, Charge
from headway.policies.order.lowest import Lowest, Rank


class VirtualTime:
    """Keeps every tenant's time: what it was charged, divided by its weight, and what lifts added.

    The bound stands on two levels. Where tenants go first, whoever is admitted has the least time of all that wait, so
    nobody's time is further above the last such time, the floor, than what its running requests still cost. And a
    tenant that begins to wait is lifted to the floor at least, so nobody who waits is below it.

    Source: virtual token counter, Fairness in Serving Large Language Models (OSDI 2024); the floor is the virtual time
    of start-time fair queueing (SIGCOMM 1996).

    Args:
        charge: what a tenant pays for.
        lift_waiting: lift over those that wait only, and without a floor, which is wrong: while the others only run, a
            tenant that returns keeps the credit of its idle time.
    """

    def __init__(self, charge: Charge, *, lift_waiting: bool) -> None:
        self.charge = charge
        self.time: Callable[[Account], float] = charge.time  # a tenant's virtual time, in units of one with weight 1
        self.lift_waiting = lift_waiting
        self.floor: float = 0.0  # the largest of the least times of those that waited whenever a request was started
        self._choices: list[Lowest] = []
        self._waiting = self.choice()
        self._active = Lowest(self._level_of)

    def rank(self, account: Account) -> Rank:
        """Return what a tenant with something waiting is chosen by: time, then the oldest of its waiting requests."""
        oldest = account.oldest()
        return (self.time(account), oldest.arrival, oldest.ticket)

    def least(self) -> Account | None:
        """Return the tenant whose turn it is, of those with something waiting."""
        return self._waiting.first()

    def choice(self) -> Lowest:
        """Return a place, empty at first, for some of the tenants with something waiting; it knows whose turn it is."""
        choice = Lowest(lambda account: self.rank(account) if account.waiting else None)
        self._choices.append(choice)
        return choice

    def in_turn(self) -> Generator[Account]:
        """Name the tenants with something waiting from the least time on; see `Lowest.in_order`."""
        return self._waiting.in_order()

    def arrived(self, seq: Sequence, account: Account) -> None:
        """A request joins a tenant's queue; where that was empty, the tenant has saved up no credit."""
        if seq.request.weight != account.weight:
            self._restart(account, self.time(account))  # what was charged so far stays charged at the old weight
            account.weight = seq.request.weight
        if not account.waiting:
            level = self._level()
            if level > self.time(account):
                self._restart(account, level)
        account.waiting += 1
        account.line.append(seq)
        self._waiting.join(account)
        self._active.join(account)

    def admitted(self, seq: Sequence, account: Account) -> None:
        """A request starts, or returns after an eviction."""
        if seq.evictions:
            account.away -= 1
        else:
            account.waiting -= 1
            level = self.time(account)
            if level > self.floor:  # its own, unless urgency or what fits went before it
                least = self._waiting.first()
                self.floor = max(self.floor, level if least is None else min(level, self.time(least)))
        account.running += 1
        self.charge.admitted(seq, account)

    def removed(self, seq: Sequence, account: Account) -> None:
        """A request was cancelled, shed or demoted while it waited."""
        if seq.evictions:
            account.away -= 1
        else:
            account.waiting -= 1

    def gone(self, seq: Sequence, account: Account) -> None:
        """A request runs no more."""
        account.running -= 1
        if self.charge.gone(seq, account):
            for choice in (*self._choices, self._active):
                choice.fell(account)

    def steady_for(self, account: Account) -> int:
        """For how many quiet iterations does the tenant whose turn it is keep it?"""
        pace = self.charge.pace(account) / account.weight
        room = self._waiting.others() - self.time(account)
        steps = FOR_EVER if pace == 0.0 or room == math.inf else max(int(room / pace) - 1, 0)
        return min(steps, self.charge.steady_for())

    def _level(self) -> float:
        """Return the time below which nobody begins to wait."""
        if self.lift_waiting:
            least = self._waiting.first()
            return -math.inf if least is None else self.time(least)
        least = self._active.first()
        return self.floor if least is None else max(self.floor, self.time(least))

    def _level_of(self, account: Account) -> Rank | None:
        return (self.time(account),) if account.active else None

    def _restart(self, account: Account, time: float) -> None:
        """Set a tenant's time; it never falls."""
        account.start = time
        self.charge.reset(account)
