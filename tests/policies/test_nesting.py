"""Urgency before tenants, and tenants before urgency: every answer against a look at everybody who waits."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headway.core.engine import EngineProfile
from headway.core.rules import Eviction, Shedding
from headway.core.scheduler import Scheduler
from headway.core.sequence import Sequence
from headway.core.spec import Spec
from headway.policies.order.fair_share import FairShare
from headway.policies.policy import Policy
from headway.testing.stepping import SteppingHost
from tests.strategies import MEMORY, Scenario, crowds, pooled, scenarios


def due(seq: Sequence) -> float:
    slo = seq.request.slo
    promises = [] if slo is None else [seconds for seconds in (slo.ttft, slo.completion) if seconds is not None]
    return seq.arrival + min(promises, default=math.inf)


class Checked(FairShare):
    """Compares its answers with those of a list of everybody who waits."""

    def __init__(self, band: float, nesting: str, **options: Any) -> None:
        super().__init__(Spec("least-slack", {"alpha": 0, "band": band}), nesting=nesting, **options)
        self.band = band
        self.line: list[Sequence] = []

    def attach(self, engine: EngineProfile) -> None:
        super().attach(engine)
        space = engine.prompt_space(0)
        self.largest = min(engine.chunk_cap or space, space, engine.prompt_space(engine.slots - 1))

    def push(self, seq: Sequence, now: float) -> bool:
        self.line.append(seq)
        return super().push(seq, now)

    def admitted(self, seq: Sequence, now: float) -> None:
        if not seq.evictions:
            self.line.remove(seq)
        super().admitted(seq, now)

    def remove(self, seq: Sequence) -> None:
        if not seq.evictions:
            self.line.remove(seq)
        super().remove(seq)

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        answer = super().candidate(now, space, refused)
        if refused is None:
            assert answer is self.expected(space)
        return answer

    def expected(self, space: int) -> Sequence | None:
        fitting = [seq for seq in self.line if min(seq.prompt, self.largest) <= space]
        if self.slack_first:
            limit = min((due(seq) for seq in fitting), default=0.0) + self.band
            fitting = [seq for seq in fitting if due(seq) <= limit]
        if not fitting:
            return None
        oldest: dict[str, tuple[float, int]] = {}
        for seq in self.line:
            oldest.setdefault(seq.request.tenant, (seq.arrival, seq.ticket))
        turn = min(
            {seq.request.tenant for seq in fitting},
            key=lambda tenant: (self.times.time(self.accounts[tenant]), oldest[tenant]),
        )
        return min((seq for seq in fitting if seq.request.tenant == turn), key=lambda seq: (due(seq), seq.ticket))


@given(
    scenarios(cancels=True, memory=MEMORY) | pooled(scenarios(memory=MEMORY)) | crowds(),
    st.sampled_from([(0.0, "tenant-first"), *((band, "slack-first") for band in (0.0, 0.05, 0.3, math.inf))]),
    st.sampled_from(["iteration", "predicted", "admission"]),
)
def test_every_answer(scenario: Scenario, choice: tuple[float, str], charge: str) -> None:
    engine = scenario.shares.engine(scenario.engine)
    order = Checked(*choice, charge=charge)
    order.attach(engine)
    scheduler = Scheduler(engine, order, Policy.of("fcfs").rules(engine)[1], Shedding(), Eviction())
    SteppingHost(scheduler, scenario.requests, scenario.outputs, engine.cost, scenario.cancels).run()
    assert not order.line
