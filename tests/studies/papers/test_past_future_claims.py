"""Every claim on Past-Future holds where the runs are as the paper says, and on shuffled runs none does."""

from __future__ import annotations

from functools import cache

import pytest

from headway.measure.findings import Claim
from headway.studies.papers.past_future.plan import PARTS
from headway.studies.papers.past_future.rows import Runs
from headway.studies.papers.past_future.study import CLAIMS
from tests.studies.papers.past_future_by_hand import permuted, reordered, runs_by_hand

SHUFFLES = 10
# What neighbouring windows have in common is lost when requests come in order of length; drift, when in no order.
ORDERS = {"drift-is-slow": "shuffled"}

of_every_claim = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)


@cache
def shuffled(seed: int, within: tuple[str, ...]) -> Runs:
    return permuted(runs_by_hand(), seed, within=within)


@of_every_claim
def test_it_holds_where_runs_are_as_the_paper_says(claim: Claim[Runs]) -> None:
    found = claim.finding(runs_by_hand(), PARTS)
    assert found.verdict == "holds", found.ours + found.why


@pytest.mark.parametrize("within", [(), ("workload", "engine", "clients")], ids=["all", "rules"])
@of_every_claim
def test_on_shuffled_runs_it_does_not(claim: Claim[Runs], within: tuple[str, ...]) -> None:
    """Settings of all runs change places, or the rules of each workload alone; one in ten may be chance."""
    if claim.needs == {"stability"}:
        verdicts = [claim.finding(reordered(runs_by_hand(), ORDERS.get(claim.name, "sorted")), PARTS).verdict]
    else:
        verdicts = [claim.finding(shuffled(seed, within), PARTS).verdict for seed in range(SHUFFLES)]
    assert verdicts.count("holds") <= SHUFFLES // 10 * (len(verdicts) > 1), verdicts


@of_every_claim
def test_what_was_not_run_is_not_judged(claim: Claim[Runs]) -> None:
    found = claim.finding(runs_by_hand(), [part for part in PARTS if part not in claim.needs])
    assert (found.verdict, found.ours) == ("not run", "")


def test_names_are_unique() -> None:
    names = [claim.name for claim in CLAIMS]
    assert len(set(names)) == len(names)
