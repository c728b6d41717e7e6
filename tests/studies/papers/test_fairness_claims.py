"""Claims about deadlines and fairness: on real runs where these are quick, and on shuffled ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import pytest

from headway.core.errors import InvalidInput
from headway.measure.findings import Claim
from headway.studies.cells import Row
from headway.studies.papers.deadlines_and_fairness import CLAIMS, PARTS, SECTIONS, reproduce, runs_of
from headway.studies.papers.fairness.grid import MODEL_AT, ORDERS, QUICK_RATES, cells_of, load_name, setups
from headway.studies.papers.fairness.runs import Runs

SWEEP = {  # per cent of broken promises at the rates of a quick look: the shape of real ones, made up
    "fcfs": (0.8, 3.1, 31.7, 39.4, 47.0, 52.5),
    "edf": (0.0, 0.0, 0.2, 0.4, 32.0, 60.0),
    "edf-capped": (0.2, 0.4, 0.8, 1.5, 33.0, 60.5),
    "edf-demote": (0.0, 0.0, 0.3, 0.4, 14.0, 28.0),
    "edf-reject": (0.0, 0.0, 0.3, 0.4, 13.0, 26.0),
    "slack": (0.1, 0.1, 0.4, 0.6, 36.0, 63.0),
    "slack-demote": (0.1, 0.1, 0.3, 0.7, 19.0, 34.0),
    "hybrid-demote": (0.0, 0.0, 0.5, 1.3, 6.0, 14.0),
}
NOT_HELD = {"sample-code", "most-queued", "graceful", "shortest-mean", "slack-chunks", "goodput-edf", "idle-lift"}


def sweep() -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for name, shares in SWEEP.items():
        shed = ORDERS[name][1] != "keep"
        for rate, share in zip(QUICK_RATES, shares, strict=True):
            served = 0.999 if name == "edf-reject" else 1 - share / 100
            row = {"broken": share / 100, "served": served, "refused": 0.0, "goodput": 1000 * rate * (1 - share / 100)}
            rows[load_name(name, rate)] = [{**row, "at_once": 0.9 if shed else None}]
    rows[load_name("slack-wrong", MODEL_AT)] = [{"broken": 0.009}]
    return rows


@cache
def world() -> Runs:
    """Real rows of all parts but the sweep, which takes a minute."""
    chosen = cells_of(setups([part for part in PARTS if part != "deadlines"], (), 0), [0])
    rows = {place: cell.run(cell.source.requests(0)) for place, (_, cell) in enumerate(chosen)}
    real = runs_of([setup for setup, _ in chosen], rows, QUICK_RATES)
    return Runs({**real.rows, **sweep()}, real.rates)


class Watched(Mapping[str, Sequence[Row]]):
    """Notes which rows are looked at."""

    def __init__(self, rows: Mapping[str, Sequence[Row]]) -> None:
        self.rows, self.seen = rows, dict[str, None]()

    def __getitem__(self, name: str) -> Sequence[Row]:
        self.seen[name] = None
        return self.rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def verdict(claim: Claim[Runs], runs: Runs) -> str:
    return claim.finding(runs, PARTS).verdict


def turned(claim: Claim[Runs], runs: Runs) -> list[Runs]:
    """The rows that a claim looks at, turned round among their names in every way."""
    watched = Watched(runs.rows)
    verdict(claim, Runs(watched, runs.rates))
    names = list(watched.seen)
    assert len(names) > 1, "one row alone cannot be shuffled"
    return [
        Runs(
            {**runs.rows, **dict(zip(names, map(runs.rows.__getitem__, names[by:] + names[:by]), strict=True))},
            runs.rates,
        )
        for by in range(1, len(names))
    ]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_verdicts(claim: Claim[Runs]) -> None:
    found = claim.finding(world(), PARTS)
    assert (found.verdict == "holds") is (found.name not in NOT_HELD), (found.ours, found.why)
    assert found.ours
    assert found.why if found.verdict != "holds" else True


@pytest.mark.parametrize("claim", [one for one in CLAIMS if one.name not in NOT_HELD], ids=lambda claim: claim.name)
def test_no_claim_holds_on_shuffled_rows(claim: Claim[Runs]) -> None:
    for by, shuffled in enumerate(turned(claim, world()), 1):
        assert verdict(claim, shuffled) != "holds", f"turned by {by}"


def test_claims_that_do_not_hold_would_on_other_rows() -> None:
    """No verdict is a constant."""
    rows = world().rows
    by_name = {claim.name: claim for claim in CLAIMS}
    others = {
        "most-queued": {"gap-fair": rows["gap-fcfs"]},
        "sample-code": {"lift-waiting": rows["lift-active"]},
        "shortest-mean": {"mix-combined": rows["mix-fcfs"]},
        "slack-chunks": {load_name("edf-capped", 8.0): [{"broken": 0.3}]},
        "idle-lift": {"lift-active": [{**rows["lift-active"][0], "gap": 340.0}]},
        "goodput-edf": {load_name("edf", 5.2): [{"broken": 0.012}]},
        "graceful": {load_name("slack", rate): [{"broken": 0.02 * place}] for place, rate in enumerate(QUICK_RATES)}
        | {load_name("slack-demote", rate): [{"broken": 0.0}] for rate in QUICK_RATES},
    }
    assert set(others) == NOT_HELD
    for name, changed in others.items():
        assert verdict(by_name[name], Runs({**rows, **changed}, QUICK_RATES)) == "holds", name


def test_every_section_of_the_article_has_claims() -> None:
    assert {claim.where for claim in CLAIMS} == set(SECTIONS)
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names))


def test_one_part_alone() -> None:
    found = reproduce(["signals"], quick=True, workers=1)
    assert found.finding("signal").verdict == "holds"
    assert found.finding("cliff").verdict == "not run"
    assert [part.name for part in found.parts] == ["signals"]
    assert not found.partial
    with pytest.raises(InvalidInput, match="expected some of"):
        reproduce(["nothing"])
