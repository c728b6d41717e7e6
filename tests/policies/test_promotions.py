"""Promotions, counted again by brute force from the waits of whoever was admitted, in order."""

from __future__ import annotations

import math

import pytest

from headway.core.sequence import Sequence
from headway.measure.flat import figures
from headway.policies.order.aging import AggressiveAging
from headway.policies.order.quota_aging import QuotaAging
from headway.policies.policy import Policy
from headway.simulate.run import simulate
from headway.studies.source import Source

REQUESTS = Source("qba-paper(n=1200, rate=32)").requests(3)
GAMMA = 0.8


class Noted:
    """What was admitted: predicted long, its wait, and whether a debt stood."""

    notes: list[tuple[bool, float, bool]]

    def note(self, seq: Sequence, now: float, *, debt: bool) -> None:
        self.notes.append((seq.request.predicted == "long", now - seq.arrival, debt))


class NotedAging(Noted, AggressiveAging):
    def admitted(self, seq: Sequence, now: float) -> None:
        self.note(seq, now, debt=True)
        super().admitted(seq, now)


class NotedQuota(Noted, QuotaAging):
    def admitted(self, seq: Sequence, now: float) -> None:
        self.note(seq, now, debt=self.debt)
        super().admitted(seq, now)


def aged_and_due(notes: list[tuple[bool, float, bool]]) -> int:
    """Long requests that waited longer than the quantile of all waits before theirs, while a debt stood."""
    count, before = 0, list[float]()
    for long_, wait, debt in notes:
        threshold = sorted(before)[math.ceil(GAMMA * len(before) - 1e-9) - 1] if before else math.inf
        count += long_ and debt and wait > threshold
        before.append(wait)
    return count


@pytest.mark.parametrize("order", [NotedAging, NotedQuota])
def test_promotions_are_counted(order: type[NotedAging | NotedQuota]) -> None:
    order.notes = []
    found = simulate(REQUESTS, order, "qba-paper").totals.promoted
    assert found == aged_and_due(order.notes)
    assert 20 < found < sum(long_ for long_, *_ in order.notes)


def test_they_reach_the_figures_of_a_run_from_orders_within_orders() -> None:
    alone = figures(simulate(REQUESTS, "qba(k=3)", "qba-paper"))["promoted"]
    within = figures(simulate(REQUESTS, Policy.of("fair-share(inner=qba(k=3))"), "qba-paper"))["promoted"]
    assert alone == within
    assert figures(simulate(REQUESTS, "psf", "qba-paper"))["promoted"] == 0
