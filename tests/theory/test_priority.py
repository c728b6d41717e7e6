from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInput
from headway.theory import PromotedFraction, Queue, Service, TwoClasses
from tests.theory.servers import waits

shares = st.floats(0.05, 0.95)
fractions = st.floats(0, 1)


@st.composite
def traffic(draw: st.DrawFn, lowest: float = 0.02, highest: float = 0.98) -> TwoClasses:
    """Two classes at a load between the bounds; a long request takes a server longer than a short one."""
    short = Service.of_scv(draw(st.floats(0.05, 1)), draw(st.floats(0, 5)))
    long = Service.of_scv(short.mean * draw(st.floats(1.01, 10)), draw(st.floats(0, 5)))
    servers, share = draw(st.floats(0.5, 30)), draw(shares)
    mean = Service.mixed((share, 1 - share), (short, long)).mean
    return TwoClasses(draw(st.floats(lowest, highest)) * servers / mean, share, short, long, servers)


def test_one_server_with_two_exponential_classes_by_hand() -> None:
    """λ = 0.4 + 0.2, means 0.5 and 2: W0 = 0.4·0.5² + 0.2·2² = 0.9; W_S = 0.9/0.8, W_L = 0.9/(0.8·0.4)."""
    found = TwoClasses(0.6, 2 / 3, Service.of_scv(0.5, 1), Service.of_scv(2, 1), 1).psf()
    assert found.short == pytest.approx(1.125, rel=1e-12)
    assert found.long == pytest.approx(2.8125, rel=1e-12)
    assert found.mean == pytest.approx((2 * 1.125 + 2.8125) / 3, rel=1e-12)


@given(traffic(), shares)
def test_several_servers_with_one_exponential_service_time(like: TwoClasses, share: float) -> None:
    """Kella and Yechiali: W_S = C/(n·μ)/(1 - rho_S), W_L that over 1 - rho."""
    service = Service.of_scv(like.service.mean, 1)
    both = TwoClasses(like.rate, share, service, service, like.servers)
    queue, found = Queue(like.rate, service, like.servers), both.psf()
    short = queue.waiting_probability * service.mean / like.servers / (1 - both.rho_short)
    assert found.short == pytest.approx(short, rel=1e-9)
    assert found.long == pytest.approx(short / (1 - queue.rho), rel=1e-6)
    assert found.mean == pytest.approx(queue.wait, rel=1e-6), "equal service times: order does not move the mean"


def simulated(both: TwoClasses, seed: int, phi: float = 0.0, n: int = 200_000) -> tuple[float, float]:
    """Mean waits of both classes where short ones, and a share phi of the others, go first; exponential services."""
    rng = np.random.default_rng(seed)
    arrivals = rng.exponential(1 / both.rate, n).cumsum()
    short = rng.random(n) < both.short_share
    services = rng.exponential(np.where(short, both.short.mean, both.long.mean))
    first = short | (rng.random(n) < phi)
    found = waits(arrivals, services, int(both.servers), lambda row: arrivals[row] + (0 if first[row] else 1e9))
    return float(found[short].mean()), float(found[~short].mean())


@pytest.mark.parametrize("phi", [0.0, 0.4])
def test_one_server_against_a_simulation(phi: float) -> None:
    both = TwoClasses(0.9, 0.8, Service.of_scv(0.6, 1), Service.of_scv(1.6, 1), 1)
    found = both.promoted(phi)
    assert simulated(both, 1, phi) == pytest.approx((found.short, found.long), rel=0.06)


def test_several_servers_against_a_simulation() -> None:
    both = TwoClasses(2.8, 0.7, Service.of_scv(1, 1), Service.of_scv(1, 1), 4)
    found = both.psf()
    assert simulated(both, 2) == pytest.approx((found.short, found.long), rel=0.08)


def test_in_overload_the_first_class_still_has_a_mean_wait() -> None:
    """rho = 1.2, of which the first class has 0.5; against a simulation, whose second class only piles up."""
    both = TwoClasses(1.2, 5 / 6, Service.of_scv(0.5, 1), Service.of_scv(3.5, 1), 1)
    found = both.psf()
    assert both.together.rho == pytest.approx(1.2)
    assert found.long == found.mean == both.fcfs().mean == math.inf
    assert found.short == pytest.approx((0.5 * 0.5 + 0.5 * 3.5) / 0.5, rel=1e-12)
    assert simulated(both, 3)[0] == pytest.approx(found.short, rel=0.06)
    assert both.promoted(1).short == math.inf


@given(traffic(), fractions)
def test_waits_are_conserved(both: TwoClasses, phi: float) -> None:
    """Work that waits does not depend on the order, with equal W0: Σ rho_c·W_c is that of order of arrival."""
    found, fcfs = both.promoted(phi), both.fcfs()
    first = both.rho_short + phi * both.rho_long
    rest = found.short / (1 - both.together.rho)
    work = first * found.short + (1 - phi) * both.rho_long * rest
    assert work == pytest.approx(both.together.rho * fcfs.mean, rel=1e-6)
    assert found.long == pytest.approx(phi * found.short + (1 - phi) * rest, rel=1e-9)
    assert found.mean == pytest.approx(both.short_share * found.short + both.long_share * found.long, rel=1e-9)


@given(traffic(), fractions, fractions)
def test_promotions_lift_the_mean_towards_order_of_arrival_and_never_above(
    both: TwoClasses, one: float, other: float
) -> None:
    few, many = sorted((one, other))
    psf, low, high, fcfs = both.psf(), both.promoted(few), both.promoted(many), both.fcfs()
    near = 1 + 1e-9
    assert psf.mean <= low.mean * near
    assert low.mean <= high.mean * near
    assert high.mean <= fcfs.mean * near
    assert low.short <= high.short * near
    assert high.long <= low.long * near


@given(traffic())
def test_ends_of_the_scale(both: TwoClasses) -> None:
    assert both.promoted(0) == both.psf()
    everybody, fcfs = both.promoted(1), both.fcfs()
    assert (everybody.mean, everybody.short, everybody.long) == pytest.approx((fcfs.mean,) * 3, rel=1e-6)


@given(traffic(1.001, 3), fractions)
def test_overload(both: TwoClasses, phi: float) -> None:
    found = both.promoted(phi)
    assert found.mean == found.long == math.inf
    assert (found.short < math.inf) == (both.rho_short + phi * both.rho_long < 1)
    assert found.short >= 0


@given(traffic(0.999999, 0.9999999))
def test_the_first_class_notices_no_step_into_overload(both: TwoClasses) -> None:
    over = TwoClasses(both.rate * 1.00001, both.short_share, both.short, both.long, both.servers)
    assert over.psf().short == pytest.approx(both.psf().short, rel=1e-3)


def test_promoted_fractions_between_and_beyond_what_was_measured() -> None:
    found = PromotedFraction.measured([(0.9, 0.6), (0.5, 0.2), (0.7, 0.1)])
    assert found.loads == (0.5, 0.7, 0.9)
    assert [found.at(rho) for rho in (0.1, 0.5, 0.6, 0.8, 0.9, 1.4)] == pytest.approx([0.2, 0.2, 0.15, 0.35, 0.6, 0.6])
    both = TwoClasses(0.6, 2 / 3, Service.of_scv(0.5, 1), Service.of_scv(2, 1), 1)
    assert found.waits(both) == both.promoted(found.at(both.together.rho))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TwoClasses(1, 0, Service(1, 1), Service(1, 1), 2), "share of short requests must be in"),
        (lambda: TwoClasses(1, 0.5, Service(1, 1), Service(1, 1), -2), "servers must be in"),
        (lambda: TwoClasses(1, 0.5, Service(1, 1), Service(1, 1), 2).promoted(1.1), "promoted fraction must be in"),
        (lambda: PromotedFraction((), ()), "expected as many"),
        (lambda: PromotedFraction((0.5, 0.5), (0.1, 0.2)), "loads must ascend"),
        (lambda: PromotedFraction((0.5,), (1.2,)), "promoted fraction must be in"),
    ],
)
def test_what_cannot_be(make: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()  # type: ignore[operator]
