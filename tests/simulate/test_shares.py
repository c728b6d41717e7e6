"""Shares reach the engine through `simulate`, whoever is followed."""

from __future__ import annotations

import pytest

from headway.core.engine import preset
from headway.policies.policy import Policy
from headway.policies.shares import Shares
from headway.simulate.run import simulate
from headway.workload import workload


@pytest.mark.parametrize("follow", [None, 7])
@pytest.mark.parametrize("shares", [Shares.of(0.5), Shares.of(reserve="share=0.5,after=0.1"), Shares.of(pools=0.6)])
def test_shares_change_a_run(shares: Shares, follow: int | None) -> None:
    trace = workload("qba-paper(n=300)")
    plain = simulate(trace, "psf", preset("qba-paper"), follow=follow)
    shared = simulate(trace, Policy.of("psf", shares=shares), preset("qba-paper"), follow=follow)
    assert shared.outcomes["outcome"].to_list() == ["finished"] * 300
    assert not shared.outcomes["start"].equals(plain.outcomes["start"])
