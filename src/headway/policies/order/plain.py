"""Orders that rank requests by themselves, and so may rank those of one tenant."""

from __future__ import annotations

from collections.abc import Callable

from headway.core.rules import Order
from headway.policies.order.aging import AggressiveAging
from headway.policies.order.fcfs import Fcfs
from headway.policies.order.least_slack import LeastSlack
from headway.policies.order.quota_aging import QuotaAging
from headway.policies.order.short_first import ShortFirst
from headway.policies.order.shortest_work import ShortestWork

PLAIN_ORDERS: dict[str, Callable[..., Order]] = {
    "fcfs": Fcfs,
    "psf": ShortFirst,
    "aa": AggressiveAging,
    "qba": QuotaAging,
    "shortest-work": ShortestWork,
    "least-slack": LeastSlack,
}
