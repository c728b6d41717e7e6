"""compare: which policy should I run, and what will it do to my users?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import product
from typing import Any

import polars as pl

from headway.core.engine import EngineProfile, preset
from headway.core.errors import InvalidInput
from headway.core.rules import Order
from headway.core.spec import parse_spec
from headway.measure.comparison import Comparison, ComparisonBuilder
from headway.measure.record import RunRecord
from headway.measure.sla import Sla
from headway.policies.order.quota_aging import QuotaAging
from headway.policies.policy import Policy
from headway.simulate.run import simulate
from headway.studies.source import Source
from headway.workload.tenants import TenantsFile
from headway.workload.trace import Trace

DEFAULT_POLICIES = ("fcfs", "psf", "aa", "qba")
DEFAULT_ENGINE = "a100-llama3-8b"
HOME_ENGINES = {"qba-paper": "qba-paper"}
"""Engines that a named workload was made for."""


def compare(
    source: Source | Trace | TenantsFile | str,
    policies: Sequence[str | type[Order] | Policy] = DEFAULT_POLICIES,
    engine: str | EngineProfile | None = None,
    *,
    memory: Sequence[str] = (),
    evict: Sequence[str] = (),
    sla: Sla | None = None,
    seeds: Sequence[int] = (0,),
    journal: bool = False,
    command: str | None = None,
    progress: Callable[[float], None] | None = None,
    each: Callable[[RunRecord], None] | None = None,
) -> Comparison:
    """Run every policy on the same requests, and set the results side by side.

    Args:
        source: a trace, a tenants file, the spec of a named workload, or a `Source` with what is to be done to them.
        policies: specs, classes of own orders, or policies.
        engine: an engine or the name of a preset; by default the one a named workload was made for, or
            `a100-llama3-8b`.
        memory: specs of memory rules, each to be combined with every policy; none takes the engine's.
        evict: specs of eviction rules, combined likewise; none takes last-admitted.
        sla: what every request was promised.
        seeds: a workload is drawn once for each, and every policy gets the same requests (paired).
        journal: keep in every record what kept waiting requests out.
        command: what repeats this comparison, for the report.
        progress: told now and then the share that is done, in 0..1.
        each: given every run's record as it comes.

    Returns:
        Figures for each policy, paired differences, and the whole first run. After Ctrl-C it is marked as partial.

    Raises:
        InvalidInput: a policy, engine, workload or parameter cannot be what it says.
    """
    source = source if isinstance(source, Source) else Source(source)
    chosen = _combined(policies, memory, evict)
    _check_names(chosen)
    profile = engine_for(source, engine)
    runs = list(seeds) if source.seeded or profile.jitter > 0 else list(seeds)[:1]
    if not runs:
        raise InvalidInput("seeds must name at least one seed")
    first = source.requests(runs[0])
    notes = [*first.notes, source.labels, *_quota_notes(chosen, first)]
    if len(runs) < len(list(seeds)):
        notes.append("A trace without label errors or jitter is the same under every seed: it was run once.")
    builder = ComparisonBuilder(_settings(source, first, chosen, profile, runs, command, sla), notes, sla)
    total = len(runs) * len(chosen)
    done = 0
    try:
        for seed in runs:
            trace = first if seed == runs[0] else source.requests(seed)
            for policy in chosen:
                record = simulate(
                    trace,
                    policy,
                    profile,
                    seed=seed,
                    timeline=seed == runs[0],
                    watch_future=bool(memory),
                    journal=journal,
                    progress=_share_of(progress, done, total, len(trace)),
                )
                builder.add(record)
                if each is not None:
                    each(record)
                if record.partial:
                    raise KeyboardInterrupt  # noqa: TRY301 - one end for all interruptions
                done += 1
    except KeyboardInterrupt:
        if not builder.has_runs:
            raise
    if done < total:
        builder.note(f"Interrupted: {done} of {total} runs were complete.")
    return builder.build(partial=done < total)


def engine_for(source: Source, engine: str | EngineProfile | None) -> EngineProfile:
    """Return the engine that was asked for, or the default one of the source."""
    if isinstance(engine, EngineProfile):
        return engine
    if engine is not None:
        return preset(engine)
    name = parse_spec(source.origin).name if isinstance(source.origin, str) else ""
    return preset(HOME_ENGINES.get(name, DEFAULT_ENGINE))


def _combined(
    policies: Sequence[str | type[Order] | Policy], memory: Sequence[str], evict: Sequence[str]
) -> list[Policy]:
    """Return every policy with every memory and eviction rule, named by what tells them apart."""
    chosen: list[Policy] = []
    for policy in policies:
        if isinstance(policy, Policy):
            chosen.append(policy)
            continue
        for rule, victims in product(memory or (None,), evict or ("last-admitted",)):
            made = Policy.of(policy, rule, eviction=victims)
            parts = zip((made.name, made.memory, made.eviction), (policies, memory, evict), strict=True)
            varied = [str(part) for part, specs in parts if len(specs) > 1]
            chosen.append(replace(made, name=" + ".join(varied) or made.name))
    return chosen


def _check_names(policies: Sequence[Policy]) -> None:
    names = [policy.name for policy in policies]
    if not names:
        raise InvalidInput("name at least one policy to compare")
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"policy '{name}' is named twice; name each once")


def _quota_notes(policies: Sequence[Policy], trace: Trace) -> list[str]:
    """Say on which side of the ratio of short to long requests each quota lies; that decides how QBA behaves."""
    predicted = trace.frame["predicted"]
    longs = int((predicted == "long").sum()) if predicted.dtype == pl.String else 0
    if not longs:
        return []
    ratio = int((predicted == "short").sum()) / longs
    notes: list[str] = []
    for policy in policies:
        order = policy.order()
        if isinstance(order, QuotaAging):
            side = (
                "below it, so that promotions can keep up with long requests, as in aggressive ageing"
                if order.k < ratio
                else "not below it, so that promotions cannot keep up with long requests, as in predicted short first"
            )
            notes.append(f"{policy.name}: {ratio:.1f} short requests come for each long one; k = {order.k} is {side}.")
    return notes


def _settings(
    source: Source,
    first: Trace,
    policies: Sequence[Policy],
    engine: EngineProfile,
    seeds: Sequence[int],
    command: str | None,
    sla: Sla | None,
) -> dict[str, Any]:
    return {
        "headway": version("headway"),
        "command": command,
        "workload": source.origin if isinstance(source.origin, str) else source.origin.name,
        "engine": engine.name,
        "policies": [policy.name for policy in policies],
        "memory": list(dict.fromkeys(str(policy.memory_on(engine)) for policy in policies)),
        "evict": list(dict.fromkeys(str(policy.eviction) for policy in policies)),
        "sla": None if sla is None else str(sla),
        "requests": len(first),
        "rate_per_s": first.rate,
        "length_factor": source.length_factor,
        "epsilon_sl": source.epsilon_sl,
        "epsilon_ls": source.epsilon_ls,
        "seeds": list(seeds),
    }


def _share_of(
    progress: Callable[[float], None] | None, done: int, total: int, requests: int
) -> Callable[[int], None] | None:
    if progress is None:
        return None
    return lambda arrived: progress((done + arrived / requests) / total)
