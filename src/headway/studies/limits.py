"""What is short when an agreement breaks? The requests that broke it, put down to what was in their way."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import polars as pl

from headway.core.engine import EngineProfile
from headway.core.journal import BARRIERS
from headway.measure.blame import Blame
from headway.measure.capacity import Limit
from headway.measure.latency import seconds
from headway.measure.promises import kept
from headway.measure.record import RunRecord
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.simulate.run import simulate
from headway.studies.samples import Sample

MOST = 200
"""Requests that are looked at, evenly among those that broke the agreement."""

SPARE = 0.7
"""Share of the time at its limit below which a resource is not short all the time: then bursts break the agreement."""

RESOURCES = {
    "memory": ("KV memory", "more KV memory, a bolder --memory rule (headway frontier), or shorter answers"),
    "evictions": ("KV memory", "more KV memory, or a more careful --memory rule (headway frontier)"),
    "budget": (
        "prompt compute (prompts fill the token budget)",
        "a faster engine, shorter prompts or a prefix cache; a larger token_budget only if iterations may take longer",
    ),
    "slots": ("slots (max_sequences)", "more sequences at once, if memory and the time between tokens allow it"),
    "partials": (
        "prompt prefill, one after the other (partial_prompts)",
        "more partly filled prompts, a faster engine",
    ),
    "prefill": ("prompt prefill", "a share of the positions for prompts (--prefill-share), a faster engine"),
    "iteration": (
        "iteration time (decodes beside prompts)",
        "a cap on chunks, as in combined(chunk=256), a smaller token_budget, or fewer sequences at once",
    ),
    "decode": ("decode speed", "fewer sequences at once, or a faster engine"),
    "order": ("the order of the queue", "another order: headway tune"),
    "interval": ("the admission interval", "rounds of admission more often"),
    "demoted": ("queue: demoted requests wait behind all others", "more replicas, or fewer requests"),
}
"""What was in the way → what is short, and what would move it."""

_BARRIERS = {
    "memory": ("memory", "eviction"),
    "budget": ("budget", "fit"),
    "slots": ("slots",),
    "partials": ("partials",),
}
"""What was in the way → names of the journal's barriers that say so."""

_OF_WAIT = {
    "refused": "memory",
    "memory": "memory",
    "eviction": "memory",
    "budget": "budget",
    "fit": "budget",
    "partials": "partials",
    "slots": "slots",
    "decode_slots": "slots",
    "order": "order",
    "interval": "interval",
    "demoted": "demoted",
    "boundary": "iteration",
}
"""Causes of a wait (`measure.why.CAUSES`) → what was in the way."""


def limit_of(sample: Sample, policy: Policy, engine: EngineProfile, sla: Sla, rate: float) -> Limit | None:
    """Run a stretch of traffic and say what is short; None where every request got what was agreed.

    Each request that broke the agreement is put down to one thing: to what its wait was mostly spent behind, if it
    waited longer than it took to fill its prompt and the first token was late; to an eviction, or to the time of
    iterations, if a gap was too long; to the longest part of its time, if the end was late.

    Args:
        sample: what arrives.
        policy: what is run.
        engine: it runs on.
        sla: the agreement.
        rate: requests/s, to be told.
    """
    record = simulate(sample.trace(), policy, engine, seed=sample.seed, timeline=False, journal=True)
    outcomes, broken = record.outcomes, ~kept(record, sla.promise)
    if not broken.any():
        return None
    limits = _limits(outcomes, broken, sla)
    rows = np.flatnonzero(broken)
    if limits.get("turned away", 0.0) > 0.5:  # they did not wait; whoever was let in shows what for
        wait = np.nan_to_num(seconds(outcomes, "start") - seconds(outcomes, "arrival"))
        rows = np.argsort(-wait, kind="stable")[: rows.size]
    looked = rows[np.linspace(0, rows.size - 1, min(MOST, rows.size)).astype(int)]
    counted = Counter(_cause(record, int(row), sla) for row in looked)
    causes = {cause: many / looked.size for cause, many in counted.most_common()}
    main = next(iter(causes))
    totals = record.totals
    positions = totals.prefill_positions + totals.decode_positions
    resource, move = RESOURCES[main]
    at_limit = _at_limit(record)
    pressed = sum(at_limit.get(name, 0.0) for name in _BARRIERS.get(main, ()))
    if main in _BARRIERS and pressed < SPARE:
        resource = f"bursts, on {resource}"
        move = f"{move}; it is at its limit {pressed:.0%} of the time, so smoother arrivals or more replicas too"
    return Limit(
        resource=resource,
        because=_because(limits, causes, main),
        move=move,
        rate=rate,
        broken=float(broken.mean()),
        limits=limits,
        causes=causes,
        at_limit=at_limit,
        busy=totals.busy_seconds / totals.seconds if totals.seconds else 1.0,
        batch=positions / (totals.iterations * totals.token_budget) if totals.iterations else 0.0,
        kv_peak=totals.kv_peak / totals.kv_capacity,
    )


def _at_limit(record: RunRecord) -> dict[str, float]:
    """Return what kept a waiting request out, or would have → share of the time, most first."""
    if record.journal is None:
        return {}
    notes = record.journal.notes["barrier"]
    end = max(float(record.outcomes["finish"].max()), float(notes["time"][-1]))  # type: ignore[arg-type]
    held = np.diff(np.append(notes["time"].to_numpy(), end))
    what = notes["what"].to_numpy()
    total = held.sum()
    shares = {name: float(held[what == code].sum() / total) for code, name in enumerate(BARRIERS) if total > 0}
    return dict(sorted(((name, share) for name, share in shares.items() if share), key=lambda one: -one[1]))


def _limits(outcomes: pl.DataFrame, broken: np.ndarray, sla: Sla) -> dict[str, float]:
    """Return which limits were broken by what share of those who broke one, most first."""
    some = outcomes.filter(broken)
    arrival, first, finish, gap = (seconds(some, name) for name in ("arrival", "first_token", "finish", "largest_gap"))
    state = some["outcome"]
    over = {
        "ttft": first - arrival > (sla.ttft or np.inf),
        "mtpot": gap > (sla.mtpot or np.inf),
        "e2e": finish - arrival > (sla.e2e or np.inf),
        "turned away": (state == "rejected").to_numpy(),
        "not finished": (~state.is_in(["finished", "rejected"])).to_numpy(),
    }
    over["e2e"] &= ~over["turned away"]
    shares = {name: float(which.mean()) for name, which in over.items() if which.any()}
    return dict(sorted(shares.items(), key=lambda one: -one[1]))


def _cause(record: RunRecord, row: int, sla: Sla) -> str:
    """Return what was in the way of one request."""
    one = record.outcomes.row(row, named=True)
    arrival, end = one["arrival"], one["finish"]
    start = end if one["start"] is None else one["start"]
    first = end if one["first_token"] is None else one["first_token"]
    late = first - arrival > (sla.ttft or np.inf) or one["first_token"] is None
    spent = {"wait": start - arrival, "prefill": first - start}
    if not late:
        if (one["largest_gap"] or 0.0) > (sla.mtpot or np.inf):
            return "evictions" if one["evictions"] else "iteration"
        spent["decode"] = end - first
    longest = max(spent, key=lambda part: spent[part])
    if longest != "wait" or record.journal is None:
        return longest
    blame = Blame(record.journal, row)
    blame.look(arrival, start)
    behind: dict[str, float] = defaultdict(float)  # seconds
    for (cause, _), part in blame.parts(start - arrival).items():
        behind[_OF_WAIT[cause]] += part
    return max(behind, key=lambda cause: behind[cause], default="iteration")


def _because(limits: dict[str, float], causes: dict[str, float], main: str) -> str:
    """Return what shows it, as a sentence."""
    names = ", ".join(f"{name} for {share:.0%}" for name, share in limits.items())
    words = {
        "prefill": "most of the time to the first token went into filling the prompt",
        "iteration": "iterations were too long",
        "decode": "most of the time went into decoding",
        "evictions": "they were evicted",
    }.get(main, f"they waited mostly for {RESOURCES[main][0]}")
    return f"of the requests that broke the agreement ({names}), {words} for {causes[main]:.0%}"
