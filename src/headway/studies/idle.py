"""Can an agreement be kept at all? Every request alone on an idle engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.measure.latency import seconds
from headway.measure.promises import kept
from headway.measure.sla import Sla
from headway.simulate.run import simulate
from headway.studies.samples import Sample
from headway.workload.trace import Trace

APART = 1e4  # seconds from one request to the next, so that none meets another
_LATEST = 1e9  # seconds, within what a trace may have


def check_idle(stretches: Sequence[Sample], engine: EngineProfile, sla: Sla, bound: float) -> None:
    """Refuse an agreement that an idle engine breaks for more requests than it may.

    Raises:
        InvalidInput: it does; the line names a request and the limit that it breaks most.
    """
    broken = requests = 0
    worst: tuple[float, str] = (0.0, "")
    for stretch in stretches:
        trace = stretch.trace()
        record = simulate(_alone(trace), "fcfs", engine, seed=stretch.seed, timeline=False)
        outcomes = record.outcomes
        met = kept(record, sla.promise)
        broken, requests = broken + int((~met).sum()), requests + met.size
        if not met.all():
            worst = max(worst, _worst(outcomes.filter(~met), sla), key=lambda one: one[0])
    if broken > (1 - bound) * requests:
        raise InvalidInput(
            f"the agreement {sla} cannot be kept: an idle {engine.name} breaks it for {broken:,} of {requests:,} "
            f"requests, and --attain {bound:g} lets it do so for {(1 - bound) * requests:,.0f}; {worst[1]}; allow more "
            "time or take a faster engine"
        )


def _alone(trace: Trace) -> Trace:
    """Return the requests so far apart that each finds an idle engine."""
    apart = min(APART, _LATEST / len(trace))
    arrivals = pl.Series("arrival", np.arange(len(trace)) * apart)
    return Trace.from_frame(trace.name, trace.frame.with_columns(arrivals), trace.notes)


def _worst(outcomes: pl.DataFrame, sla: Sla) -> tuple[float, str]:
    """Return how many times over its limit the worst of the requests is, and the words for it."""
    arrival, first, finish, gap = (
        seconds(outcomes, name) for name in ("arrival", "first_token", "finish", "largest_gap")
    )
    taken = {
        "ttft": (first - arrival, sla.ttft, "to its first token"),
        "mtpot": (gap, sla.mtpot, "between two tokens"),
        "e2e": (finish - arrival, sla.e2e, "to its last token"),
    }
    never = outcomes.filter(pl.col("outcome") != "finished")
    if never.height:
        row = never.row(0, named=True)
        why = f"request {row['id']} ({row['prompt_tokens']:,} prompt tokens) is {row['outcome']}"
        return float("inf"), why + (f" ({row['reason']})" if row["reason"] else "")
    found: list[tuple[float, str]] = []
    for name, (times, limit, words) in taken.items():
        if limit is None or np.isnan(times).all():
            continue
        at = int(np.nanargmax(times))
        row = outcomes.row(at, named=True)
        tokens = f"{row['prompt_tokens']:,} prompt and {row['output_tokens']:,} output tokens"
        text = f"request {row['id']} ({tokens}) takes {times[at]:.3g} s {words}, and {name} allows {limit:g} s"
        found.append((float(times[at] / limit), text))
    return max(found, key=lambda one: one[0])
