"""Service, gaps and shares against every iteration looked at one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.measure.charges import ServiceCurves, units
from headway.measure.fairness import MOST_COMPARED, Fairness, bound, fairness, jain_index, windows
from headway.policies.policy import Policy
from headway.workload.trace import Trace
from tests.measure.fake_runs import outcome, record
from tests.measure.watched import ROUNDING, Watched, runs, watch


def curves(run: Watched) -> ServiceCurves:
    assert run.record.work is not None
    return ServiceCurves(run.record, run.record.work)


def found(run: Watched) -> Fairness:
    shares = fairness(run.record)
    assert shares is not None
    return shares


def joint(one: list[tuple[float, float]], other: list[tuple[float, float]]) -> list[tuple[float, float]]:
    spans = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return [span for span in spans if span[1] > span[0]]


@given(runs())
def test_service_is_the_sum_over_all_iterations(run: Watched):
    assert run.record.work is not None
    got = units(run.record.work, run.record.outcomes.height)
    for row, served in enumerate(got):
        expected = sum(one.prompt.get(row, 0) + 2 * one.decode.get(row, 0) for one in run.iterations)
        assert served == expected


@given(runs(), st.lists(st.floats(0, 3), max_size=5))
def test_service_over_time_counts_the_iterations_that_have_ended(run: Watched, drawn: list[float]):
    of, times = curves(run), np.array([*drawn, *(one.end for one in run.iterations[:40])])
    assert of.names == list(run.tenants())
    for tenant, rows in enumerate(run.tenants().values()):
        expected = [run.served(rows, time) for time in times]
        np.testing.assert_allclose(of.at(tenant, times), expected, rtol=1e-9, atol=1e-6)


@given(runs())
@settings(max_examples=50)
def test_the_largest_gap_is_that_over_all_stretches_of_all_pairs(run: Watched):
    largest = 0.0
    for one, other in itertools.combinations(run.tenants().values(), 2):
        for begin, end in joint(run.backlog(one), run.backlog(other)):
            times = [begin, *(it.end for it in run.iterations if begin < it.end <= end + ROUNDING)]
            ahead = [run.served(one, time) - run.served(other, time) for time in times]
            largest = max(largest, *(abs(b - a) for a, b in itertools.combinations_with_replacement(ahead, 2)))
    assert found(run).max_gap == pytest.approx(largest, abs=1e-6)


@given(runs())
def test_the_longest_time_without_service_is_what_a_scan_finds(run: Watched):
    longest = 0.0
    for rows in run.tenants().values():
        for begin, end in run.backlog(rows):
            last = begin
            for one in run.iterations:
                if begin < one.end < end and rows & (one.prompt.keys() | one.decode.keys()):
                    longest = max(longest, one.end - last)
                    last = one.end
            longest = max(longest, end - last)
    assert found(run).longest_without_service == pytest.approx(longest, abs=1e-9)


@given(runs())
def test_windows_compare_who_was_backlogged_all_through(run: Watched):
    got = windows(run.record, curves(run))
    spans = {tenant: run.backlog(rows) for tenant, rows in run.tenants().items()}
    for end, gap in zip(got.ends, got.gaps, strict=True):
        begin = end - got.seconds
        if any(abs(edge - time) < 1e-9 for span in spans.values() for edge in sum(span, ()) for time in (begin, end)):
            continue  # within or without is a matter of rounding
        shares = [
            run.served(rows, end) - run.served(rows, begin)
            for tenant, rows in run.tenants().items()
            if any(a <= begin and end <= b for a, b in spans[tenant])
        ]
        expected = max(shares) - min(shares) if len(shares) > 1 else math.nan
        assert gap == pytest.approx(expected, abs=1e-6, nan_ok=True)


@given(runs())
def test_jains_index_is_of_stretches_with_the_same_tenants_backlogged(run: Watched):
    least = run.record.totals.seconds / 50
    lasting = {
        tenant: [(a, b) for a, b in run.backlog(rows) if b - a >= least] for tenant, rows in run.tenants().items()
    }
    edges = sorted({edge for spans in lasting.values() for span in spans for edge in span})
    total = weights = 0.0
    for begin, end in itertools.pairwise(edges):
        shares = [
            run.served(rows, end) - run.served(rows, begin)
            for tenant, rows in run.tenants().items()
            if any(a <= begin and end <= b for a, b in lasting[tenant])
        ]
        if len(shares) > 1 and any(shares):
            index = math.fsum(shares) ** 2 / (len(shares) * math.fsum(x * x for x in shares))
            total, weights = total + index * (end - begin), weights + end - begin
    assert found(run).jain == (pytest.approx(total / weights) if weights else None)


def test_jains_index_by_hand():
    values = np.array([[1.0, 1.0, 4.0, 0.0, np.nan], [1.0, 0.0, 1.0, 0.0, 3.0], [np.nan, 0.0, 1.0, 0.0, 3.0]])
    np.testing.assert_allclose(jain_index(values), [1.0, 1 / 3, 36 / (3 * 18), np.nan, 1.0])


def test_the_bound_is_twice_the_largest_charge_of_the_smallest_weight():
    run = record([outcome(0, weight=0.5), outcome(1, prompt_tokens=5000)])
    assert bound(run) == 2 * 5000 / 0.5
    assert bound(record([outcome(0)])) == 2 * 2 * run.totals.kv_capacity


def test_a_run_without_a_log_of_its_work_has_no_shares():
    assert fairness(record([outcome(0)])) is None


ENGINE = EngineProfile("one", 64, 4, 1000, Piecewise(0.01, 0.0))


def sent(*tenants: tuple[str, int, float], weight: dict[str, float] | None = None) -> Trace:
    """Requests of 10 and 20 tokens: a tenant's name, how many, and when the first one comes, then one every 10 ms."""
    rows = [(at + k * 0.01, 10, 20, name, (weight or {}).get(name, 1.0)) for name, n, at in tenants for k in range(n)]
    frame = pl.DataFrame(rows, ["arrival", "prompt_tokens", "output_tokens", "tenant", "weight"], orient="row")
    return Trace.from_frame("sent", frame)


def test_in_order_of_arrival_the_gap_grows_and_with_fair_shares_it_stays():
    gaps = {}
    for policy in ("fcfs", "fair-share"):
        for n in (60, 240):
            noisy = [("noisy", n, 0.0)] * 4
            run = watch(sent(*noisy, ("quiet", n, 0.0)), Policy.of(policy), ENGINE)
            shares = found(run)
            assert shares.max_gap is not None
            assert shares.jain is not None
            gaps[policy, n] = shares.max_gap
            assert (shares.jain > 0.9) == (policy == "fair-share")
    assert gaps["fcfs", 240] > 3 * gaps["fcfs", 60]
    assert gaps["fair-share", 240] == gaps["fair-share", 60] <= 2 * 2 * 1000


def test_a_weight_of_two_is_twice_the_service():
    run = watch(sent(("a", 200, 0.0), ("b", 200, 0.0), weight={"a": 2.0}), Policy.of("fair-share"), ENGINE)
    a, b = (rows for rows in run.tenants().values())
    assert 2 * run.served(a, 5.0) / run.served(b, 5.0) == pytest.approx(2.0, rel=0.1)
    shares = found(run)
    assert shares.jain is not None
    assert shares.jain > 0.95


def test_who_never_waits_together_does_not_differ():
    shares = found(watch(sent(("a", 1, 0.0), ("b", 1, 5.0)), Policy.of("fcfs"), ENGINE))
    assert (shares.jain, shares.max_gap) == (None, 0.0)


def test_of_very_many_tenants_those_that_waited_longest_are_compared():
    many = [(f"t{k:02}", 3, 0.0) for k in range(MOST_COMPARED + 5)]
    shares = found(watch(sent(*many), Policy.of("fair-share"), ENGINE))
    assert shares.max_gap is not None
    assert shares.max_gap > 0


def test_over_seeds_figures_are_means_of_those_there_are():
    both = Fairness.over_seeds([Fairness(None, 1.0, 4.0, 2.0), Fairness(0.5, 3.0, 4.0, 4.0)])
    assert both == Fairness(0.5, 2.0, 4.0, 3.0)
    assert both.to_dict() == {"jain": 0.5, "max_gap": 2.0, "bound": 4.0, "longest_without_service": 3.0}
