"""Virtual time: which tenant has received least, for its weight?"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

from headway.core.sequence import Sequence
from headway.policies.order.account import Account
from headway.policies.order.charges import FOR_EVER, Charge

Rank = tuple[float, ...]


class Lowest:
    """Finds the account with the smallest rank, where ranks grow and nobody says so.

    A heap of ranks as they were when last looked at. They are lower bounds, so the smallest one is found by bringing
    the top up to date. Cost: O(log n) for each account that has grown past others since.

    Args:
        rank: an account's rank now, None when it does not belong here any more.
    """

    __slots__ = ("_heap", "_live", "_rank", "_serial")

    def __init__(self, rank: Callable[[Account], Rank | None]) -> None:
        self._rank = rank
        self._heap: list[tuple[Rank, int, Account]] = []
        self._live: dict[Account, int] = {}  # serial number of its entry; others of the same account are out of date
        self._serial: int = 0

    def join(self, account: Account) -> None:
        """It belongs here from now on, if it did not already."""
        if account not in self._live:
            self._enter(account)

    def leave(self, account: Account) -> None:
        """It does not belong here until it joins again."""
        self._live.pop(account, None)

    def fell(self, account: Account) -> None:
        """Its rank has become smaller."""
        if account in self._live:
            self._enter(account)

    def first(self) -> Account | None:
        """Return the account with the smallest rank, None where there is none."""
        heap, live = self._heap, self._live
        while heap:
            seen, serial, account = heap[0]
            if live.get(account) != serial:
                heapq.heappop(heap)
                continue
            rank = self._rank(account)
            if rank == seen:
                return account
            if rank is None:
                heapq.heappop(heap)
                del live[account]
            else:
                heapq.heapreplace(heap, (rank, serial, account))
        return None

    def others(self) -> float:
        """Return what no rank but that of `first`, which was just asked for, begins below."""
        return min((rank[0] for rank, *_ in self._heap[1:3]), default=math.inf)

    def _enter(self, account: Account) -> None:
        rank = self._rank(account)
        if rank is not None:
            self._serial += 1
            self._live[account] = self._serial
            heapq.heappush(self._heap, (rank, self._serial, account))


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
        self._waiting = Lowest(lambda account: self.rank(account) if account.waiting else None)
        self._active = Lowest(self._level_of)

    def rank(self, account: Account) -> Rank:
        """Return what a tenant with something waiting is chosen by: time, then the oldest of its waiting requests."""
        oldest = account.oldest()
        return (self.time(account), oldest.arrival, oldest.ticket)

    def least(self) -> Account | None:
        """Return the tenant whose turn it is, of those with something waiting."""
        return self._waiting.first()

    def set_aside(self, account: Account) -> None:
        """Leave a tenant with something waiting out of `least` until `contend_again`."""
        self._waiting.leave(account)

    def contend_again(self, account: Account) -> None:
        """Undo `set_aside`."""
        self._waiting.join(account)

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
            self._waiting.fell(account)
            self._active.fell(account)

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
