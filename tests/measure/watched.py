"""Small runs in which every iteration is looked at, so that what records tell can be counted by hand."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl
from hypothesis import strategies as st

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.scheduler import Scheduler
from headway.core.sequence import DECODING
from headway.measure.record import PROMISES, RunRecord
from headway.policies.policy import Policy
from headway.simulate import run as running
from headway.simulate.engine import SimulatedEngine
from headway.workload.trace import Trace
from tests.strategies import BY_SLACK, ORDERS, engines, shares_for

ROUNDING = 1e-9


@dataclass
class Iteration:
    """One iteration: when it ended, the prompt positions that were new and the decode positions, by row."""

    end: float
    prompt: dict[int, int] = field(default_factory=dict)
    decode: dict[int, int] = field(default_factory=dict)

    def units(self, rows: set[int], weights: list[float]) -> float:
        prompt = sum(positions / weights[row] for row, positions in self.prompt.items() if row in rows)
        return prompt + sum(2 * positions / weights[row] for row, positions in self.decode.items() if row in rows)


@dataclass
class Watched:
    """A run: its record, as simulate makes it, and its iterations, each planned and looked at."""

    record: RunRecord
    iterations: list[Iteration]
    deliveries: dict[int, list[tuple[float, int]]]  # by row: time, and number of the first token from 0
    kept: dict[frozenset[int], list[float]] = field(default_factory=dict)

    def tenants(self) -> dict[str, set[int]]:
        owners = self.record.outcomes["tenant"].to_list()
        return {name: {row for row, owner in enumerate(owners) if owner == name} for name in sorted(set(owners))}

    def backlog(self, rows: set[int]) -> list[tuple[float, float]]:
        """When any of these requests waited, as merged spans."""
        outcomes = self.record.outcomes
        spans: list[tuple[float, float]] = []
        for row in rows:
            start = outcomes["start"][row]
            spans.append((outcomes["arrival"][row], outcomes["finish"][row] if start is None else start))
        joined: list[tuple[float, float]] = []
        for begin, end in sorted(span for span in spans if span[1] > span[0]):
            if joined and begin <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((begin, end))
        return joined

    def served(self, rows: set[int], time: float) -> float:
        """Units over weight up to a time."""
        return self.sums(frozenset(rows))[bisect.bisect_right(self.ends, time + ROUNDING)]

    @cached_property
    def ends(self) -> list[float]:
        return [one.end for one in self.iterations]

    def sums(self, rows: frozenset[int]) -> list[float]:
        """Units over weight in the first 0, 1, 2, … iterations; kept, since they are asked for again and again."""
        if rows not in self.kept:
            weights = self.record.outcomes["weight"].to_list()
            units = (one.units(set(rows), weights) for one in self.iterations)
            self.kept[rows] = list(itertools.accumulate(units, initial=0.0))
        return self.kept[rows]


class WatchingScheduler(Scheduler):
    """Notes what each iteration does before it is booked."""

    noted: list[Iteration]
    deliveries: dict[int, list[tuple[float, int]]]
    outputs: list[int]
    got: dict[int, int]

    def complete(self, batch: Batch, now: float, finished: object = ()) -> None:
        noted = Iteration(now)
        for seq, positions in batch.chunks:
            fresh = min(positions, max(seq.filled - seq.computed, 0))
            if fresh:
                noted.prompt[seq.id] = noted.prompt.get(seq.id, 0) + fresh
        if batch.decodes:
            for seq in self.residents:
                if seq.state == DECODING:
                    noted.decode[seq.id] = self.engine.decode_block - seq.ending
                    self.deliver(seq.id, now, self.engine.decode_block - seq.ending)
        if self.engine.first_token == "prefill":
            for seq in (*batch.joined, *batch.held):
                self.deliver(seq.id, now, 1)
        self.noted.append(noted)
        super().complete(batch, now, finished)  # type: ignore[arg-type]

    def deliver(self, row: int, now: float, tokens: int) -> None:
        had = self.got.get(row, 0)
        if had < self.outputs[row]:
            self.deliveries.setdefault(row, []).append((now, had))
            self.got[row] = min(had + tokens, self.outputs[row])


def watch(trace: Trace, chosen: Policy, engine: EngineProfile, patience: float | None = None) -> Watched:
    """Simulate a trace, and run it again iteration by iteration."""
    outputs = trace.frame["output_tokens"].to_list()
    scheduler = chosen.build(engine, make=WatchingScheduler)
    assert isinstance(scheduler, WatchingScheduler)
    scheduler.noted, scheduler.deliveries, scheduler.outputs, scheduler.got = [], {}, outputs, {}
    arrivals = trace.frame["arrival"].to_list()
    requests = running._requests(trace.frame, hashed=False, limits=None)
    cost = engine.cost
    SimulatedEngine(scheduler, requests, arrivals, outputs, cost, fast_forward=False, patience=patience).run()
    return Watched(running.simulate(trace, chosen, engine, patience=patience), scheduler.noted, scheduler.deliveries)


@st.composite
def runs(draw: st.DrawFn) -> Watched:
    """Two to four tenants on a random engine, with random weights and promises."""
    engine = draw(engines(memory=["prompt-fit(safety=0.7)", "prompt-fit(safety=1)", "watermark(level=1)"]))
    count = draw(st.integers(2, 25))
    gaps = draw(st.lists(st.sampled_from([0.0, 0.0, 0.001, 0.01, 0.1, 1.5]), min_size=count, max_size=count))
    slo = st.none() | st.sampled_from([0.002, 0.004, 0.01, 0.1, 1.0, 5.0])
    columns: dict[str, list[object]] = {
        "arrival": list(itertools.accumulate(gaps)),
        "prompt_tokens": draw(st.lists(st.integers(1, 90), min_size=count, max_size=count)),
        "output_tokens": draw(st.lists(st.integers(0, 120), min_size=count, max_size=count)),
        "tenant": ["a", "b", *(draw(st.sampled_from(["a", "b", "c", None])) for _ in range(count - 2))],
        "weight": draw(st.lists(st.sampled_from([None, 1.0, 2.0, 0.5]), min_size=count, max_size=count)),
        **{name: draw(st.lists(slo, min_size=count, max_size=count)) for name in PROMISES},
    }
    dtypes = dict.fromkeys((*PROMISES, "weight"), pl.Float64)
    frame = pl.DataFrame(columns, schema_overrides={**dtypes, "tenant": pl.String})
    policy = draw(ORDERS | BY_SLACK)
    evict = draw(st.sampled_from(["last-admitted", "least-computed"]))
    chosen = Policy.of(policy, eviction=evict, shares=draw(shares_for(engine)))
    patience = draw(st.none() | st.sampled_from([0.02, 0.3]))
    return watch(Trace.from_frame("drawn", frame), chosen, engine, patience)
