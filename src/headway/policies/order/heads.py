"""Urgency before tenants: who is nearly the most urgent, and of these who has received least."""

from __future__ import annotations

import heapq

from headway.core.sequence import Sequence
from headway.policies.order.account import Account
from headway.policies.order.least_slack import LeastSlack
from headway.policies.order.need_index import Entry
from headway.policies.order.virtual_time import VirtualTime

_ALL = 1 << 62  # positions


class Heads:
    """The most urgent request of every tenant, by key. Cost: O(tenants within the band, log tenants) a question.

    Args:
        band: seconds; whoever is within it of the most urgent request is as urgent.
    """

    def __init__(self, band: float) -> None:
        self.band = band
        self.several: bool = False  # more than one tenant was urgent when last asked
        self._heap: list[
            tuple[float, int, int, Account]
        ] = []  # key, ticket, tenant's number; true where it is its head

    def renew(self, account: Account) -> bool:
        """A tenant's queue has changed: enter its most urgent request; return whether it is another one."""
        entry = _urgent(account, _ALL)
        head = None if entry is None else entry[:2]
        if head == account.head:
            return False
        account.head = head
        if head is not None:
            heapq.heappush(self._heap, (*head, account.number, account))
        return True

    def choose(self, space: int, times: VirtualTime) -> Sequence | None:
        """Return the most urgent fitting request of the tenant that received least among the nearly as urgent."""
        heap = self._heap
        fitting: list[tuple[Entry, Account]] = []
        met: list[tuple[float, int, int, Account]] = []
        limit = float("inf")
        while heap and heap[0][0] <= limit:
            head = heapq.heappop(heap)
            account = head[3]
            if account.head != head[:2]:
                continue
            met.append(head)
            entry = _urgent(account, space)
            if entry is not None:
                fitting.append((entry, account))
                limit = min(limit, entry[0] + self.band)
        for head in met:
            heapq.heappush(heap, head)
        urgent = [(entry, account) for entry, account in fitting if entry[0] <= limit]
        self.several = len(urgent) > 1
        if not urgent:
            return None
        entry, account = min(urgent, key=lambda one: (times.rank(one[1]), one[0][1]))
        order = account.order
        return order.first_within(space, limit) if isinstance(order, LeastSlack) and order.by_cache else entry[4]


def _urgent(account: Account, space: int) -> Entry | None:
    order = account.order
    return order.most_urgent(space) if isinstance(order, LeastSlack) else None
