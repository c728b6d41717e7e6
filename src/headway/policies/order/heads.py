"""Urgency before tenants: of those with a request that is nearly the most urgent one, who has received least?"""

from __future__ import annotations

from headway.policies.order.account import Account
from headway.policies.order.least_slack import LeastSlack
from headway.policies.order.lowest import Lowest
from headway.policies.order.need_index import Entry
from headway.policies.order.virtual_time import VirtualTime

_ALL = 1 << 62  # positions


class Heads:
    """The most urgent request of every tenant, its head.

    Tenants whose head is urgent are in a line by time, the others in one by urgency. They change lines when a question
    finds them in the wrong one: it takes everybody who has become urgent into the line by time, and puts back whom it
    meets there and finds not to be urgent. Cost: O(log tenants) for a queue that has changed, for a change of lines,
    and for each tenant that is met and of which nothing fits.

    Args:
        times: the tenants' times.
    """

    def __init__(self, times: VirtualTime) -> None:
        self._far = Lowest(lambda account: account.head)
        self._near = times.choice()

    @property
    def several(self) -> bool:
        """Whether more than one tenant may have been urgent when last asked."""
        return len(self._near) > 1

    def renew(self, account: Account) -> bool:
        """A tenant's queue has changed: look up its head; return whether it is another one."""
        entry = _first(account, _ALL)
        before, head = account.head, None if entry is None else entry[:2]
        if head == before:
            return False
        account.head = head
        if head is not None and account not in self._near:
            if before is None or head < before:
                self._far.fell(account)
            self._far.join(account)
        return True

    def choose(self, space: int, limit: float) -> tuple[Account, Entry] | None:
        """Choose the tenant with the least time of those with a request that fits and whose key is `limit` or less.

        Returns:
            The tenant, and the entry of its most urgent request that fits.
        """
        far, near = self._far, self._near
        while (account := far.first()) is not None and _is_urgent(account, limit):
            far.leave(account)
            near.join(account)
        while (account := near.first()) is not None and not _is_urgent(account, limit):
            near.leave(account)
            far.join(account)
        if account is None:
            return None
        entry = _first(account, space)
        if entry is not None and entry[0] <= limit:
            return account, entry
        others = near.in_order()
        try:
            for account in others:
                entry = _first(account, space) if _is_urgent(account, limit) else None
                if entry is not None and entry[0] <= limit:
                    return account, entry
            return None
        finally:
            others.close()


def _first(account: Account, space: int) -> Entry | None:
    order = account.order
    return order.most_urgent(space) if isinstance(order, LeastSlack) else None


def _is_urgent(account: Account, limit: float) -> bool:
    return account.head is not None and account.head[0] <= limit
