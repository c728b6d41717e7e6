"""Invariants 1, 2, 3 and 8 on every plan of random runs, by an observer with books of its own."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.request import Request
from headway.core.rules import MemoryRule, Order
from headway.core.sequence import CANCELLED, FINISHED, REJECTED, Sequence
from headway.core.spec import parse_spec
from headway.policies.memory.prompt_fit import PromptFit
from headway.policies.order import ORDERS
from headway.policies.order.fcfs import Fcfs
from headway.simulate.engine import SimulatedEngine
from headway.testing.stepping import SteppingHost
from tests.invariants.observer import Observer
from tests.policies.models import MODELS, FcfsModel
from tests.strategies import ORDERS as SPECS
from tests.strategies import Scenario, pooled, scenarios


def observer(engine: EngineProfile, order: str) -> Observer:
    spec, safety = parse_spec(order), parse_spec(engine.memory).arguments["safety"]
    model = MODELS[spec.name](**spec.arguments)
    return Observer(engine, ORDERS[spec.name](**spec.arguments), model, PromptFit(safety), str(safety))


def split(scenario: Scenario) -> EngineProfile:
    """The engine, in two pools where the scenario has them."""
    return scenario.shares.engine(scenario.engine)


def simulated(scenario: Scenario, order: str) -> Observer:
    watched = observer(split(scenario), order)
    arrivals = [request.arrival for request in scenario.requests]
    host = SimulatedEngine(
        watched, iter(scenario.requests), arrivals, scenario.outputs, scenario.engine.cost, fast_forward=False
    )
    assert host.run()
    watched.check_end()
    return watched


def live(scenario: Scenario, order: str) -> Observer:
    watched = observer(split(scenario), order)
    SteppingHost(watched, scenario.requests, scenario.outputs, scenario.engine.cost, scenario.cancels).run()
    watched.check_end()
    return watched


CANCELLED_SOME = scenarios(cancels=True)


@given(CANCELLED_SOME | pooled(CANCELLED_SOME), SPECS)
def test_invariant_1_every_request_ends_exactly_once(scenario: Scenario, order: str) -> None:
    """Cancels included; who was neither cancelled nor too large for the memory has its whole answer."""
    leaving = {row for _, row in scenario.cancels}
    watched = live(scenario, order)
    assert [seq.request for seq in watched.books.seen] == scenario.requests
    for seq, output in zip(watched.books.seen, scenario.outputs, strict=True):
        assert seq.state in (FINISHED, REJECTED, CANCELLED)
        assert seq.state != CANCELLED or seq.request.id in leaving
        assert seq.state != REJECTED or seq.reason == "kv_capacity"
        if seq.state == FINISHED:
            assert seq.generated in (output, output + (scenario.engine.first_token == "prefill" and output == 0))
            assert seq.start >= seq.arrival


@given(scenarios() | pooled(scenarios()), SPECS)
def test_invariant_2_memory_holds_or_the_excess_is_counted(scenario: Scenario, order: str) -> None:
    watched = simulated(scenario, order)
    assert not (scenario.engine.eviction and watched.oom_events)
    assert watched.kv_peak <= scenario.engine.kv_tokens or watched.oom_events > 0


@given(scenarios() | pooled(scenarios()), SPECS)
def test_invariant_3_budgets_hold_and_everybody_advances(scenario: Scenario, order: str) -> None:
    """Tight budgets: a few positions an iteration, and nothing else that could bind."""
    engine = dataclasses.replace(
        scenario.engine, max_sequences=64, kv_tokens=20_000, memory="prompt-fit(safety=1)", chunk_cap=None
    )
    watched = simulated(dataclasses.replace(scenario, engine=engine), order)
    assert all(seq.state == FINISHED for seq in watched.books.seen)


@given(scenarios() | pooled(scenarios()), SPECS, st.booleans())
def test_invariant_8_work_is_conserved(scenario: Scenario, order: str, interrupted: bool) -> None:
    if interrupted:
        live(scenario, order)
    else:
        simulated(scenario, order)


class Sleepy(Fcfs):
    """Names nobody at every third question."""

    questions = 0

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        self.questions += 1
        return super().candidate(now, space, refused) if self.questions % 3 else None


class LargestFirst(Order):
    """Most prompt tokens first."""

    def key(self, seq: Sequence) -> float:
        return -seq.request.prompt_tokens


@pytest.mark.parametrize(
    ("order", "memory", "prompts"),
    [
        (Sleepy(), PromptFit(0.6), [5, 5, 5, 5]),
        (LargestFirst(), PromptFit(0.6), [1, 12, 20]),
        (Fcfs(), PromptFit(0.5), [12, 11, 1]),
    ],
)
def test_the_observer_objects(order: Order, memory: MemoryRule, prompts: list[int]) -> None:
    """An observer that never objects proves nothing: this one believes in FCFS and in a level of 60 %."""
    engine = EngineProfile("x", 20, 8, 40, Piecewise(1.0, 0.0), memory="prompt-fit(safety=0.6)")
    requests = [Request(row, 0.0, prompt, None, "short") for row, prompt in enumerate(prompts)]
    watched = Observer(engine, order, FcfsModel(), memory, "0.6")
    with pytest.raises(AssertionError, match="would fit"):
        SteppingHost(watched, requests, [5] * len(prompts), engine.cost).run()
