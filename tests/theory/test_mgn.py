from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInput
from headway.theory import Queue, Service, effective_parallelism, erlang_c, servers_for_wait
from tests.theory.servers import waits

means = st.floats(0.01, 10)
scvs = st.floats(0, 20)
loads = st.floats(0.01, 0.99)


def at_load(rho: float, service: Service, servers: float) -> Queue:
    return Queue(rho * servers / service.mean, service, servers)


@given(loads, means)
def test_mm1(rho: float, mean: float) -> None:
    """W = rho/(μ - λ)."""
    queue = at_load(rho, Service.of_scv(mean, 1), 1)
    assert queue.wait == pytest.approx(rho / (1 / mean - queue.rate), rel=1e-9)


@given(loads, means, st.integers(1, 40))
def test_mmn(rho: float, mean: float, servers: int) -> None:
    """W = C/(n·μ - λ)."""
    queue = at_load(rho, Service.of_scv(mean, 1), servers)
    assert queue.wait == pytest.approx(erlang_c(servers, queue.offered) / (servers / mean - queue.rate), rel=1e-9)


def test_mm2_by_hand() -> None:
    """λ = 1, μ = 1, n = 2: W = rho²/(1 - rho²) = 1/3."""
    assert Queue(1, Service.of_scv(1, 1), 2).wait == pytest.approx(1 / 3, rel=1e-14)


@given(loads, means, scvs)
def test_mg1_is_pollaczek_khinchine(rho: float, mean: float, scv: float) -> None:
    service = Service.of_scv(mean, scv)
    queue = at_load(rho, service, 1)
    assert queue.wait == pytest.approx(queue.rate * service.second / (2 * (1 - rho)), rel=1e-9)


def test_md1_by_hand() -> None:
    """Constant service of 1 s at rho = 0.5 waits half as long as an exponential one: 0.5 s."""
    assert Queue(0.5, Service(1, 1), 1).wait == pytest.approx(0.5, rel=1e-14)


def test_mmn_against_a_simulation() -> None:
    rng = np.random.default_rng(5)
    n = 200_000
    arrivals = rng.exponential(1 / 3.2, n).cumsum()
    found = waits(arrivals, rng.exponential(1, n), 4)
    queue = Queue(3.2, Service.of_scv(1, 1), 4)
    assert found.mean() == pytest.approx(queue.wait, rel=0.05)
    assert (found > 0).mean() == pytest.approx(queue.waiting_probability, rel=0.03)


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_mgn_is_near_a_simulation_of_even_service_times(spread: float) -> None:
    rng = np.random.default_rng(6)
    n = 150_000
    services = rng.uniform(1 - spread, 1 + spread, n)
    found = waits(rng.exponential(1 / 3.4, n).cumsum(), services, 4).mean()
    assert found == pytest.approx(Queue(3.4, Service.of_scv(1, spread**2 / 3), 4).wait, rel=0.1)


@given(loads, means, scvs, st.floats(0.1, 60), st.floats(1.01, 2))
def test_waits_rise_with_rate_and_spread_and_fall_with_servers(
    rho: float, mean: float, scv: float, servers: float, factor: float
) -> None:
    service = Service.of_scv(mean, scv)
    queue = at_load(rho, service, servers)
    assert queue.stable
    assert Queue(queue.rate * factor, service, servers).wait >= queue.wait
    assert Queue(queue.rate, Service.of_scv(mean, scv * factor), servers).wait >= queue.wait
    assert Queue(queue.rate, service, servers * factor).wait <= queue.wait


@given(means, scvs, st.floats(0.5, 50))
def test_limits(mean: float, scv: float, servers: float) -> None:
    service = Service.of_scv(mean, scv)
    assert at_load(1e-9, service, servers).wait < 1e-3 * mean * (1 + scv)
    assert Queue(1 / mean, service, 5000).wait == 0
    assert at_load(1 - 1e-6, service, servers).wait > 1e3 * mean / servers
    for rho in (1.0, 1.5):
        full = Queue(rho * servers / mean * (1 + 1e-12), service, servers)
        assert not full.stable
        assert full.wait == math.inf


@given(loads, means, scvs, st.floats(0.3, 100))
def test_the_number_of_servers_that_explains_a_wait(rho: float, mean: float, scv: float, servers: float) -> None:
    service = Service.of_scv(mean, scv)
    queue = at_load(rho, service, servers)
    if queue.wait < 1e-9:
        return
    assert servers_for_wait(queue.rate, service, queue.wait) == pytest.approx(servers, rel=1e-6)


def test_the_stability_limit() -> None:
    queue = Queue(30, Service.of_scv(0.125, 1), 4)
    assert queue.highest_rate == 32
    assert queue.offered == 3.75
    assert queue.rho == 0.9375


@pytest.mark.parametrize(("slots", "tokens", "each", "n"), [(16, 5734.4, 748, 7.666), (4, 5734.4, 748, 4.0)])
def test_effective_parallelism(slots: float, tokens: float, each: float, n: float) -> None:
    assert effective_parallelism(slots, tokens, each) == pytest.approx(n, rel=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Queue(0, Service.of_scv(1, 1), 1), "the rate must be in"),
        (lambda: Queue(1, Service.of_scv(1, 1), 0), "servers must be in"),
        (lambda: Service.of_scv(1, -0.1), "scv must be in"),
        (lambda: Service(0, 1), "mean service time must be in"),
        (lambda: Service(2, 3.9), "second moment of at least 4"),
        (lambda: Service.mixed((0, 0), (Service(1, 1), Service(1, 1))), "not all 0"),
        (lambda: effective_parallelism(1, 1, 0), "tokens_per_request must be in"),
        (lambda: servers_for_wait(1, Service(1, 1), 0), "the wait must be in"),
        (lambda: servers_for_wait(9999, Service(10, 200), 1e-9), "more than 100000 servers"),
    ],
)
def test_what_cannot_be(make: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()  # type: ignore[operator]


@given(means, scvs)
def test_service_moments(mean: float, scv: float) -> None:
    service = Service.of_scv(mean, scv)
    assert service.scv == pytest.approx(scv, rel=1e-9, abs=1e-9)
    assert service.residual == pytest.approx(mean * (1 + scv) / 2, rel=1e-12)
    same = Service.mixed((2, 1), (service, service))
    assert (same.mean, same.second) == pytest.approx((service.mean, service.second), rel=1e-12)


@pytest.mark.parametrize(("mean", "scv"), [(1e300, 1.0), (1e-300, 1.0), (1.0, 1e308), (1e200, 0.0)])
def test_service_times_beyond_reason_are_one_line(mean: float, scv: float) -> None:
    with pytest.raises(InvalidInput, match="service time"):
        Service.of_scv(mean, scv)
