"""Urgency before tenants: of those with a request that is nearly the most urgent one, who has received least?"""

from __future__ import annotations

from headway.policies.order.account import Account
from headway.policies.order.least_slack import LeastSlack
from headway.policies.order.lowest import Lowest
from headway.policies.order.need_index import Entry
from headway.policies.order.virtual_time import VirtualTime

_ALL = 1 << 62  # positions


class Heads:
    """The most urgent request of every tenant.

    Cost: O(log tenants) for a queue that has changed. A question meets tenants from the most urgent one on, and from
    the least time on, in turns, until either way gives the answer: where few are urgent the first way is short, where
    many are the second.

    Attributes:
        several: more than one tenant may have been urgent when last asked.
    """

    def __init__(self) -> None:
        self.several: bool = False
        self._line = Lowest(lambda account: account.head)

    def renew(self, account: Account) -> bool:
        """A tenant's queue has changed: look up its most urgent request; return whether it is another one."""
        entry = urgent(account, _ALL)
        before, head = account.head, None if entry is None else entry[:2]
        if head == before:
            return False
        account.head = head
        if head is not None and (before is None or head < before):
            self._line.fell(account)
            self._line.join(account)
        return True

    def choose(self, space: int, limit: float, times: VirtualTime) -> Account | None:
        """Return the tenant with the least time of those with a request that fits and whose key is `limit` or less."""
        self.several = True
        account = times.least()
        if account is None or _is_urgent(account, space, limit):
            return account
        by_key, by_time = self._line.in_order(), times.in_turn()
        met: list[Account] = []
        try:
            for account, other in zip(by_key, by_time, strict=False):
                if account.head is None or account.head[0] > limit:
                    break
                met.append(account)
                if _is_urgent(other, space, limit):
                    return other
        finally:
            by_key.close()
            by_time.close()
        found = [account for account in met if _is_urgent(account, space, limit)]
        self.several = len(found) > 1
        return min(found, key=times.rank, default=None)


def urgent(account: Account, space: int) -> Entry | None:
    """Return the entry of a tenant's most urgent request of those that fit."""
    order = account.order
    return order.most_urgent(space) if isinstance(order, LeastSlack) else None


def _is_urgent(account: Account, space: int, limit: float) -> bool:
    if account.head is None or account.head[0] > limit:
        return False
    entry = urgent(account, space)
    return entry is not None and entry[0] <= limit
