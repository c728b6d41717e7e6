"""The watch over memory looks once after each round of admission."""

from __future__ import annotations

import dataclasses

import pytest

from headway.core.engine import preset
from headway.core.request import Request
from headway.core.scheduler import Scheduler
from headway.policies.policy import Policy
from headway.simulate.engine import SimulatedEngine
from headway.simulate.memory_watch import MemoryWatch


class Counting(Scheduler):
    """Counts rounds of admission."""

    rounds: int

    def _admit(self, batch, now, space) -> None:
        self.rounds = getattr(self, "rounds", 0) + 1
        super()._admit(batch, now, space)


@pytest.mark.parametrize("fast_forward", [True, False])
def test_once_a_round_also_where_prompts_take_no_time(monkeypatch: pytest.MonkeyPatch, fast_forward: bool) -> None:
    looks: list[int] = []
    look = MemoryWatch.round_ended

    def counted(self: MemoryWatch) -> None:
        looks.append(1)
        look(self)

    monkeypatch.setattr(MemoryWatch, "round_ended", counted)
    engine = dataclasses.replace(preset("past-future-table1"), kv_tokens=3000)
    scheduler = Policy.of("fcfs", memory="watermark(level=1)").build(engine, make=Counting)
    assert isinstance(scheduler, Counting)
    requests = (Request(row, 0.0, 40) for row in range(200))
    host = SimulatedEngine(
        scheduler,
        requests,
        [0.0] * 200,
        [25] * 200,
        engine.cost,
        watch_future=True,
        fast_forward=fast_forward,
    )
    host.run()
    assert len(looks) == scheduler.rounds > 5
