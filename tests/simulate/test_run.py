"""simulate: from a trace to a record."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import polars as pl
import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.errors import HeadwayError, InvalidEngine, InvalidSpec
from headway.core.rules import Order
from headway.core.sequence import Sequence
from headway.measure.latency import latencies
from headway.measure.record import OUTCOME_SCHEMA, RunRecord
from headway.policies.policy import Policy
from headway.simulate.run import simulate
from headway.workload.named import workload
from headway.workload.trace import Trace


def trace(rows: int = 200, **columns: Any) -> Trace:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "arrival": np.cumsum(rng.exponential(0.02, rows)),
            "prompt_tokens": rng.integers(1, 300, rows),
            "output_tokens": rng.integers(0, 120, rows),
            "predicted": np.where(rng.random(rows) < 0.8, "short", "long"),
        }
    )
    return Trace.from_frame("random", frame.with_columns(**columns))


def engine(**changes: Any) -> EngineProfile:
    settings: dict[str, Any] = {
        "name": "small",
        "token_budget": 64,
        "max_sequences": 8,
        "kv_tokens": 900,
        "cost": Piecewise(0.004, 1e-5, 8),
    }
    return EngineProfile(**{**settings, **changes})


def same(left: RunRecord, right: RunRecord) -> bool:
    return (
        left.outcomes.equals(right.outcomes)
        and left.residence.equals(right.residence)
        and left.totals == right.totals
        and all(
            np.array_equal(getattr(left.segments, name), getattr(right.segments, name))
            for name in ("clock", "steps", "first", "last")
        )
    )


@pytest.mark.parametrize("policy", ["fcfs", "qba(k=2, gamma=0.5)"])
def test_invariant_4_the_same_question_gives_the_same_record(policy: str) -> None:
    assert same(simulate(trace(), policy, engine()), simulate(trace(), policy, engine()))


def test_invariant_4_rows_in_any_order_give_the_same_record() -> None:
    """Ties go by (arrival, id), not by the row in which a request was written down."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "id": range(60),
            "arrival": np.sort(rng.integers(0, 4, 60) * 0.5),
            "prompt_tokens": rng.integers(1, 200, 60),
            "output_tokens": rng.integers(0, 60, 60),
        }
    )
    for policy in ("fcfs", "shortest-work(aging=0)"):
        sorted_ = simulate(Trace.from_frame("t", frame), policy, engine(), timeline=False)
        shuffled = simulate(Trace.from_frame("t", frame.sample(fraction=1.0, shuffle=True, seed=3)), policy, engine())
        assert same(sorted_, shuffled)
    by_id = simulate(Trace.from_frame("t", frame), "fcfs", engine()).outcomes.filter(pl.col("arrival") == 0.0)
    assert by_id["start"].is_sorted()


def test_jitter_is_seeded_and_leaves_the_mean_alone() -> None:
    shaky = engine(jitter=0.3)
    runs = [simulate(trace(), "fcfs", shaky, seed=seed) for seed in (1, 1, 2)]
    assert same(runs[0], runs[1])
    assert not runs[0].outcomes["finish"].equals(runs[2].outcomes["finish"])
    assert [run.seed for run in runs] == [1, 1, 2]
    steady = simulate(trace(), "fcfs", engine())
    mean = [run.totals.busy_seconds / run.totals.iterations for run in (runs[0], steady)]
    assert mean[0] == pytest.approx(mean[1], rel=0.05)
    assert same(simulate(trace(), "fcfs", engine(), seed=1), simulate(trace(), "fcfs", engine(), seed=2))


def test_concurrency_makes_iterations_slower() -> None:
    slow, fast = (simulate(trace(), "fcfs", engine(concurrency=seconds)) for seconds in (0.001, 0.0))
    assert slow.totals.seconds > fast.totals.seconds


def test_text_ids_and_labels_are_carried_to_the_outcomes() -> None:
    frame = pl.DataFrame(
        {
            "id": ["b", "a", "c"],
            "arrival": [0.0, 0.0, 1.0],
            "prompt_tokens": [5, 5, 5],
            "output_tokens": [2, 2, 2],
            "tenant": ["acme", None, "zeta"],
            "class": ["chat", None, None],
            "predicted": [17, 400, 2],
            "true_class": ["short", "short", None],
            "ttft_slo": [0.5, None, 1.0],
            "priority": [1, None, 0],
        }
    )
    outcomes = simulate(Trace.from_frame("named", frame), "psf(threshold=100)", engine()).outcomes
    assert outcomes.columns == list(OUTCOME_SCHEMA)
    assert dict(zip(outcomes.columns, outcomes.dtypes, strict=True)) == OUTCOME_SCHEMA
    assert outcomes["id"].to_list() == ["a", "b", "c"]
    assert outcomes["tenant"].to_list() == ["default", "acme", "zeta"]
    assert outcomes["class"].to_list() == [None, "chat", None]
    assert outcomes["predicted"].to_list() == ["400", "17", "2"]
    assert outcomes["true_class"].to_list() == ["short", "short", None]
    assert outcomes["outcome"].to_list() == ["finished"] * 3


def test_rejected_requests_keep_a_row_with_a_reason() -> None:
    frame = pl.DataFrame({"arrival": [0.0, 0.5], "prompt_tokens": [901, 10], "output_tokens": [3, 3]})
    outcomes = simulate(Trace.from_frame("large", frame), "fcfs", engine()).outcomes
    assert outcomes["outcome"].to_list() == ["rejected", "finished"]
    assert outcomes["reason"].to_list() == ["kv_capacity", None]
    assert outcomes["start"].to_list() == [None, 0.5]
    assert outcomes["finish"][0] == 0.0
    assert outcomes["output_tokens"].to_list() == [0, 3]


def test_a_request_that_alone_outgrows_the_memory_keeps_what_it_had() -> None:
    frame = pl.DataFrame({"arrival": [0.0], "prompt_tokens": [10], "output_tokens": [100]})
    outcomes = simulate(Trace.from_frame("long", frame), "fcfs", engine(kv_tokens=20)).outcomes
    assert outcomes.select("outcome", "reason", "output_tokens").row(0) == ("rejected", "kv_capacity", 11)


def test_totals_and_times_of_a_run_counted_by_hand() -> None:
    """Two requests, one iteration of 4 ms each: prompt, then two more tokens; the second one joins later."""
    frame = pl.DataFrame({"arrival": [1.0, 1.004], "prompt_tokens": [3, 2], "output_tokens": [3, 1]})
    record = simulate(Trace.from_frame("two", frame), "fcfs", engine(cost=Piecewise(0.004, 0.0)), timeline=False)
    outcomes, totals = record.outcomes, record.totals
    assert outcomes["start"].to_list() == pytest.approx([1.0, 1.004])
    assert outcomes["first_token"].to_list() == pytest.approx([1.004, 1.008])
    assert outcomes["finish"].to_list() == pytest.approx([1.012, 1.008])
    assert outcomes["largest_gap"].to_list() == pytest.approx([0.004, None], nan_ok=True)
    assert (totals.iterations, totals.decode_iterations) == (3, 2)
    assert (totals.prefill_positions, totals.decode_positions) == (5, 2)
    assert totals.kv_token_iterations == 3 + 6 + 5
    assert totals.kv_peak == 6
    assert totals.seconds == pytest.approx(0.012)
    assert totals.busy_seconds == pytest.approx(0.012)
    assert record.residence.rows() == [(0, 0, 2)]
    assert record.timeline.is_empty()
    assert (record.policy, record.engine, record.workload, record.partial) == ("fcfs", "small", "two", False)


def test_timeline_samples_queue_running_and_kv() -> None:
    record = simulate(trace(), "fcfs", engine())
    timeline = record.timeline
    assert timeline["time"].is_sorted()
    assert timeline["running"].max() == 8
    assert timeline["kv"].max() <= record.totals.kv_peak
    assert timeline["waiting"].max() > 0


def interrupted(rows: int, at: int) -> RunRecord:
    """Run a trace whose first request outlasts the rest, and press Ctrl-C when `at` requests have arrived."""

    def press(arrived: int) -> None:
        if arrived >= at:
            raise KeyboardInterrupt

    frame = pl.DataFrame(
        {
            "arrival": np.arange(rows) * 0.01,
            "prompt_tokens": np.full(rows, 10),
            "output_tokens": [7000, *[3] * (rows - 1)],
        }
    )
    return simulate(Trace.from_frame("long", frame), "fcfs", engine(kv_tokens=9000), progress=press)


def test_ctrl_c_gives_what_had_ended_and_says_so() -> None:
    record = interrupted(3000, at=1500)
    assert record.partial
    assert 1500 <= record.outcomes.height < 3000
    assert set(record.outcomes["outcome"]) == {"finished"}
    assert record.outcomes["id"][0] == 1  # the first request was still running
    assert record.totals.seconds < 30.0


def test_ctrl_c_leaves_a_record_that_can_be_measured() -> None:
    record = interrupted(3000, at=1500)
    assert record.residence["row"].max() < record.outcomes.height
    two_gaps = record.residence.filter(pl.col("left") - pl.col("joined") != 2)
    assert two_gaps.is_empty()  # each finished request had three tokens; the long one is not in it
    assert latencies(record)[0].requests == record.outcomes.height


def test_ctrl_c_with_evicted_requests_still_in_the_queue() -> None:
    def press(arrived: int) -> None:
        if arrived >= 1000:
            raise KeyboardInterrupt

    record = simulate(trace(3000), "psf", engine(kv_tokens=400), progress=press)
    outcomes = record.outcomes.filter(pl.col("outcome") == "finished")
    assert outcomes["evictions"].sum() > 0
    decoded = (
        record.residence.group_by("row")
        .agg(tokens=(pl.col("left") - pl.col("joined")).sum())
        .join(record.outcomes.with_row_index("row").cast({"row": pl.Int64}), on="row", how="left")
    )
    # Each stay emits one token by its prefill and the rest by decoding.
    missing = decoded["output_tokens"] - decoded["tokens"]
    assert missing.min() >= 1
    assert (missing - decoded["evictions"]).max() <= 1


def test_ctrl_c_before_anything_ended_is_an_empty_record() -> None:
    def press(arrived: int) -> None:
        raise KeyboardInterrupt

    frame = pl.DataFrame({"arrival": [0.0] * 2000, "prompt_tokens": [10] * 2000, "output_tokens": [5] * 2000})
    record = simulate(Trace.from_frame("burst", frame), "fcfs", engine(), progress=press)
    assert record.partial
    assert record.outcomes.is_empty()
    assert record.totals.iterations == 0
    assert record.totals.seconds == 0.0


def test_progress_counts_arrivals() -> None:
    seen: list[int] = []
    frame = pl.DataFrame({"arrival": [0.0] * 3000, "prompt_tokens": [1] * 3000, "output_tokens": [1] * 3000})
    simulate(Trace.from_frame("burst", frame), "fcfs", engine(), progress=seen.append)
    assert seen == sorted(set(seen))
    assert len(seen) >= 2
    assert max(seen) <= 3000


class Refusing(Order):
    """Never names a candidate."""

    def push(self, seq: Sequence, now: float) -> bool:
        """Forget it."""
        return False

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        return None


class Patient(Refusing):
    """Names its only candidate from 7 s on, and says so."""

    def __init__(self) -> None:
        super().__init__()
        self.seq: Sequence | None = None

    def push(self, seq: Sequence, now: float) -> bool:
        self.seq = seq
        return True

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        return self.seq if now >= 7.0 and self.seq and self.seq.start < 0 else None

    def steady_until(self, now: float) -> float:
        return 7.0 if now < 7.0 else float("inf")


def one_request() -> Trace:
    return Trace.from_frame("one", pl.DataFrame({"arrival": [2.0], "prompt_tokens": [3], "output_tokens": [2]}))


def test_an_order_that_leaves_somebody_waiting_for_ever_is_an_error() -> None:
    with pytest.raises(HeadwayError, match="leaves 1 requests waiting for ever on an empty engine"):
        simulate(one_request(), Policy.of(Refusing), engine())


def test_an_order_may_make_an_empty_engine_wait() -> None:
    record = simulate(one_request(), Policy.of(Patient), engine(cost=Piecewise(1.0, 0.0)))
    assert record.outcomes["start"].to_list() == [7.0]
    assert record.outcomes["finish"].to_list() == [9.0]
    assert record.totals.iterations == 2
    assert record.policy == "Patient"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidSpec, match="did you mean 'fcfs'"):
        simulate(one_request(), "fcf")
    with pytest.raises(InvalidEngine, match="did you mean 'qba-paper'"):
        simulate(one_request(), "fcfs", "qba-papr")
    with pytest.raises(InvalidSpec, match="no parameter 'k'"):
        simulate(one_request(), "fcfs(k=3)")


def test_the_garbage_collector_is_left_as_it_was() -> None:
    def fail(arrived: int) -> None:
        raise RuntimeError("a callback that fails")

    crowd = trace(2000)
    simulate(crowd, "fcfs", engine())
    assert gc.isenabled()
    with pytest.raises(RuntimeError, match="a callback that fails"):
        simulate(crowd, "fcfs", engine(), progress=fail)
    assert gc.isenabled()
    gc.disable()
    try:
        simulate(crowd, "fcfs", engine())
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_gap_across_two_evictions_counts_from_the_last_token() -> None:
    """Evicted again before it is filled, and run at once as nobody is left, it waits from its last token on."""
    engine = EngineProfile(
        "tight", 4, 2, 10, Piecewise(0.003, 2e-5, 64.0), decode_block=2, memory="watermark(level=1, charge=prompt)"
    )
    frame = pl.DataFrame({"arrival": [0.0] * 3, "prompt_tokens": [1] * 3, "output_tokens": [0, 11, 4]})
    outcomes = simulate(Trace.from_frame("three", frame), "fcfs", engine).outcomes
    assert outcomes["evictions"].to_list() == [0, 0, 2]
    assert outcomes["largest_gap"][2] == pytest.approx(0.009)


def test_the_steady_part_begins_after_so_many_finishes():
    trace = workload("d1(n=200)")
    runs = {after: simulate(trace, "fcfs", "past-future-table1", steady_after=after) for after in (20, 100, 1000)}
    whole = runs[20].memory
    assert whole is not None
    assert all(run.memory == whole for run in runs.values())
    early, late = runs[20].steady_memory, runs[100].steady_memory
    assert early is not None
    assert late is not None
    assert whole.decode_steps > early.decode_steps > late.decode_steps
    assert runs[1000].steady_memory is None


def test_prompts_that_begin_alike_hit_the_cache_of_an_engine_that_has_one() -> None:
    """Two thousand requests, one after the other; half of them share a block, and one in ten has no hashes."""
    rows = 2000
    frame = pl.DataFrame(
        {
            "arrival": np.arange(rows) * 10.0,
            "prompt_tokens": [100] * rows,
            "output_tokens": [1] * rows,
            "blocks": [None if row % 10 == 0 else [0 if row % 2 else row + 1] for row in range(rows)],
            "block_tokens": [80] * rows,
        }
    )
    shared = Trace.from_frame("shared", frame)
    cached, plain = simulate(shared, "fcfs", engine(prefix_cache=160)), simulate(shared, "fcfs", engine())
    hits = rows // 2 - 1
    assert (cached.totals.cached_positions, plain.totals.cached_positions) == (80 * hits, None)
    assert cached.totals.prefill_positions == plain.totals.prefill_positions - 80 * hits
    assert cached.totals.kv_peak == plain.totals.kv_peak
    assert simulate(trace(), "fcfs", engine(prefix_cache=160)).totals.cached_positions == 0
    blocks_of_512 = Trace.from_frame("mooncake", frame.drop("block_tokens"))
    assert simulate(blocks_of_512, "fcfs", engine(prefix_cache=1600)).totals.cached_positions == 0


def test_limited_requests_say_how_long_they_become() -> None:
    """Under a rule that reserves the longest answer, they leave room for others: fewer seconds in the queue."""
    trace = workload("qba-paper(n=150)", 2)
    waits = [
        simulate(trace, Policy.of("fcfs", "conservative"), "qba-paper", limited=limited).outcomes
        for limited in (False, True)
    ]
    open_, limited = ((one["start"] - one["arrival"]).mean() for one in waits)
    assert limited < 0.5 * open_
