"""Fair share: what virtual time does, and what its wrong variants do, on published and reference set-ups.

Sources: Fairness in Serving Large Language Models (OSDI 2024), on two overloaded tenants; reference figures of charging
at admission and of lifting over waiting tenants alone. Steps of one second, and admission that reserves prompt and
answer; service is `prompt positions + 2 * decode positions`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.request import Request
from tests.service import Meter, metered

POOL = 10_000
STEPS = EngineProfile("steps", 512, 64, POOL, Piecewise(1.0, 0.0, 0), memory="conservative")
TWO_U = 2 * 2 * POOL  # U: all the memory full of answers


def requests(sent: list[tuple[float, str, int]], prompt: int) -> tuple[list[Request], list[int]]:
    """(arrival, tenant, output) of each; every request says how long its answer is at most, and it is."""
    sent = sorted(sent, key=lambda one: one[0])
    rows = [Request(row, at, prompt, output, None, tenant) for row, (at, tenant, output) in enumerate(sent)]
    return rows, [output for *_, output in sent]


@cache
def long_and_short(order: str) -> dict[str, float]:
    """400 requests of 100 in and 1000 out against 4000 of 100 in and 50 out, for 4000 steps."""
    sent = [(0.0, "long", 1000)] * 400 + [(0.0, "short", 50)] * 4000
    return dict(metered(STEPS, order, *requests(sent, 100), until=4000.0).by_tenant)


@pytest.mark.parametrize(("charge", "ratio"), [("iteration", 1.15), ("admission", 10.66)])
def test_what_is_charged_decides_who_gets_what(charge: str, ratio: float) -> None:
    service = long_and_short(f"fair-share(charge={charge})")
    assert service["long"] / service["short"] == pytest.approx(ratio, rel=0.05)


RETURN = 6002.0


@cache
def idle_return(order: str) -> Meter:
    """a sends 100/100 every four steps, b nothing; b returns with 3000 while a only runs; then a does so too."""
    sent = [(4.0 * step, "a", 100) for step in range(1501)]
    sent += [(RETURN, "b", 100)] * 3000 + [(RETURN + 1, "a", 100)] * 3000
    meter = metered(STEPS, order, *requests(sent, 100), until=RETURN + 3001)
    assert dict(meter.history)[RETURN]["b"] == 0
    return meter


def gaps(meter: Meter, since: float) -> list[float]:
    return [units["a"] - units["b"] for units in meter.since(since)]


def test_idle_time_is_no_credit() -> None:
    meter = idle_return("fair-share")
    assert max(map(abs, gaps(meter, RETURN + 1))) < 1000 < TWO_U
    service = meter.since(RETURN + 1)[-1]
    assert service["a"] / service["b"] == pytest.approx(1, abs=0.01)


def test_lifted_over_waiting_tenants_alone_it_is() -> None:
    meter = idle_return("fair-share(lift=waiting)")
    assert max(map(abs, gaps(meter, RETURN + 1))) > 10 * TWO_U
    service = meter.since(RETURN)[-1]
    assert service["a"] < 0.01 * service["b"]  # a has what ran already


SERVER = EngineProfile("server", 512, 64, POOL, Piecewise(0.037, 0.0, 0), memory="conservative")
SECONDS = 600


@cache
def overloaded(order: str) -> Meter:
    """Two tenants of 1.5 and 3 requests/s, 256 in and 256 out, on an engine that serves two a second."""
    rng = np.random.default_rng(1)
    sent = [
        (float(at), tenant, 256)
        for tenant, rate in (("slow", 1.5), ("fast", 3.0))
        for at in rng.exponential(1 / rate, int(rate * SECONDS * 1.2)).cumsum()
        if at < SECONDS
    ]
    return metered(SERVER, order, *requests(sent, 256), until=float(SECONDS))


def accumulated(meter: Meter) -> tuple[np.ndarray, np.ndarray]:
    """Seconds, and by how much the faster sender is ahead of the slower one by then."""
    times = np.array([time for time, _ in meter.history])
    return times, np.array([units["fast"] - units["slow"] for _, units in meter.history])


def test_in_order_of_arrival_the_gap_grows_linearly() -> None:
    times, gap = accumulated(overloaded("fcfs"))
    slope, _ = np.polyfit(times, gap, 1)
    total = sum(overloaded("fcfs").by_tenant.values())
    assert slope == pytest.approx(total / 3 / SECONDS, rel=0.1)  # two thirds against one
    assert np.corrcoef(times, gap)[0, 1] > 0.99
    assert gap[-1] > 5 * TWO_U


def test_by_virtual_time_it_is_flat_at_equal_throughput() -> None:
    times, gap = accumulated(overloaded("fair-share"))
    late = times > 60  # by then both queues are full
    assert np.abs(gap[late] - gap[late][0]).max() < TWO_U / 4
    slope, _ = np.polyfit(times[late], gap[late], 1)
    assert abs(slope) < 0.01 * np.polyfit(*accumulated(overloaded("fcfs")), 1)[0]
    fair, fcfs = (sum(overloaded(order).by_tenant.values()) for order in ("fair-share", "fcfs"))
    assert fair == pytest.approx(fcfs, rel=0.01)
