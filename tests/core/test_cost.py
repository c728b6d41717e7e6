"""Cost models: the formula, and that fast steps equal slow ones bit by bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.core.cost import Concurrency, CostModel, Jitter, Linear, Piecewise, Roofline, Steps
from headway.core.errors import InvalidEngine

SECONDS = st.sampled_from([0.0, 1e-9, 2e-5, 0.003, 0.1, 1.0]) | st.floats(0, 10)
WHOLE = st.sampled_from([0, 1, 2])  # a TOML file may well say `c0 = 1`
RATE = st.floats(1e-3, 1e15)

PIECEWISE = st.builds(Piecewise, SECONDS | WHOLE, SECONDS | WHOLE, st.sampled_from([0, 0.0, 1, 64, 99.5]))
LINEAR = st.builds(Linear, SECONDS | WHOLE, SECONDS | WHOLE, SECONDS | WHOLE, SECONDS | WHOLE)
ROOFLINE = st.builds(
    Roofline,
    weights=st.floats(0, 1e12),
    kv_bytes=st.sampled_from([0.0, 1.0, 131_072.0, 3e9]) | st.floats(0, 1e9),
    memory=RATE,
    flop=st.floats(0, 1e12),
    prefill_flops=RATE,
    decode_flops=RATE,
    c0=SECONDS,
)
MODELS = st.one_of(PIECEWISE, LINEAR, ROOFLINE)
STEPS = st.integers(0, 60) | st.integers(0, 300) | st.sampled_from([4095, 4096, 4097, 8193, 10_000])


def loop(
    model: CostModel, now: float, limit: float, steps: int, decode: int, context: int, prefill: int
) -> tuple[list[float], float]:
    """The definition: iterations one by one, each started only before the limit; their spans, and the end."""
    spans: list[float] = []
    while len(spans) < steps and now < limit:
        spans.append(model.seconds(prefill, decode, context + (len(spans) + 1) * (decode + prefill)))
        now += spans[-1]
    return spans, now


def check(model: CostModel, now: float, limit: float, steps: int, decode: int, context: int, prefill: int = 0) -> None:
    """Coasting, again and again until it gives up, ends where the loop ends; each leg equals its part of it."""
    left, time, held = steps, now, context
    while left > 0 and time < limit:
        taken, end, first, last = model.coast(time, limit, left, decode, held, prefill)
        assert 1 <= taken <= left
        spans, expected = loop(model, time, limit, taken, decode, held, prefill)
        assert (len(spans), expected) == (taken, end)
        assert (spans[0], spans[-1]) == (first, last)
        assert np.allclose(spans, np.linspace(first, last, taken), rtol=1e-9, atol=0)
        left, time, held = left - taken, end, held + taken * (decode + prefill)
    spans, expected = loop(model, now, limit, steps, decode, context, prefill)
    assert (len(spans), expected) == (steps - left, time)


PREFILLS = st.just(0) | st.integers(0, 2048)


@given(MODELS, st.floats(0, 1e5), st.floats(0, 1e4), STEPS, st.integers(1, 600), st.integers(0, 500_000), PREFILLS)
@example(Piecewise(1, 0, 64), 0.5, 1e9, 100, 8, 0, 0)  # whole numbers where seconds are meant
@example(Linear(1, 0, 0, 1), 0.5, 1e9, 100, 8, 0, 0)
@example(Concurrency(Roofline(0.0, 1.0, 1.0, 100.0, 1.0, 1.0, 0.0), 0.1, 8), 0.5, 1e9, 150, 1, 0, 0)  # knee inside
@example(Roofline(1.0, 5e-324, 1.0, 1.0, 1.0, 1.0, 1.0), 0.5, 1e9, 100, 8, 0, 0)
def test_coast_equals_the_loop(
    model: CostModel, now: float, span: float, steps: int, decode: int, context: int, prefill: int
) -> None:
    check(model, now, now + span, steps, decode, context, prefill)


@given(MODELS, st.integers(1, 200), st.integers(1, 64), st.integers(0, 200), st.floats(0, 1), PREFILLS)
def test_coast_stops_at_a_limit_that_falls_between_two_steps(
    model: CostModel, steps: int, decode: int, before: int, part: float, prefill: int
) -> None:
    """The limit is set within the run, exactly on a boundary or between two."""
    _, start = loop(model, 1.0, math.inf, before, decode, 100, prefill)
    limit = start + part * model.seconds(prefill, decode, 100 + (before + 1) * (decode + prefill))
    check(model, 1.0, limit, steps, decode, 100, prefill)


@given(
    st.integers(0, 400),
    st.integers(1, 300),
    st.integers(1, 64),
    st.floats(0, 1),
    st.sampled_from([1e-3, 1.0, 1e6]),
    PREFILLS,
)
def test_coast_equals_the_loop_across_the_roofline_knee(
    knee: int, steps: int, decode: int, part: float, kv_bytes: float, prefill: int
) -> None:
    """Memory overtakes compute around the `knee`-th step."""
    context, growth = 1000, decode + prefill
    crossing = context + growth * (knee + part)
    model = Roofline(
        weights=0.0,
        kv_bytes=kv_bytes,
        memory=1e3,
        flop=kv_bytes * crossing / growth,
        prefill_flops=1e3,
        decode_flops=1e3,
        c0=0.01,
    )
    check(model, 3.0, math.inf, steps, decode, context, prefill)
    first = model.seconds(prefill, decode, context + growth)
    assert first < model.seconds(prefill, decode, context + growth * (knee + 2))


def test_coast_takes_no_step_at_or_after_the_limit() -> None:
    for model in (Piecewise(1.0, 0.0), Linear(1.0, 0.0, 0.0, 1e-3), Roofline(1.0, 1.0, 1e9, 1.0, 1.0, 1.0, 1.0)):
        assert model.coast(5.0, 5.0, 10, 1, 0)[:2] == (0, 5.0)
        assert model.coast(5.0, 9.0, 0, 1, 0)[:2] == (0, 5.0)
    assert Piecewise(1.0, 0.0).coast(0.0, 100.0, 500, 1, 0) == (100, 100.0, 1.0, 1.0)
    assert Piecewise(1.0, 0.0).coast(0.0, 99.5, 500, 1, 0)[:2] == (100, 100.0)  # the last one starts at 99


def test_piecewise_is_flat_up_to_its_knee() -> None:
    model = Piecewise(0.003, 2e-5, 64)
    assert model.seconds(0, 64, 10**6) == 0.003
    assert model.seconds(60, 68, 0) == pytest.approx(0.003 + 64 * 2e-5)


def test_linear_charges_prompt_decode_and_context() -> None:
    assert Linear(0.01, 1e-4, 2e-4, 1e-6).seconds(10, 5, 1000) == pytest.approx(0.01 + 0.001 + 0.001 + 0.001)


def test_roofline_is_the_larger_of_memory_and_compute() -> None:
    model = Roofline(weights=100, kv_bytes=2, memory=10, flop=6, prefill_flops=3, decode_flops=2, c0=0.5)
    assert model.seconds(1, 0, 0) == pytest.approx(0.5 + 10)  # weights
    assert model.seconds(1, 0, 50) == pytest.approx(0.5 + 20)  # weights and KV
    assert model.seconds(10, 4, 5) == pytest.approx(0.5 + 20 + 12)  # compute


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Piecewise(-1.0, 0.0), ("piecewise", "c0", "-1.0")),
        (lambda: Piecewise(0.0, math.nan), ("piecewise", "a", "nan")),
        (lambda: Piecewise(0.0, 0.0, math.inf), ("piecewise", "b0", "inf")),
        (lambda: Piecewise(10**400, 0.0), ("piecewise", "c0", "1000")),
        (lambda: Linear(0.0, 0.0, "1"), ("linear", "decode", "'1'")),  # type: ignore[arg-type]
        (lambda: Linear(True, 0.0, 0.0), ("linear", "c0", "True")),
        (lambda: Roofline(1, -2, 1, 1, 1, 1, 0), ("roofline", "kv_bytes", "-2")),
    ],
)
def test_wrong_parameters_are_named(make: Callable[[], CostModel], words: tuple[str, str, str]) -> None:
    with pytest.raises(InvalidEngine, match=r"expected a finite number >= 0$") as caught:
        make()
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("rate", [0, -1.0, math.nan, math.inf, "fast", True])
@pytest.mark.parametrize("name", ["memory", "prefill_flops", "decode_flops"])
def test_rates_of_a_roofline_are_finite_and_above_0(name: str, rate: Any) -> None:
    rates = {"memory": 1.0, "prefill_flops": 1.0, "decode_flops": 1.0, name: rate}
    with pytest.raises(InvalidEngine, match=f"roofline: {name} = {rate!r}; expected a finite number > 0"):
        Roofline(weights=1.0, kv_bytes=1.0, flop=1.0, c0=0.0, **rates)


def test_concurrency_adds_for_every_decoding_sequence() -> None:
    inner = Piecewise(0.003, 2e-5, 64)
    model = Concurrency(inner, 0.001, block=8)
    assert model.seconds(10, 0, 5) == inner.seconds(10, 0, 5)
    assert model.seconds(10, 24, 5) == pytest.approx(inner.seconds(10, 24, 5) + 0.003)
    assert model.steady
    check(model, 1.0, 3.0, 500, 24, 0)


def test_jitter_multiplies_by_a_lognormal_factor_of_mean_1() -> None:
    inner = Piecewise(0.5, 0.0)
    model = Jitter(inner, 0.4, np.random.default_rng(7))
    draws = np.array([model.seconds(1, 2, 3) for _ in range(40_000)]) / 0.5
    assert not model.steady
    assert draws.mean() == pytest.approx(1.0, abs=0.01)
    assert draws.std() == pytest.approx(0.4, abs=0.01)
    assert np.log(draws).std() == pytest.approx(math.sqrt(math.log(1.16)), abs=0.01)
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.02


def test_jitter_draws_from_the_generator_that_it_is_given() -> None:
    def draws(seed: int) -> list[float]:
        model = Jitter(Piecewise(1.0, 0.0), 0.2, np.random.default_rng(seed))
        return [model.seconds(1, 0, 0) for _ in range(5)]

    assert draws(3) == draws(3)
    assert draws(3) != draws(4)


def test_a_model_without_a_formula_cannot_say_how_long_an_iteration_takes() -> None:
    with pytest.raises(NotImplementedError):
        CostModel().seconds(1, 1, 1)


def test_steps_count_decode_iterations_and_nothing_else() -> None:
    model = Steps(decode=2.0)
    assert [model.seconds(prefill, decode, 99) for prefill, decode in ((7, 0), (0, 3), (7, 3))] == [0.0, 2.0, 2.0]
    check(model, 1.0, 1000.0, 300, 5, 10, 3)
    with pytest.raises(InvalidEngine, match="decode = 0; expected a finite number > 0"):
        Steps(0)
