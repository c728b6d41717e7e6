"""What is short when an agreement breaks? The requests that broke it, put down to what was in their way."""

from __future__ import annotations

from collections import defaultdict

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
        "prompt compute",
        "a faster engine, shorter prompts or a prefix cache; a larger token_budget only if iterations may take longer",
    ),
    "slots": ("slots", "more sequences at once (max_sequences), if memory and the time between tokens allow it"),
    "partials": (
        "prompt prefill, one at a time",
        "more partly filled prompts at once (partial_prompts), a faster engine",
    ),
    "prefill": (
        "prompt prefill",
        "a share for prompts (--prefill-share), a faster engine",
    ),
    "iteration": (
        "iteration time",
        "a smaller token_budget, or fewer sequences at once",
    ),
    "decode": ("decode speed", "fewer sequences at once, or a faster engine"),
    "order": ("the order of the queue", "another order: headway tune"),
    "interval": ("the admission interval", "rounds of admission more often"),
    "demoted": ("the queue of demoted requests", "more replicas, or fewer requests"),
}
"""What was in the way → what is short, and what would move it, beside the cap on chunks (`_move`)."""

CHUNK = 256
"""Cap that is advised where there is none and the budget is large."""

SMALL_CHUNK = 32
"""Cap from which down a smaller one is not advised: a prompt then takes longer than it spares others."""

WORDS = {
    "memory": "waiting for KV memory",
    "evictions": "being evicted",
    "budget": "waiting while prompts of others filled the iterations",
    "slots": "waiting for a slot",
    "partials": "waiting while another prompt was filled",
    "prefill": "filling the prompt",
    "iteration": "in iterations that took too long",
    "decode": "decoding",
    "order": "waiting by the order's own choice",
    "interval": "waiting for a round of admission",
    "demoted": "waiting behind all others",
}
"""What was in the way, in a sentence on where time went."""

_BROKE = {
    "ttft": "missed ttft",
    "mtpot": "missed mtpot",
    "e2e": "missed e2e",
    "turned away": "were turned away",
    "not finished": "did not finish",
}

WORTH_SAYING = 0.1

_QUEUES = ("memory", "budget", "slots", "partials")
"""What requests wait for in a queue."""

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

    The time that made each request late is put down to what took it: if its first token was late, the causes of its
    wait and the filling of its prompt; if a gap was too long, an eviction or the time of iterations; if only its end
    was late, decoding too.

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
    spent: dict[str, float] = defaultdict(float)
    for row in looked.tolist():
        for cause, share in _causes(record, row, sla).items():
            spent[cause] += share / looked.size
    causes = dict(sorted(spent.items(), key=lambda one: -one[1]))
    main = next(iter(causes))
    totals = record.totals
    positions = totals.prefill_positions + totals.decode_positions
    resource, move = RESOURCES[main][0], _move(main, policy, engine)
    at_limit = _at_limit(record)
    pressed = 1 - at_limit.get("open", 0.0)
    if main in _QUEUES and pressed < SPARE:
        resource = f"bursts, on {resource}"
        move = (
            f"{move}; nothing is at its limit {_percent(1 - pressed)} of the time: smoother arrivals or more replicas"
        )
    return Limit(
        resource=resource,
        because=_because(limits, causes),
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


def _move(main: str, policy: Policy, engine: EngineProfile) -> str:
    """Return what would move a limit: where the cap on chunks would, with a value beside the one that holds now."""
    budget, move = engine.token_budget, RESOURCES[main][1]
    cap = min(policy.order().chunk_cap or budget, engine.chunk_cap or budget, budget)
    capped = cap < budget
    if main == "prefill" and capped:
        return f"a larger cap on chunks ({min(2 * cap, budget)} positions instead of {cap}), {move}"
    if main != "iteration" or cap <= SMALL_CHUNK:
        return move
    if capped:
        return f"a smaller cap on chunks ({cap // 2} positions instead of {cap}), {move}"
    return f"a cap on chunks, as in combined(chunk={min(CHUNK, budget // 2)}), {move}"


def _at_limit(record: RunRecord) -> dict[str, float]:
    """Return what kept a waiting request out, or would have → share of the time, most first."""
    if record.journal is None or record.journal.notes["barrier"].is_empty():
        return {"open": 1.0}
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


def _causes(record: RunRecord, row: int, sla: Sla) -> dict[str, float]:
    """Return what was in the way of one request → share of the time that made it late."""
    one = record.outcomes.row(row, named=True)
    arrival, end = one["arrival"], one["finish"]
    start = end if one["start"] is None else one["start"]
    first = end if one["first_token"] is None else one["first_token"]
    late = first - arrival > (sla.ttft or np.inf) or one["first_token"] is None
    if not late and (one["largest_gap"] or 0.0) > (sla.mtpot or np.inf):
        return {"evictions" if one["evictions"] else "iteration": 1.0}
    spent: dict[str, float] = defaultdict(float)  # seconds
    spent["prefill"] = first - start
    if not late:
        spent["decode"] = end - first
    if record.journal is not None and start > arrival:
        blame = Blame(record.journal, row)
        blame.look(arrival, start)
        for (cause, _), part in blame.parts(start - arrival).items():
            spent[_OF_WAIT[cause]] += part
    whole = sum(spent.values())
    return {cause: part / whole for cause, part in spent.items() if part > 0} if whole > 0 else {"iteration": 1.0}


def _because(limits: dict[str, float], causes: dict[str, float]) -> str:
    """Return what shows it, as a part of a sentence."""
    if len(limits) == 1 and min(limits.values()) == 1:
        broken = f"those that broke it {_BROKE[next(iter(limits))]}"
    else:
        told = " and ".join(f"{_percent(share)} {_BROKE[limit]}" for limit, share in limits.items())
        broken = f"of those that broke it {told}"
    shown = [(cause, share) for cause, share in causes.items() if share >= WORTH_SAYING] or [*causes.items()][:1]
    parts = " and ".join(f"{_percent(share)} {WORDS[cause]}" for cause, share in shown)
    return f"{broken}; of the time that made them late they spent {parts}"


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"
