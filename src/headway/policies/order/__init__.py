"""Orders: who is next?"""

from __future__ import annotations

from collections.abc import Callable

from headway.core.rules import Order
from headway.policies.order.combined import Combined
from headway.policies.order.fair_share import FairShare
from headway.policies.order.plain import PLAIN_ORDERS

ORDERS: dict[str, Callable[..., Order]] = {
    **PLAIN_ORDERS,
    "fair-share": FairShare,
    "combined": Combined,
}
