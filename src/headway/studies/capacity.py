"""capacity: how much does one engine hold under each policy, and how many engines hold this load?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.core.spec import number
from headway.measure.capacity import PRECISION, Capacity, Held, RatePoint, Replicas, bracket
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.policies.shares import Shares
from headway.studies.cells import Cell, Row, run_cells
from headway.studies.compare import check_names, combined, engine_for, promise_notes
from headway.studies.fewest import fewest_replicas
from headway.studies.idle import check_idle
from headway.studies.limits import limit_of
from headway.studies.replicas import rates_for
from headway.studies.samples import Sample, processes, samples
from headway.studies.source import Source
from headway.workload.named import nominal_rate
from headway.workload.tenants import TenantsFile
from headway.workload.trace import Trace
from headway.workload.traces import SeededTrace

WINDOWS, LEAST_WINDOWS = 8, 2
LONG = 500  # requests of a window: shorter ones are over before a queue has grown
ATTAIN = 0.99

GRID = (0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25)
"""Rates that are run first, as shares of what the engine can compute."""

DOWN, UP = 0.6, 1.4
"""Factors by which the grid is continued where it lies wholly above the capacity, or below."""

MOST_FURTHER = 10
"""Rates by which it is continued at the most."""

SHORT = 20.0
"""Stretches that are shorter than so many times the agreement's limits are said to be short."""

_ATTAINED = "sla.attainment"


def capacity(
    source: Source | Trace | SeededTrace | TenantsFile | str,
    sla: str | Sla,
    policies: str | Sequence[str] = ("fcfs",),
    engine: str | EngineProfile | None = None,
    *,
    attain: float = ATTAIN,
    memory: str | Sequence[str] = (),
    shed: str | Sequence[str] = (),
    shares: Shares | None = None,
    windows: int = WINDOWS,
    seed: int = 0,
    command: str | None = None,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Capacity:
    """Find the highest rate that one engine holds under each policy, and the fewest engines for the rate of the source.

    Args:
        source: as in `compare`; its rate is that for which replicas are counted.
        sla: the agreement.
        policies: one or several specs.
        engine: as in `compare`.
        attain: share of all requests that must finish and get what was agreed.
        memory: as in `compare`.
        shed: as in `compare`.
        shares: as in `compare`.
        windows: windows of a trace, or seeds of a workload; fewer where a trace is short.
        seed: of the first stretch of a workload.
        command: what repeats this study, for the report.
        workers: processes; None for one a core.
        progress: told now and then the share that is done, in 0..1, about.

    Returns:
        A rate, what limits it, and a number of replicas for each policy. After Ctrl-C it is marked as partial.

    Raises:
        InvalidInput: something cannot be what it says, not even an idle engine keeps the agreement, or the requests
            have no rate.
        KeyboardInterrupt: interrupted before every policy was run at the first rates.
    """
    source = source if isinstance(source, Source) else Source(source)
    agreement = sla if isinstance(sla, Sla) else Sla.parse(sla)
    bound = number("attain", attain, 0, 1, open_low=True)
    profile = engine_for(source, engine)
    chosen = combined([policies] if isinstance(policies, str) else policies, memory, (), shed, shares)
    check_names(chosen)
    _check_arrivals(source, seed)
    stretches = samples(source, windows, seed, least=LEAST_WINDOWS, size=LONG)
    whole = source.requests(seed)
    rate = _rate(source, whole)
    size = len(stretches[0].trace())
    check_idle(stretches, profile, agreement, bound)
    search = _Rates(source, chosen, profile, agreement, bound, len(stretches), size, seed, workers, progress)
    asked = search.at(rate)  # as one engine's: a rate of a workload is the one that it is drawn with
    partial, replicas = False, dict[str, Replicas]()
    limits: dict[str, Any] = {}
    try:
        computed = _computed(whole, profile)
        search.grid(computed)
        search.refine()
        for policy in chosen:
            edge = bracket(search.points(policy), bound)
            if edge.high is not None:
                limits[policy.name] = limit_of(search.worst(policy, edge.high), policy, profile, agreement, edge.high)
            guess = math.ceil(rate / edge.low) if edge.low else 1
            replicas[policy.name] = fewest_replicas(
                asked, policy, profile, agreement, bound, rate=rate, computed=computed, guess=guess
            )
    except KeyboardInterrupt:
        if not search.begun:
            raise
        partial = True
    held = tuple(
        Held(
            policy.name,
            tuple(search.points(policy)),
            bound,
            limits.get(policy.name),
            replicas.get(policy.name),
        )
        for policy in chosen
    )
    settings = {
        "headway": version("headway"),
        "command": command,
        "workload": source.origin if isinstance(source.origin, str) else source.origin.name,
        "engine": profile.name,
        "policies": [policy.name for policy in chosen],
        "sla": str(agreement),
        "attain": bound,
        "requests": size,
        "rate_per_s": rate,
        "stretches": len(stretches),
        "traffic": "windows" if isinstance(source.origin, Trace) else "seeds",
        "precision": PRECISION,
        "seed": seed,
    }
    notes = (*promise_notes(chosen, whole), *_notes(whole, held, agreement, settings))
    return Capacity(settings, held, notes, partial)


class _Rates:
    """Runs of every policy at one rate after the other, on the same stretches of traffic."""

    def __init__(
        self,
        source: Source,
        policies: Sequence[Policy],
        engine: EngineProfile,
        sla: Sla,
        bound: float,
        count: int,
        requests: int,
        seed: int,
        workers: int | None,
        progress: Callable[[float], None] | None,
    ) -> None:
        self.source, self.policies, self.engine, self.sla, self.bound = source, policies, engine, sla, bound
        self.count, self.seed, self.workers, self.progress = count, seed, workers, progress
        self.kept: dict[str, dict[float, tuple[float, ...]]] = {policy.name: {} for policy in policies}
        self.done = 0
        self.requests = requests
        self.about = len(policies) * count * (len(GRID) + 5)

    @property
    def begun(self) -> bool:
        """Whether every policy was run at some rate."""
        return all(self.kept.values())

    def points(self, policy: Policy) -> list[RatePoint]:
        """Return what was run of a policy, by rate."""
        return [RatePoint(rate, kept) for rate, kept in sorted(self.kept[policy.name].items())]

    def at(self, rate: float) -> list[Sample]:
        """Return the stretches of traffic at a rate."""
        return samples(replace(self.source, rate=rate), self.count, self.seed, least=LEAST_WINDOWS, size=1)

    def worst(self, policy: Policy, rate: float) -> Sample:
        """Return the stretch in which least was kept at a rate that was run."""
        kept = self.kept[policy.name][rate]
        return self.at(rate)[kept.index(min(kept))]

    def grid(self, computed: float) -> None:
        """Run all policies from rates that any should hold to rates that none should."""
        self.run([(policy, computed * share) for share in GRID for policy in self.policies])
        for _ in range(MOST_FURTHER):
            further: list[tuple[Policy, float]] = []
            for policy in self.policies:
                edge, rates = bracket(self.points(policy), self.bound), list(self.kept[policy.name])
                if edge.low is None:
                    further.append((policy, min(rates) * DOWN))
                elif edge.high is None:
                    further.append((policy, max(rates) * UP))
            if not further:
                return
            self.run(further)

    def refine(self) -> None:
        """Halve the gap in which each policy stops to hold, until it is small."""
        while True:
            middles = [(policy, bracket(self.points(policy), self.bound).middle) for policy in self.policies]
            wanted = [(policy, middle) for policy, middle in middles if middle is not None]
            if not wanted:
                return
            self.run(wanted)

    def run(self, wanted: Sequence[tuple[Policy, float]]) -> None:
        """Run policies at rates."""
        stretches = {rate: self.at(rate) for rate in dict.fromkeys(rate for _, rate in wanted)}
        asked = [
            (policy, rate, stretch)
            for rate, some in stretches.items()
            for stretch in some
            for policy, its in wanted
            if its == rate
        ]
        rows: dict[int, Row] = {}

        def take(place: int, row: Row) -> None:
            rows[place] = row
            self.done += 1
            if self.progress is not None:
                self.progress(min(self.done / self.about, 1.0))

        cells = [Cell(s.source, s.seed, policy, self.engine, self.sla) for policy, _, s in asked]
        run_cells(cells, workers=processes(len(cells), self.requests, self.workers), each=take)
        for policy, rate in wanted:
            places = [place for place, (one, its, _) in enumerate(asked) if one is policy and its == rate]
            self.kept[policy.name][rate] = tuple(rows[place][_ATTAINED] or 0.0 for place in places)


def _check_arrivals(source: Source, seed: int) -> None:
    """Refuse requests that all arrive at once.

    Raises:
        InvalidInput: they do. A rate helps a workload, which is drawn with it, but not what has its own arrivals.
    """
    drawn = isinstance(source.origin, str)
    trace = (source if drawn else replace(source, rate=None)).requests(seed)
    if trace.span > 0:
        return
    many = "its one request gives no rate" if len(trace) == 1 else f"all {len(trace):,} requests arrive at once"
    remedy = "give a rate (--rate)" if drawn and len(trace) > 1 else "no --rate can spread them"
    if len(trace) == 1:
        remedy = "give more requests"
    raise InvalidInput(f"{trace.name}: {many}, and capacity needs arrivals over time; {remedy}")


def _rate(source: Source, whole: Trace) -> float:
    """Return the requests/s that are asked about; of a workload those that it names, whatever one seed came to."""
    named = nominal_rate(source.origin) if isinstance(source.origin, str) else None
    return source.rate or named or whole.rate


def _computed(trace: Trace, engine: EngineProfile) -> float:
    """Return the requests a second that a busy engine computes, about."""
    prompt, output = (float(trace.frame[name].mean()) for name in ("prompt_tokens", "output_tokens"))  # type: ignore[arg-type]
    return 1 / float(rates_for(trace, engine).seconds(prompt, output))


def _notes(whole: Trace, held: Sequence[Held], sla: Sla, settings: dict[str, Any]) -> list[str]:
    told = list(whole.notes)
    for one in held:
        again = one.bracket.again
        if again is not None:
            told.append(
                f"{one.policy}: attainment does not fall steadily with the rate; it holds again at {again:.3g} "
                "requests/s. What counts is the first rate at which it breaks."
            )
    told += [
        f"{one.policy}: at {one.limit.rate:.3g} requests/s {one.limit.kv_peak * 100:.0f} % of the KV memory are in "
        "use, more than there is, and the engine cannot evict: a real one fails there. Try another --memory."
        for one in held
        if one.limit is not None and one.limit.kv_peak > 1
    ]
    limits = [limit for limit in (sla.ttft, sla.mtpot, sla.e2e) if limit is not None]
    rates = [one.rate for one in held if one.rate is not None]
    if rates and settings["requests"] / max(rates) < SHORT * max(limits):
        told.append(
            f"At {max(rates):.3g} requests/s a stretch lasts {settings['requests'] / max(rates):,.0f} s, and starts "
            f"with an idle engine: an overload of a few per cent needs longer to break a limit of {max(limits):g} s. A "
            "longer trace, or fewer windows, would find less."
        )
    return told
