"""What one run left behind: the only thing that a host hands to `measure`.

Everything that is asked later (waits, gaps, throughput, charts) is derived from a `RunRecord`, so a simulated
and a real run are judged by the same code.

The decode iterations of a run are numbered 1, 2, 3, … by the *decode clock*. They are kept run-length coded
(`Segments`), because between two events of a run nothing changes but the slow growth of the context; which
request decoded when is kept as intervals of that clock (`RunRecord.residence`). Both grow with the number of
requests and not with the number of tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from headway.measure.journal import RunJournal
from headway.measure.memory import MemoryUse
from headway.measure.work import Work

PROMISES = ("ttft_slo", "itl_slo", "completion_slo")
"""What a request may have been promised, in seconds: columns of traces and of `RunRecord.outcomes`."""

OUTCOME_SCHEMA: dict[str, type[pl.DataType]] = {
    "id": pl.String,
    "tenant": pl.String,
    "class": pl.String,
    **dict.fromkeys(PROMISES, pl.Float64),
    "weight": pl.Float64,
    "arrival": pl.Float64,
    "start": pl.Float64,
    "first_token": pl.Float64,
    "finish": pl.Float64,
    "prompt_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "predicted": pl.String,
    "true_class": pl.String,
    "largest_gap": pl.Float64,
    "evictions": pl.Int64,
    "outcome": pl.String,
    "reason": pl.String,
    "demoted": pl.Boolean,
}
"""Columns of `RunRecord.outcomes`, in order. `id` may be Int64 instead: it is what the trace says."""

RESIDENCE_SCHEMA: dict[str, type[pl.DataType]] = {"row": pl.Int64, "joined": pl.Int64, "left": pl.Int64}
"""Columns of `RunRecord.residence`, in order."""

STRAY_SCHEMA: dict[str, type[pl.DataType]] = {"row": pl.Int64, "seconds": pl.Float64}
"""Columns of `RunRecord.stray`, in order."""

TIMELINE_SCHEMA: dict[str, type[pl.DataType]] = {
    "time": pl.Float64,
    "waiting": pl.Int64,
    "running": pl.Int64,
    "kv": pl.Int64,
}
"""Columns of `RunRecord.timeline`, in order."""

FOLLOWED_SCHEMA: dict[str, type[pl.DataType]] = {
    "time": pl.Float64,
    "phase": pl.String,
    "held": pl.Int64,
    "used": pl.Int64,
}
"""Columns of `Followed.notes`, in order."""


@dataclass(frozen=True)
class Segments:
    """The decode iterations of a run, run-length coded: a segment lies between two events of the run.

    Within a segment the gap between two token deliveries grows linearly from `first` to `last`, or stays the same.

    Attributes:
        clock: int64 [m], decode clock before the segment, strictly increasing: segment i covers the
            iterations `clock[i] + 1 .. clock[i] + steps[i]`.
        steps: int64 [m], number of decode iterations in the segment, at least 1.
        first: float64 [m], seconds between the token deliveries of its first iteration and of the one before.
        last: float64 [m], the same for its last iteration.
        end: float64 [m], time of the delivery of its last iteration, in seconds.
    """

    clock: np.ndarray
    steps: np.ndarray
    first: np.ndarray
    last: np.ndarray
    end: np.ndarray


@dataclass(frozen=True)
class Totals:
    """Sums over a whole run.

    Attributes:
        iterations: iterations of the engine.
        decode_iterations: those in which some request decoded.
        prefill_positions: prompt tokens that were run (an evicted prompt counts each time).
        decode_positions: output tokens that were run.
        seconds: from the first arrival to the last finish (makespan).
        busy_seconds: sum of iteration times.
        token_budget: positions that an iteration may take.
        kv_capacity: KV tokens that the engine holds.
        kv_token_iterations: sum over iterations of live KV tokens.
        kv_peak: most live KV tokens in any iteration.
        oom_events: iterations in which live KV exceeded the capacity.
        wasted_tokens: prompt positions computed and tokens generated for requests whose clients left; what was
            computed again after an eviction is not in it.
        cached_positions: prompt tokens that came from the prefix cache and were not run; None without one.
        demoted: requests that the shedding rule put behind all others.
        promoted: requests that the order sent ahead because they had waited long.
    """

    iterations: int
    decode_iterations: int
    prefill_positions: int
    decode_positions: int
    seconds: float
    busy_seconds: float
    token_budget: int
    kv_capacity: int
    kv_token_iterations: int
    kv_peak: int
    oom_events: int
    wasted_tokens: int = 0
    cached_positions: int | None = None
    demoted: int = 0
    promoted: int = 0


@dataclass(frozen=True)
class Followed:
    """One request's memory over time, beside that of all.

    Attributes:
        row: the request's row in the outcomes.
        arrival: seconds.
        notes: at batch boundaries from its arrival to its end (`FOLLOWED_SCHEMA`): seconds; "waiting", "prefill",
            "decode" or "ended"; KV tokens that it holds; KV tokens that all hold. In between both lie on a line.
    """

    row: int
    arrival: float
    notes: pl.DataFrame


@dataclass(frozen=True)
class RunRecord:
    """One run: one policy, one engine, one workload, one seed.

    Attributes:
        policy: the policy's name, unique in a comparison: the order's spec, as in `qba(k=5)`, as a rule.
        engine: the engine's name.
        workload: the trace's or workload's name.
        seed: the seed of the run.
        outcomes: a row a request (`OUTCOME_SCHEMA`). `start` is null if it was never scheduled, `first_token`
            null if none came, `finish` is the end of the request whatever the outcome, `predicted` is
            "short", "long" or a number as text, `largest_gap` is null with fewer than two deliveries. A promise
            (`PROMISES`, seconds) is null where none was given; `weight` is its tenant's share beside the others'.
            `outcome` is "finished", "rejected", "cancelled" or "expired", and `reason` says why where that is
            not plain; `demoted` whether the shedding rule put it behind all others.
        segments: the decode iterations.
        residence: who decoded when (`RESIDENCE_SCHEMA`): the request in row `row` of `outcomes` decoded in
            iterations `joined + 1 .. left`; several rows a request if it was evicted in between.
        stray: gaps between deliveries that are one request's alone and lie in no residence (`STRAY_SCHEMA`): across
            an eviction, or from joining while decodes were paused.
        timeline: requests waiting and running, and live KV tokens, sampled at events (`TIMELINE_SCHEMA`).
        totals: sums over the run.
        wall_seconds: how long it took to compute.
        order: spec of the order.
        memory_rule: spec of the memory rule.
        shedding_rule: spec of the shedding rule.
        eviction_rule: spec of the eviction rule.
        memory: use of KV memory until the last request left the queue for the first time.
        steady_memory: the same, without the start-up: from the 1000th finish on, where nothing else was asked for; None
            if the queue was empty before.
        followed: the memory of the request that was to be followed; None if there was none.
        work: which work was done for whom, where the requests name tenants or promise something; None elsewhere.
        partial: it was interrupted; requests that had not ended are missing.
        journal: what kept waiting requests out, where that was asked for.
    """

    policy: str
    engine: str
    workload: str
    seed: int
    outcomes: pl.DataFrame
    segments: Segments
    totals: Totals
    residence: pl.DataFrame
    stray: pl.DataFrame
    timeline: pl.DataFrame
    wall_seconds: float
    partial: bool = False
    order: str = ""
    memory_rule: str = ""
    shedding_rule: str = ""
    eviction_rule: str = ""
    memory: MemoryUse | None = None
    steady_memory: MemoryUse | None = None
    work: Work | None = None
    followed: Followed | None = None
    journal: RunJournal | None = None
