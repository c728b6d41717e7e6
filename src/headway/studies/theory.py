"""theory: the queueing model's numbers taken from runs, and its curves beside the simulator's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl

from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.core.spec import Spec, parameters, parse_spec
from headway.measure.intervals import Interval, mean_interval
from headway.measure.modelled import POINT_SCHEMA, POLICIES, Excess, Modelled
from headway.measure.residence import residence_figures
from headway.policies.memory import MEMORY_RULES
from headway.policies.policy import Policy
from headway.studies.cells import Cell, Row, run_cells
from headway.studies.compare import engine_for
from headway.studies.runs import useful_seeds
from headway.studies.source import Source
from headway.theory import PromotedFraction, Service, TwoClasses, Waits, effective_parallelism, servers_for_wait
from headway.workload.named import NAMED
from headway.workload.tenants import TenantsFile
from headway.workload.trace import Trace
from headway.workload.traces import SeededTrace

STEPS = 32
"""The paper's rates in requests/s, and its reference load. Other workloads are run at as many 32nds of their rate."""

CALIBRATED = 30
PROMOTED = (25, 27, 29, 31, 33)
COMPARED = (*range(25, 35), 36, 38, 40)
AGEING = ("aa", "qba")

_POISSON = (0.8, 1.25)  # squared coefficients of variation that a few thousand Poisson arrivals may show


@dataclass(frozen=True)
class Calibration:
    """What the model has to be told, all of it from runs.

    Attributes:
        rate: requests/s of the FCFS runs that the service times are of.
        short_share: share of the requests that is predicted short.
        short: their time in the engine, from start to finish.
        long: that of the others.
        tokens: mean of prompt and output tokens.
        wait: mean wait of these FCFS runs, seconds.
        slots: requests that the engine can decode at once.
        kv_tokens: KV tokens that may be taken by its memory rule.
        fitted: servers with which the model has that wait; None where nobody waited.
        fitted_interval: 95 % interval of that number over seeds; None with one seed.
        promoted: policy → pairs of rate and promoted fraction.
    """

    rate: float
    short_share: float
    short: Service
    long: Service
    tokens: float
    wait: float
    slots: int
    kv_tokens: float
    fitted: float | None
    fitted_interval: Interval | None
    promoted: Mapping[str, tuple[tuple[float, float], ...]]

    @property
    def service(self) -> Service:
        """Time in the engine of all requests."""
        return Service.mixed((self.short_share, 1 - self.short_share), (self.short, self.long))

    @property
    def parallelism(self) -> float:
        """Servers that slots and memory count for, not rounded."""
        return effective_parallelism(self.slots, self.kv_tokens, self.tokens)

    @property
    def literal(self) -> int:
        """The same as the paper has it: the whole part; at least 1."""
        return max(1, math.floor(self.parallelism))

    @property
    def servers(self) -> dict[str, float]:
        """The numbers of servers that are tried, by name."""
        literal = {"literal": float(self.literal)}
        return literal if self.fitted is None else literal | {"fitted": self.fitted}

    def traffic(self, rate: float, servers: float) -> TwoClasses:
        """Return the model's two classes at a rate (requests/s)."""
        return TwoClasses(rate, self.short_share, self.short, self.long, servers)

    def waits(self, policy: str, rate: float, servers: float) -> Waits:
        """Return the model's mean waits under one of the four policies at a rate (requests/s)."""
        traffic = self.traffic(rate, servers)
        if policy in self.promoted:
            per_rho = self.service.mean / servers
            return PromotedFraction.measured([(at * per_rho, phi) for at, phi in self.promoted[policy]]).waits(traffic)
        return traffic.fcfs() if policy == "fcfs" else traffic.psf()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: seconds, shares, numbers of servers."""
        return {
            "rate": self.rate,
            "short_share": self.short_share,
            "service": {
                name: {"mean": of.mean, "scv": of.scv}
                for name, of in (("all", self.service), ("short", self.short), ("long", self.long))
            },
            "tokens_per_request": self.tokens,
            "wait": self.wait,
            "decode_slots": self.slots,
            "kv_tokens": self.kv_tokens,
            "parallelism": self.parallelism,
            "servers": self.servers,
            "fitted_ci95": self.fitted_interval and self.fitted_interval.to_list(),
            "promoted": {
                policy: [{"rate": rate, "fraction": phi} for rate, phi in points]
                for policy, points in self.promoted.items()
            },
        }


def calibrate(
    fcfs: Sequence[Row], rate: float, promoted: Mapping[str, Mapping[float, Sequence[Row]]], engine: EngineProfile
) -> Calibration:
    """Take the model's numbers from rows of `residence_figures`.

    Args:
        fcfs: one row a seed, under FCFS at `rate` requests/s.
        rate: see there.
        promoted: policy → rate → one row a seed.
        engine: what the runs are of; its memory rule's level limits the KV tokens.

    Raises:
        InvalidInput: requests of one class only.
    """
    counts = {name: sum(_value(row, f"{name}.requests") for row in fcfs) for name in ("short", "long")}
    if not all(counts.values()):
        raise InvalidInput("the model needs requests of both predicted classes, and no request that finished is of one")
    fits = [fit for row in fcfs if (fit := _fit([row], rate)) is not None]
    interval = mean_interval(fits)
    return Calibration(
        rate=rate,
        short_share=counts["short"] / (counts["short"] + counts["long"]),
        short=_service(fcfs, "short"),
        long=_service(fcfs, "long"),
        tokens=_pooled(fcfs, "tokens", "requests"),
        wait=_pooled(fcfs, "wait", "requests"),
        slots=engine.slots,
        kv_tokens=_level(parse_spec(engine.memory)) * engine.kv_capacity,
        fitted=_fit(fcfs, rate),
        fitted_interval=None if interval is None or len(fits) < len(fcfs) else interval.within(0.0),
        promoted={
            policy: tuple(
                (at, sum(_value(row, "promoted") for row in rows) / sum(_value(row, "long.requests") for row in rows))
                for at, rows in by_rate.items()
            )
            for policy, by_rate in promoted.items()
        },
    )


def explain(
    source: Source | Trace | SeededTrace | TenantsFile | str,
    engine: str | EngineProfile | None = None,
    *,
    seeds: Sequence[int] = (0,),
    workers: int | None = None,
    command: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Modelled:
    """Calibrate the model on runs of a workload, and set its mean waits beside those of the simulator.

    The rates are those of Quota-Based Aging, IV-A5, in 32nds of the source's rate: service times from FCFS at 30/32,
    promoted fractions from AA and QBA at 25, 27, …, 33, and all four policies from 25 to 40.

    Args:
        source: as in `compare`; its rate is that of the source or, without one, the workload's own.
        engine: an engine or the name of a preset; by default as in `compare`.
        seeds: a workload is drawn once for each.
        workers: processes; by default one a core.
        command: what repeats this study, for the report.
        progress: told now and then the share that is done, in 0..1.

    Raises:
        InvalidInput: an engine, workload or parameter cannot be what it says, or there are no two classes.
        KeyboardInterrupt: interrupted before the runs of any seed were complete.
    """
    source = source if isinstance(source, Source) else Source(source)
    profile = engine_for(source, engine)
    chosen, notes = useful_seeds(seeds, drawn=source.seeded or profile.jitter > 0)
    if len(set(chosen)) < len(chosen):
        raise InvalidInput(f"seeds {list(seeds)}: one is there twice; name each once")
    first = source.requests(chosen[0])
    reference = own_rate(source, first)
    _check_queue(first, reference)
    rates = {step: reference * step / STEPS for step in COMPARED}
    keys = [(seed, step, policy) for seed in chosen for step in COMPARED for policy in POLICIES]
    at = {step: _at_rate(source, rate) for step, rate in rates.items()}
    cells = [Cell(at[step], seed, Policy.of(policy), profile, measure=residence_figures) for seed, step, policy in keys]
    rows: dict[tuple[int, int, str], Row] = {}
    interrupted = False
    try:
        run_cells(cells, workers=workers, progress=progress, each=lambda place, row: rows.update({keys[place]: row}))
    except KeyboardInterrupt:
        interrupted = True
        chosen = [seed for seed in chosen if all((seed, step, policy) in rows for step in rates for policy in POLICIES)]
        if not chosen:
            raise
        notes.append(f"Interrupted: the runs of {len(chosen)} of {len(seeds)} seeds were complete.")

    def of(step: int, policy: str) -> list[Row]:
        return [rows[seed, step, policy] for seed in chosen]

    found = calibrate(
        of(CALIBRATED, "fcfs"),
        rates[CALIBRATED],
        {policy: {rates[step]: of(step, policy) for step in PROMOTED} for policy in AGEING},
        profile,
    )
    if found.fitted is None:
        notes.append(
            f"Nobody waits at {found.rate:.3g} requests/s, so no number of servers can be fitted; choose a higher "
            "--rate."
        )
    simulated = {(rates[step], policy): of(step, policy) for step in rates for policy in POLICIES}
    return Modelled(
        settings=_settings(source, first, reference, profile, chosen, command),
        calibration=found.to_dict(),
        points=_points(found, simulated),
        aa_over_fcfs=tuple(_excess(rate, of(step, "aa"), of(step, "fcfs")) for step, rate in rates.items()),
        partial=interrupted,
        notes=(*first.notes, *_arrival_notes(first), *notes),
    )


def _check_queue(first: Trace, rate: float) -> None:
    """Refuse requests of which the model can say nothing, before anything is run.

    Raises:
        InvalidInput: they have no rate, or are all of one predicted class.
    """
    if not math.isfinite(rate):
        raise InvalidInput(
            f"{first.name}: all requests arrive at once, and a queue in balance needs arrivals over time; no --rate "
            "can spread them, give another trace"
        )
    classes = first.frame["predicted"]
    if classes.dtype == pl.String and classes.n_unique() < 2:
        raise InvalidInput(
            f"{first.name}: all requests are predicted {classes[0]}, and the model compares two classes; give requests "
            "whose answers differ in length, or a column 'predicted' that has both"
        )


def own_rate(source: Source, first: Trace) -> float:
    """Return the rate of a source, requests/s: the one it is scaled to, a workload's own, or that of its requests."""
    if source.rate is not None:
        return source.rate
    if isinstance(source.origin, str):
        spec = parse_spec(source.origin)
        options = parameters(NAMED[spec.name])
        if "rate" in options:
            return float(spec.arguments.get("rate", options["rate"].default))
    return first.rate


def _at_rate(source: Source, rate: float) -> Source:
    return replace(source, rate=rate)


def _points(found: Calibration, simulated: Mapping[tuple[float, str], Sequence[Row]]) -> pl.DataFrame:
    """Return the rows of `Modelled.points`."""
    points: list[tuple[object, ...]] = []
    for name, servers in found.servers.items():
        for (rate, policy), rows in simulated.items():
            waits = found.waits(policy, rate, servers)
            means = [_value(row, "wait") for row in rows]
            interval = mean_interval(means)
            points.append(
                (
                    name,
                    rate,
                    policy,
                    found.traffic(rate, servers).together.rho,
                    waits.mean,
                    waits.short,
                    waits.long,
                    math.fsum(means) / len(means),
                    interval and max(interval.low, 0.0),
                    interval and interval.high,
                    _pooled(rows, "short.wait", "short.requests"),
                    _pooled(rows, "long.wait", "long.requests"),
                )
            )
    return pl.DataFrame(points, schema=POINT_SCHEMA, orient="row")


def _excess(rate: float, aa: Sequence[Row], fcfs: Sequence[Row]) -> Excess:
    apart = [_value(one, "wait") - _value(other, "wait") for one, other in zip(aa, fcfs, strict=True)]
    return Excess(rate, math.fsum(apart) / len(apart), mean_interval(apart))


def _fit(rows: Sequence[Row], rate: float) -> float | None:
    """Return the servers with which the model has the wait of these FCFS runs; None where nobody waited."""
    wait = _pooled(rows, "wait", "requests")
    if wait == 0:
        return None
    shares = [sum(_value(row, f"{name}.requests") for row in rows) for name in ("short", "long")]
    service = Service.mixed(shares, (_service(rows, "short"), _service(rows, "long")))
    return servers_for_wait(rate, service, wait)


def _service(rows: Sequence[Row], name: str) -> Service:
    """Return the pooled moments of a predicted class."""
    count = f"{name}.requests"
    return Service(_pooled(rows, f"{name}.service", count), _pooled(rows, f"{name}.second", count))


def _pooled(rows: Sequence[Row], name: str, count: str) -> float:
    """Return the mean over the requests of all rows, of which each has the mean over its own."""
    total = math.fsum(_value(row, count) for row in rows)
    parts = math.fsum(_value(row, count) * _value(row, name) for row in rows if row[count])
    return parts / total if total else math.nan


def _value(row: Row, name: str) -> float:
    value = row[name]
    return math.nan if value is None else value


def _level(memory: Spec) -> float:
    """Return the share of the KV cache that a memory rule lets requests take at the most."""
    options = {name: option.default for name, option in parameters(MEMORY_RULES[memory.name]).items()}
    options |= memory.arguments
    if "reserve" in options:
        return 1.0 - float(options["reserve"])
    return float(options.get("safety", options.get("level", 1.0)))


def _arrival_notes(trace: Trace) -> list[str]:
    """Say it where arrivals are not what the model takes them for."""
    gaps = np.diff(trace.frame["arrival"].to_numpy())
    scv = float(gaps.var() / gaps.mean() ** 2) if gaps.size and gaps.mean() > 0 else 1.0
    if _POISSON[0] <= scv <= _POISSON[1]:
        return []
    off = "short" if scv > 1 else "long"
    note = (
        f"The gaps between arrivals have a squared coefficient of variation of {scv:.2g}. The model takes Poisson "
        f"arrivals, which have 1, and so expects waits that are too {off}."
    )
    return [note]


def _settings(
    source: Source, first: Trace, reference: float, engine: EngineProfile, seeds: Sequence[int], command: str | None
) -> dict[str, Any]:
    return {
        "headway": version("headway"),
        "command": command,
        "workload": source.origin if isinstance(source.origin, str) else source.origin.name,
        "engine": engine.name,
        "policies": list(POLICIES),
        "requests": len(first),
        "rate_per_s": reference,
        "length_factor": source.length_factor,
        "seeds": list(seeds),
    }
