"""The account with the smallest rank, where ranks grow and nobody says so."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Generator

from headway.policies.order.account import Account

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

    def __contains__(self, account: Account) -> bool:
        """Whether it belongs here, or did when last looked at."""
        return account in self._live

    def __len__(self) -> int:
        """How many belong here, or did when last looked at."""
        return len(self._live)

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

    def in_order(self) -> Generator[Account]:
        """Name one after the other from the smallest rank on; nothing may change until it is closed."""
        named: list[tuple[Rank, int, Account]] = []
        try:
            while (account := self.first()) is not None:
                named.append(heapq.heappop(self._heap))
                yield account
        finally:
            for entry in named:
                heapq.heappush(self._heap, entry)

    def others(self) -> float:
        """Return what no rank but that of `first`, which was just asked for, begins below."""
        return min((rank[0] for rank, *_ in self._heap[1:3]), default=math.inf)

    def _enter(self, account: Account) -> None:
        rank = self._rank(account)
        if rank is not None:
            self._serial += 1
            self._live[account] = self._serial
            heapq.heappush(self._heap, (rank, self._serial, account))
