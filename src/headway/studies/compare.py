"""compare: which policy should I run, and what will it do to my users?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from itertools import product
from typing import Any

import polars as pl

from headway.core.engine import EngineProfile, preset
from headway.core.errors import InvalidInput, expect
from headway.core.rules import Order
from headway.core.spec import parse_spec
from headway.measure.comparison import Comparison, ComparisonBuilder
from headway.measure.life import most_evicted
from headway.measure.record import RunRecord
from headway.measure.sla import Sla
from headway.policies.order.quota_aging import QuotaAging
from headway.policies.policy import Policy
from headway.policies.shares import Shares
from headway.simulate.run import checked_clients, simulate
from headway.studies.runs import Run, run_all, useful_seeds
from headway.studies.source import Source
from headway.workload.tenants import TenantsFile
from headway.workload.trace import Trace
from headway.workload.traces import SeededTrace

DEFAULT_POLICIES = ("fcfs", "psf", "aa", "qba")
DEFAULT_ENGINE = "a100-llama3-8b"
HOME_ENGINES = {"qba-paper": "qba-paper"} | dict.fromkeys(("d1", "d2", "d3", "o1-like"), "past-future-table1")
"""Engines that a named workload was made for."""


def compare(
    source: Source | Trace | SeededTrace | TenantsFile | str,
    policies: str | type[Order] | Policy | Sequence[str | type[Order] | Policy] = DEFAULT_POLICIES,
    engine: str | EngineProfile | None = None,
    *,
    memory: str | Sequence[str] = (),
    evict: str | Sequence[str] = (),
    shed: str | Sequence[str] = (),
    shares: Shares | None = None,
    sla: str | Sla | None = None,
    clients: int | None = None,
    patience: float | None = None,
    seeds: Sequence[int] = (0,),
    follow: bool = False,
    journal: bool = False,
    command: str | None = None,
    progress: Callable[[float], None] | None = None,
    each: Callable[[RunRecord], None] | None = None,
) -> Comparison:
    """Run every policy on the same requests, and set the results side by side.

    Args:
        source: a trace, a seeded trace, a tenants file, the spec of a named workload, or a `Source` with what is to
            be done to them.
        policies: one or several: specs, classes of own orders, or policies.
        engine: an engine or the name of a preset; by default the one a named workload was made for, or
            `a100-llama3-8b`.
        memory: one or several specs of memory rules, each to be combined with every policy; none takes the engine's.
        evict: specs of eviction rules, combined likewise; none takes last-admitted.
        shed: specs of shedding rules, combined likewise; none keeps everybody.
        shares: what every policy guarantees beside its order.
        sla: what every request was promised, as an `Sla` or a text such as "ttft=10,mtpot=1.5".
        clients: that send the requests in their order, each its next one when its last one has ended; the arrival
            times of the source are then ignored. None takes them.
        patience: seconds without a token after which a client leaves and its request is cancelled; None for ever.
        seeds: a workload or seeded trace is drawn once for each, and every policy gets the same requests (paired).
        follow: run the first seed once more where a request was evicted, to note the memory of the one that was
            evicted most often; the report draws it.
        journal: keep in every record what kept waiting requests out.
        command: what repeats this comparison, for the report.
        progress: told now and then the share that is done, in 0..1.
        each: given every run's record as it comes.

    Returns:
        Figures for each policy, paired differences, and the whole first run. After Ctrl-C it is marked as partial.

    Raises:
        InvalidInput: a policy, engine, workload or parameter cannot be what it says; clients together with a rate.
    """
    source = source if isinstance(source, Source) else Source(source)
    clients, patience = checked_clients(clients, patience)
    if clients is not None and source.rate is not None:
        raise InvalidInput(
            f"clients = {clients} and rate = {source.rate:g} exclude each other: clients send when an answer "
            "has ended; give one of the two"
        )
    rules = _several("memory", memory, "a memory rule or several, such as 'past-future'")
    victims = _several("evict", evict, "an eviction rule or several, such as 'least-computed'")
    orders = _several("policies", policies, "a policy or several, such as ['fcfs', 'qba(k=3)']")
    doomed = _several("shed", shed, "a shedding rule or several, such as 'reject'")
    chosen = combined(orders, rules, victims, doomed, shares)
    check_names(chosen)
    profile = engine_for(source, engine)
    agreement = sla if sla is None or isinstance(sla, Sla) else Sla.parse(sla)
    asked = _several("seeds", seeds, "several seeds: range(3) for three of them, [3] for seed 3")
    drawn = source.seeded or profile.jitter > 0 or any(policy.draws(profile) for policy in chosen)
    runs, once = useful_seeds(asked, drawn=drawn)
    first = source.requests(runs[0])
    notes = [*first.notes, *_client_notes(clients, patience), source.labels, *_quota_notes(chosen, first)]
    notes += [*promise_notes(chosen, first), *once]
    settings = _settings(source, first, chosen, profile, runs, command, agreement, clients, patience)
    builder = ComparisonBuilder(settings, notes, agreement)
    run = partial(
        simulate, engine=profile, watch_future=bool(rules), clients=clients, patience=patience, journal=journal
    )

    def prepared() -> Iterator[Run]:
        for seed in runs:
            trace = first if seed == runs[0] else source.requests(seed)
            for policy in chosen:
                yield partial(run, trace, policy, seed=seed, timeline=seed == runs[0])

    def take(record: RunRecord) -> None:
        builder.add(record)
        if each is not None:
            each(record)

    total = len(runs) * len(chosen)
    made = run_all(prepared(), take, total=total, requests=len(first), progress=progress)
    if made.interrupted:
        builder.note(f"Interrupted: {made.runs} of {total} runs were complete.")
    comparison = builder.build(partial=made.interrupted)
    worst = most_evicted(comparison.first) if follow and not made.interrupted else None
    if worst is None:
        return comparison
    name, row = worst
    policy = next(policy for policy in chosen if policy.name == name)
    record = run(first, policy, seed=runs[0], follow=row)
    return replace(comparison, first={**comparison.first, name: record})


def engine_for(source: Source, engine: str | EngineProfile | None) -> EngineProfile:
    """Return the engine that was asked for, or the default one of the source."""
    if engine is not None:
        return engine if isinstance(engine, EngineProfile) else preset(engine)
    name = parse_spec(source.origin).name if isinstance(source.origin, str) else ""
    return preset(HOME_ENGINES.get(name, DEFAULT_ENGINE))


def _several(name: str, given: Any, expected: str) -> list[Any]:
    """Return what was given as a list: one policy or rule is a list of one.

    Raises:
        InvalidInput: it is neither one nor several.
    """
    if isinstance(given, str | type | Policy):
        return [given]
    expect(name, given, Iterable, expected)
    return list(given)


def combined(
    policies: Sequence[str | type[Order] | Policy],
    memory: Sequence[str],
    evict: Sequence[str],
    shed: Sequence[str],
    shares: Shares | None,
) -> list[Policy]:
    """Return every policy with every memory, eviction and shedding rule, named by what tells them apart."""
    chosen: list[Policy] = []
    for policy in policies:
        if isinstance(policy, Policy):
            chosen.append(policy)
            continue
        for rule, victims, doomed in product(memory or (None,), evict or ("last-admitted",), shed or ("keep",)):
            made = Policy.of(policy, rule, doomed, victims, shares)
            rules = (made.name, made.memory, made.eviction, made.shedding)
            parts = zip(rules, (policies, memory, evict, shed), strict=True)
            varied = [str(part) for part, specs in parts if len(specs) > 1]
            chosen.append(replace(made, name=" + ".join(varied) or made.name))
    return chosen


def check_names(policies: Sequence[Policy]) -> None:
    """Refuse no policy at all, and two of one name.

    Raises:
        InvalidInput: there is none, or a name is there twice.
    """
    names = [policy.name for policy in policies]
    if not names:
        raise InvalidInput("name at least one policy")
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"policy '{name}' is named twice; name each once")


def _client_notes(clients: int | None, patience: float | None) -> list[str]:
    """Say where arrivals come from and who leaves, where that is not the trace's to say."""
    notes: list[str] = []
    if clients is not None:
        who = "One client sends" if clients == 1 else f"{clients:,} clients send"
        notes.append(
            f"Arrival times are the clients' own: {who} the requests in their order, each the next one at the moment "
            "at which the last one has ended. The rate is then an outcome."
        )
    if patience is not None:
        notes.append(
            f"A client that hears nothing for {patience:g} s leaves, and its request is cancelled: neither the first "
            "token, nor the next one after an eviction or while decodes are paused."
        )
    return notes


def promise_notes(policies: Sequence[Policy], trace: Trace) -> list[str]:
    """Say it where a shedding rule looks at promises and there are none."""
    idle = sorted({policy.shedding.name for policy in policies} & {"reject", "demote"})
    promises = [trace.frame[name] for name in ("ttft_slo", "completion_slo") if name in trace.frame.columns]
    if not idle or any(promise.is_not_null().any() for promise in promises):
        return []
    return [
        f"No request was promised its first or last token by any time, so {' and '.join(idle)} "
        + ("names" if len(idle) == 1 else "name")
        + " nobody; a service agreement only judges. Promises are columns of a trace (ttft_slo, completion_slo) or "
        "keys of a tenants file."
    ]


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


def _common_rules(policies: Sequence[Policy], engine: EngineProfile) -> list[str]:
    """Return what holds for every policy beside its order and is not the default, as it is asked for: `shed reject`."""

    def all_have(name: str, usual: str, of: Callable[[Policy], object]) -> list[str]:
        texts = {str(of(policy)) for policy in policies}
        return [f"{name} {text}" for text in texts if len(texts) == 1 and text != usual]

    return [
        *all_have("memory", str(parse_spec(engine.memory)), lambda policy: policy.memory_on(engine)),
        *all_have("evict", "last-admitted", lambda policy: policy.eviction),
        *all_have("shed", "keep", lambda policy: policy.shedding),
        *all_have("prefill-share", "0", lambda policy: f"{float(policy.shares.prefill):g}"),
        *all_have("pools", "None", lambda policy: policy.shares.pools and f"{float(policy.shares.pools):g}"),
        *all_have("reserve", "None", lambda policy: policy.shares.reserve),
    ]


def _settings(
    source: Source,
    first: Trace,
    policies: Sequence[Policy],
    engine: EngineProfile,
    seeds: Sequence[int],
    command: str | None,
    sla: Sla | None,
    clients: int | None,
    patience: float | None,
) -> dict[str, Any]:
    return {
        "headway": version("headway"),
        "command": command,
        "workload": source.origin if isinstance(source.origin, str) else source.origin.name,
        "engine": engine.name,
        "policies": [policy.name for policy in policies],
        "memory": list(dict.fromkeys(str(policy.memory_on(engine)) for policy in policies)),
        "evict": list(dict.fromkeys(str(policy.eviction) for policy in policies)),
        "shed": list(dict.fromkeys(str(policy.shedding) for policy in policies)),
        "prefill_share": max((float(policy.shares.prefill) for policy in policies), default=0.0),
        "pools": next((float(policy.shares.pools) for policy in policies if policy.shares.pools is not None), None),
        "reserve": next((str(policy.shares.reserve) for policy in policies if policy.shares.reserve), None),
        "rules": _common_rules(policies, engine),
        "sla": None if sla is None else str(sla),
        "clients": clients,
        "patience": patience,
        "requests": len(first),
        "rate_per_s": first.rate if clients is None else None,
        "length_factor": source.length_factor,
        "epsilon_sl": source.epsilon_sl,
        "epsilon_ls": source.epsilon_ls,
        "seeds": list(seeds),
    }
