"""The combined policy: chunk cap, least slack among what fits, virtual time between tenants."""

from __future__ import annotations

from headway.core.spec import Spec, whole
from headway.policies.order.fair_share import FairShare


class Combined(FairShare):
    """Who is most urgent of what fits, and of the nearly as urgent, whose tenant got least?

    A preset of `fair-share(inner=least-slack(...))` under a cap on what one request may take of an iteration: the cap
    leaves room for short requests beside a long prompt, slack decides between requests, and virtual time between
    tenants wherever several of them have one within the band. A band of 0 is pure slack, an infinite one picks the
    tenant first. Cost: as `fair-share` and `least-slack`.
    Source: Deadline-Aware Batching and Tenant Fairness, "The interaction that makes both insufficient".

    Args:
        alpha: see `least-slack`.
        band: see `least-slack`.
        chunk: the most prompt positions of one request in an iteration.
        ties: see `least-slack`.
        nesting: see `fair-share`.
        charge: see `fair-share`.
        lift: see `fair-share`.
        w_in: see `fair-share`.
        w_out: see `fair-share`.
    """

    def __init__(
        self,
        alpha: float = -1.0,
        band: float = 0.5,
        chunk: int = 512,
        ties: str = "arrival",
        nesting: str = "slack-first",
        charge: str = "iteration",
        lift: str = "active",
        w_in: float = 1.0,
        w_out: float = 2.0,
    ) -> None:
        inner = Spec("least-slack", {"alpha": alpha, "band": band, "ties": ties})
        super().__init__(inner, charge, lift, nesting, w_in, w_out)
        self.chunk_cap = whole("chunk", chunk, 1)
