"""simulate: one policy, one engine, one trace, to a `RunRecord`."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import repeat

import numpy as np
import polars as pl

from headway.core.engine import EngineProfile, preset
from headway.core.errors import expect
from headway.core.request import BLOCK_TOKENS, Request, Slo
from headway.core.rules import Order
from headway.core.scheduler import Scheduler
from headway.core.sequence import OUTCOMES
from headway.core.spec import number, whole
from headway.measure.gaps import largest_gaps
from headway.measure.journal import Rules, RunJournal
from headway.measure.record import (
    OUTCOME_SCHEMA,
    PROMISES,
    RESIDENCE_SCHEMA,
    TIMELINE_SCHEMA,
    RunRecord,
    Segments,
    Totals,
)
from headway.measure.work import Work
from headway.policies.memory.oracle import Oracle
from headway.policies.policy import Policy
from headway.simulate.engine import STEADY_AFTER, STRIDE, SimulatedEngine
from headway.simulate.follow import FollowingScheduler
from headway.simulate.work_log import WorkLog, is_wanted
from headway.workload.seeds import stream
from headway.workload.trace import Trace

SAMPLES = 2000  # of the timeline, over the time in which requests arrive


def simulate(
    trace: Trace,
    policy: str | type[Order] | Policy = "fcfs",
    engine: str | EngineProfile = "a100-llama3-8b",
    *,
    seed: int = 0,
    timeline: bool = True,
    fast_forward: bool = True,
    watch_future: bool = False,
    steady_after: int = STEADY_AFTER,
    follow: int | None = None,
    clients: int | None = None,
    patience: float | None = None,
    journal: bool = False,
    progress: Callable[[int], None] | None = None,
) -> RunRecord:
    """Run a trace through one policy on one engine.

    Args:
        trace: requests with their true output lengths.
        policy: a policy, its spec, or the class of an own order.
        engine: an engine or the name of a preset.
        seed: of the engine's own randomness (jitter); the trace is data.
        timeline: keep samples of queue and KV over time.
        fast_forward: take quiet iterations in one step; the result is the same, bit by bit.
        watch_future: compute what the residents' true lengths will require, after every admission round.
        steady_after: finishes after which the steady part of the run begins.
        follow: row of a request whose memory is to be noted over time; None for nobody's.
        clients: that send the requests in order of the trace, each its next one when its last one has ended (a closed
            loop); arrivals are then theirs. None takes the trace's.
        patience: seconds without a token (the first one, or the next one after an eviction or in a pause of decodes)
            after which a client leaves and its request is cancelled; None for ever.
        journal: note what kept waiting requests out, for `why`; costs a few per cent of the time.
        progress: told now and then how many requests have arrived.

    Returns:
        A row a request, the totals, and what the measures need. `partial` is set when Ctrl-C ended it early: requests
        that had not ended are then missing.

    Raises:
        InvalidInput: the policy or the engine cannot be what it says, clients below 1, patience not above 0.
    """
    clients, patience = checked_clients(clients, patience)
    began = time.perf_counter()
    expect("trace", trace, Trace, "a Trace, as of headway.workload('qba-paper') or headway.read_trace(path)")
    policy = policy if isinstance(policy, Policy) else Policy.of(policy)
    engine = engine if isinstance(engine, EngineProfile) else preset(engine)
    frame = trace.frame
    arrivals: list[float] = frame["arrival"].to_list()
    outputs: list[int] = frame["output_tokens"].to_list()
    if engine.max_new_tokens is not None and engine.cut_off:
        outputs = [min(tokens, engine.max_new_tokens) for tokens in outputs]
    make = Scheduler if follow is None else partial(FollowingScheduler, follow)
    scheduler = policy.build(engine, stream(seed, "memory"), make)
    if isinstance(scheduler.memory, Oracle):
        scheduler.memory.reveal(outputs)
    work = WorkLog(engine.decode_block) if is_wanted(frame) else None
    host = SimulatedEngine(
        scheduler,
        _requests(frame, hashed=engine.prefix_cache is not None),
        arrivals,
        outputs,
        engine.iteration_cost(stream(seed, "jitter")),
        sample_every=_sampling(trace, clients) if timeline else math.inf,
        fast_forward=fast_forward,
        watch_future=watch_future,
        work=work,
        steady_after=steady_after,
        clients=clients,
        patience=patience,
        journal=journal,
        progress=progress,
    )
    with _collector_at_rest():
        complete = host.run()
    segments, residence, stray = segments_of(host), residence_of(host), stray_of(host)
    outcomes = _outcomes(frame, host, largest_gaps(frame.height, segments, residence, stray))
    ended = outcomes["outcome"].is_not_null()
    memory, steady = host.watch.uses()
    return RunRecord(
        policy=policy.name,
        engine=engine.name,
        workload=trace.name,
        seed=seed,
        outcomes=outcomes.filter(ended),
        segments=segments,
        totals=_totals(host, scheduler, outcomes),
        residence=_of_ended(residence, ended),
        stray=_of_ended(stray, ended),
        timeline=pl.DataFrame(host.timeline, schema=TIMELINE_SCHEMA, orient="row"),
        wall_seconds=time.perf_counter() - began,
        partial=not complete,
        order=policy.order_spec,
        memory_rule=str(policy.memory_on(engine)),
        shedding_rule=str(policy.shedding),
        eviction_rule=str(policy.eviction),
        memory=memory,
        steady_memory=steady,
        followed=scheduler.life() if isinstance(scheduler, FollowingScheduler) else None,
        work=None if work is None else _work_of_ended(work.work(), ended),
        journal=_journal(host, policy, outcomes, seed),
    )


def checked_clients(
    clients: object, patience: object, names: tuple[str, str] = ("clients", "patience")
) -> tuple[int | None, float | None]:
    """Return a number of clients and their patience in seconds, None where None is given.

    Raises:
        InvalidInput: not a whole number of at least 1, or not a number of seconds above 0; `names` are used to say so.
    """
    return (
        None if clients is None else whole(names[0], clients, 1),
        None if patience is None else number(names[1], patience, 0, math.inf, open_low=True, open_high=True),
    )


def _sampling(trace: Trace, clients: int | None) -> float:
    """Return the seconds from one sample of the timeline to the next, as far as they are known before the run."""
    return 0.0 if clients is not None else max(trace.span, 1e-9) / SAMPLES


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Pause the cycle collector: a run makes no cycles, and scanning its live objects over and over costs a tenth."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _requests(frame: pl.DataFrame, *, hashed: bool) -> Iterator[Request]:
    """Yield a request a row; its id is the row, so that the host finds its output length by it.

    With the hashes of its prompt's blocks only where they are used.
    """

    def column(name: str, default: object = None) -> Iterator[object]:
        if name not in frame.columns:
            return repeat(default)
        values = frame[name]
        return iter((values if default is None else values.fill_null(default)).to_list())

    promised = any(name in frame.columns for name in PROMISES)
    return map(
        Request._make,
        zip(
            range(frame.height),
            frame["arrival"].to_list(),
            frame["prompt_tokens"].to_list(),
            repeat(None),
            column("predicted"),
            column("tenant", "default"),
            column("class"),
            column("priority", 0),
            map(Slo._make, zip(*map(column, PROMISES), strict=False)) if promised else repeat(None),
            column("weight", 1.0),
            _blocks(frame["blocks"]) if hashed and "blocks" in frame.columns else repeat(None),
            column("block_tokens", BLOCK_TOKENS),
            strict=False,
        ),
    )


def _blocks(column: pl.Series) -> Iterator[tuple[int, ...] | None]:
    """Yield a row's hashes, some rows ahead: as Python's numbers those of all rows take ten times the memory."""
    for rows in column.to_frame().iter_slices(STRIDE):
        for hashes in rows.to_series().to_list():
            yield None if hashes is None else tuple(hashes)


def _outcomes(frame: pl.DataFrame, host: SimulatedEngine, largest: np.ndarray) -> pl.DataFrame:
    """Build the rows of the record from the trace's columns and what the host saw."""
    seen = host.outcomes
    rows = frame.height
    states = pl.Series("outcome", np.frombuffer(seen.state, dtype=np.int8))
    reasons = pl.Series("reason", [None], dtype=pl.String).extend_constant(None, rows - 1)
    if seen.reasons:
        reasons = reasons.scatter(list(seen.reasons), list(seen.reasons.values()))

    demoted = np.zeros(rows, dtype=bool)
    demoted[seen.demoted] = True

    def text(name: str, default: str | None = None) -> pl.Expr:
        if name not in frame.columns:
            return pl.lit(default, dtype=pl.String).alias(name)
        return pl.col(name).cast(pl.String).fill_null(pl.lit(default, dtype=pl.String))

    def promise(name: str) -> pl.Expr:
        return pl.col(name) if name in frame.columns else pl.lit(None, dtype=pl.Float64).alias(name)

    def seconds(name: str) -> pl.Series:
        return pl.Series(name, np.frombuffer(getattr(seen, name)), nan_to_null=True)

    def counts(name: str, values: object) -> pl.Series:
        return pl.Series(name, np.frombuffer(values, dtype=np.int64))  # type: ignore[call-overload]

    return frame.select(
        "id",
        text("tenant", "default"),
        text("class"),
        *map(promise, PROMISES),
        pl.col("weight").fill_null(1.0) if "weight" in frame.columns else pl.lit(1.0).alias("weight"),
        pl.Series("arrival", host.arrivals[:rows]),
        seconds("start"),
        seconds("first_token"),
        seconds("finish"),
        "prompt_tokens",
        counts("output_tokens", seen.generated),
        text("predicted"),
        text("true_class"),
        pl.Series("largest_gap", largest, nan_to_null=True),
        counts("evictions", seen.evictions),
        states.replace_strict(OUTCOMES, default=None, return_dtype=pl.String),
        reasons,
        pl.Series("demoted", demoted),
    ).select(*OUTCOME_SCHEMA)


def segments_of(host: SimulatedEngine) -> Segments:
    """Return the decode iterations of a run."""
    clock, steps, first, last, end = np.frombuffer(host.decoding.segments).reshape(-1, 5).T
    return Segments(clock.astype(np.int64), steps.astype(np.int64), first.copy(), last.copy(), end.copy())


def residence_of(host: SimulatedEngine) -> pl.DataFrame:
    """Return who decoded when."""
    rows = np.frombuffer(host.decoding.residence, dtype=np.int64).reshape(-1, 3)
    return pl.DataFrame({name: rows[:, index] for index, name in enumerate(RESIDENCE_SCHEMA)})


def stray_of(host: SimulatedEngine) -> pl.DataFrame:
    """Return the gaps that are one request's alone."""
    row, seconds = np.frombuffer(host.decoding.stray).reshape(-1, 2).T
    return pl.DataFrame({"row": row.astype(np.int64), "seconds": seconds})


def _of_ended(table: pl.DataFrame, ended: pl.Series) -> pl.DataFrame:
    """Keep the rows of requests that have ended, numbered as these are in the outcomes."""
    if ended.all():
        return table
    place = ended.cast(pl.Int64).cum_sum() - 1
    kept = table.filter(ended.gather(table["row"]))
    return kept.with_columns(place.gather(kept["row"]).alias("row"))


def _work_of_ended(work: Work, ended: pl.Series) -> Work:
    return Work(
        chunks=_of_ended(work.chunks, ended),
        fills=_of_ended(work.fills, ended),
        stays=_of_ended(work.stays, ended),
        returns=_of_ended(work.returns, ended),
        block=work.block,
    )


def _journal(host: SimulatedEngine, policy: Policy, outcomes: pl.DataFrame, seed: int) -> RunJournal | None:
    """Return what kept waiting requests out, where that was noted."""
    if host.journal is None:
        return None
    engine, reserve = host.scheduler.engine, policy.shares.reserve
    rules = Rules(
        order=policy.order_spec if reserve is None else f"{policy.order_spec}, reserve {reserve}",
        memory=str(policy.memory_on(engine)),
        shedding=str(policy.shedding),
        eviction=str(policy.eviction),
        engine=engine.name,
        slots=engine.slots,
        partial_prompts=engine.partial_prompts or engine.max_sequences,
        token_budget=engine.token_budget,
        prompt_positions=engine.prompt_space(0),
        decode_slots=engine.decode_slots,
        admission_interval=engine.admission_interval,
        kv_tokens=engine.kv_capacity,
    )
    return RunJournal.of(policy.name, seed, rules, outcomes, host.journal)


def _totals(host: SimulatedEngine, scheduler: Scheduler, outcomes: pl.DataFrame) -> Totals:
    first_arrival, last = host.arrivals[0], outcomes["finish"].max()
    return Totals(
        iterations=scheduler.iterations,
        decode_iterations=scheduler.ledger.clock,
        prefill_positions=scheduler.prefill_positions,
        decode_positions=scheduler.decode_positions,
        seconds=(last if isinstance(last, float) else first_arrival) - first_arrival,
        busy_seconds=host.now - host.idle,
        token_budget=scheduler.engine.token_budget,
        kv_capacity=scheduler.engine.kv_tokens,
        kv_token_iterations=scheduler.kv_token_iterations,
        kv_peak=host.watch.kv_peak,
        oom_events=scheduler.oom_events,
        demoted=scheduler.demotions,
        promoted=scheduler.order.promotions(),
        wasted_tokens=0 if host.patience is None else host.patience.waste.tokens,
        cached_positions=None if scheduler.cache is None else scheduler.cache.hit_tokens,
    )
