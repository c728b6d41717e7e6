"""One policy's figures: of one run, or their means over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from headway.measure.cache import CacheUse
from headway.measure.latency import CLASSES, Latency, known_mean, latencies, mean_count, waits
from headway.measure.memory import MemoryUse
from headway.measure.promises import Service
from headway.measure.quantiles import Stats
from headway.measure.record import RunRecord
from headway.measure.refusals import Refusals
from headway.measure.sla import Sla, service
from headway.measure.tenancy import Tenancy, tenancy
from headway.measure.tenancy import to_dict as tenancy_dict


@dataclass(frozen=True)
class KvUse:
    """How full the KV cache was.

    Attributes:
        mean: mean over iterations of live tokens, as a share of the capacity.
        peak: most live tokens, as a share of the capacity (above 1 where the engine ran out).
        capacity_tokens: KV tokens that the engine holds.
        oom_events: iterations in which live tokens exceeded the capacity.
    """

    mean: float | None
    peak: float | None
    capacity_tokens: float
    oom_events: float


@dataclass(frozen=True)
class LongestWait:
    """The request that waited longest of those that were scheduled."""

    seconds: float
    id: int | str
    seed: int


@dataclass(frozen=True)
class Summary:
    """What a policy did to its requests and to the engine.

    Over several seeds every figure is a mean over the seeds (counts too), except `longest_wait`, the longest
    of all.

    Attributes:
        policy: the policy's name, unique in a comparison.
        seeds: the seeds that the figures are of.
        finished: requests that got all their tokens.
        rejected: requests turned away; these have no wait, so read the waits beside this count.
        cancelled: requests whose client left.
        wasted_tokens: prompt positions computed and tokens generated for these.
        expired: requests whose deadline passed.
        backlog: requests that were waiting when the last one arrived.
        latency: waits and latencies of all requests.
        classes: the same by true class.
        predicted: the same by predicted class.
        throughput_tokens_per_s: prompt and output tokens of finished requests a second of makespan.
        output_tokens_per_s: output tokens of finished requests a second of makespan.
        requests_per_s: finished requests a second of makespan.
        batch_use: share of the token budget used, over all iterations.
        kv: use of the KV cache.
        iterations: iterations of the engine.
        wall_seconds: time that the computation took.
        promoted: requests that the order sent ahead because they had waited long.
        longest_wait: who waited longest; None if nobody was scheduled.
        partial: a run was interrupted.
        order: spec of the order.
        memory_rule: spec of the memory rule.
        shedding_rule: spec of the shedding rule.
        eviction_rule: spec of the eviction rule.
        memory: use of KV memory until the queue was empty.
        steady_memory: the same, after the first 1000 finishes.
        sla: how the service agreement was kept; None without one.
        tenancy: what tenants and classes got; None where requests name no tenants and promise nothing.
        cache: what the prefix cache spared.
        refusals: who was turned away or demoted, why, and how soon they were told.
    """

    policy: str
    seeds: tuple[int, ...]
    finished: float
    rejected: float
    cancelled: float
    expired: float
    backlog: float
    latency: Latency
    classes: Mapping[str, Latency]
    predicted: Mapping[str, Latency]
    throughput_tokens_per_s: float | None
    output_tokens_per_s: float | None
    requests_per_s: float | None
    batch_use: float | None
    kv: KvUse
    iterations: float
    wall_seconds: float
    longest_wait: LongestWait | None
    partial: bool
    order: str = ""
    memory_rule: str = ""
    shedding_rule: str = ""
    eviction_rule: str = ""
    memory: MemoryUse | None = None
    steady_memory: MemoryUse | None = None
    sla: Service | None = None
    wasted_tokens: float = 0
    cache: CacheUse = CacheUse()  # noqa: RUF009 - it is immutable
    refusals: Refusals = Refusals({}, Stats(), 0)  # noqa: RUF009 - it is immutable
    tenancy: Tenancy | None = None
    promoted: float = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the policy's entry in `--json`: plain data, None where there is no value."""
        longest = self.longest_wait
        latency = self.latency.to_dict()
        return {
            "policy": self.order or self.policy,
            "name": self.policy,
            "requests": latency.pop("requests"),
            "finished": self.finished,
            "rejected": self.rejected,
            "cancelled": self.cancelled,
            "expired": self.expired,
            "backlog": self.backlog,
            "wasted_tokens": self.wasted_tokens,
            "promoted": self.promoted,
            "shed": self.shedding_rule,
            **self.refusals.to_dict(),
            **latency,
            "classes": {name: one.to_dict() for name, one in self.classes.items()},
            "predicted": {name: one.to_dict() for name, one in self.predicted.items()},
            "throughput_tokens_per_s": self.throughput_tokens_per_s,
            "output_tokens_per_s": self.output_tokens_per_s,
            "requests_per_s": self.requests_per_s,
            "batch_use": self.batch_use,
            "kv": {
                "mean": self.kv.mean,
                "peak": self.kv.peak,
                "capacity_tokens": self.kv.capacity_tokens,
                "oom_events": self.kv.oom_events,
            },
            "cache": self.cache.to_dict(),
            "memory": {
                "spec": self.memory_rule,
                "eviction_rule": self.eviction_rule,
                **(self.memory.to_dict() if self.memory else {}),
                "steady": self.steady_memory and self.steady_memory.to_dict(),
            },
            "sla": self.sla and self.sla.to_dict(),
            **tenancy_dict(self.tenancy),
            "iterations": self.iterations,
            "wall_seconds": self.wall_seconds,
            "longest_wait": longest and {"seconds": longest.seconds, "id": longest.id, "seed": longest.seed},
            "seeds": list(self.seeds),
            "partial": self.partial,
        }


def summarise(record: RunRecord, sla: Sla | None = None, *, itl: bool = True) -> Summary:
    """Return the figures of one run, and how it kept an agreement where there is one.

    Without `itl` the time between tokens is left out, which takes longer than all the rest.
    """
    totals = record.totals
    count = dict(record.outcomes["outcome"].value_counts().iter_rows())
    done = record.outcomes.filter(pl.col("outcome") == "finished")
    prompt, output = (int(done[name].sum()) for name in ("prompt_tokens", "output_tokens"))
    overall, by_class, by_prediction = latencies(record, itl=itl)
    positions = totals.prefill_positions + totals.decode_positions
    return Summary(
        policy=record.policy,
        seeds=(record.seed,),
        finished=done.height,
        rejected=count.get("rejected", 0),
        cancelled=count.get("cancelled", 0),
        expired=count.get("expired", 0),
        backlog=_backlog(record.outcomes),
        latency=overall,
        classes=by_class,
        predicted=by_prediction,
        throughput_tokens_per_s=_ratio(prompt + output, totals.seconds),
        output_tokens_per_s=_ratio(output, totals.seconds),
        requests_per_s=_ratio(done.height, totals.seconds),
        batch_use=_ratio(positions, totals.iterations * totals.token_budget),
        kv=KvUse(
            mean=_ratio(totals.kv_token_iterations, totals.iterations * totals.kv_capacity),
            peak=_ratio(totals.kv_peak, totals.kv_capacity),
            capacity_tokens=totals.kv_capacity,
            oom_events=totals.oom_events,
        ),
        iterations=totals.iterations,
        wall_seconds=record.wall_seconds,
        longest_wait=_longest(record),
        partial=record.partial,
        order=record.order,
        memory_rule=record.memory_rule,
        shedding_rule=record.shedding_rule,
        eviction_rule=record.eviction_rule,
        memory=record.memory,
        steady_memory=record.steady_memory,
        sla=None if sla is None else service(record, sla),
        wasted_tokens=totals.wasted_tokens,
        cache=CacheUse.of(totals),
        refusals=Refusals.of(record),
        tenancy=tenancy(record, sla),
        promoted=totals.promoted,
    )


def over_seeds(summaries: Sequence[Summary]) -> Summary:
    """Return the means over seeds of one policy's figures, with 95 % intervals in each `Stats`.

    One summary is returned as it is: one seed has no interval over seeds.
    """
    if len(summaries) == 1:
        return summaries[0]

    def mean(name: str) -> float | None:
        return known_mean([getattr(one, name) for one in summaries])

    def count(name: str) -> float:
        return mean_count([getattr(one, name) for one in summaries])

    longest = [one.longest_wait for one in summaries if one.longest_wait is not None]
    return Summary(
        policy=summaries[0].policy,
        seeds=tuple(seed for one in summaries for seed in one.seeds),
        finished=count("finished"),
        rejected=count("rejected"),
        cancelled=count("cancelled"),
        expired=count("expired"),
        backlog=count("backlog"),
        latency=Latency.over_seeds([one.latency for one in summaries]),
        classes=_classes_over_seeds([one.classes for one in summaries]),
        predicted=_classes_over_seeds([one.predicted for one in summaries]),
        throughput_tokens_per_s=mean("throughput_tokens_per_s"),
        output_tokens_per_s=mean("output_tokens_per_s"),
        requests_per_s=mean("requests_per_s"),
        batch_use=mean("batch_use"),
        kv=KvUse(
            mean=known_mean([one.kv.mean for one in summaries]),
            peak=known_mean([one.kv.peak for one in summaries]),
            capacity_tokens=mean_count([one.kv.capacity_tokens for one in summaries]),
            oom_events=mean_count([one.kv.oom_events for one in summaries]),
        ),
        iterations=count("iterations"),
        wall_seconds=math.fsum(one.wall_seconds for one in summaries) / len(summaries),
        longest_wait=max(longest, key=lambda one: one.seconds, default=None),
        partial=any(one.partial for one in summaries),
        order=summaries[0].order,
        memory_rule=summaries[0].memory_rule,
        shedding_rule=summaries[0].shedding_rule,
        eviction_rule=summaries[0].eviction_rule,
        memory=_uses([one.memory for one in summaries]),
        steady_memory=_uses([one.steady_memory for one in summaries]),
        sla=Service.over_seeds([one.sla for one in summaries]),
        wasted_tokens=count("wasted_tokens"),
        cache=CacheUse.over_seeds([one.cache for one in summaries]),
        refusals=Refusals.over_seeds([one.refusals for one in summaries]),
        tenancy=Tenancy.over_seeds([one.tenancy for one in summaries]),
        promoted=count("promoted"),
    )


def _uses(uses: Sequence[MemoryUse | None]) -> MemoryUse | None:
    known = [use for use in uses if use is not None]
    return MemoryUse.over_seeds(known) if known else None


def _classes_over_seeds(seeds: Sequence[Mapping[str, Latency]]) -> dict[str, Latency]:
    """Average each class over the seeds that have it."""
    return {
        name: Latency.over_seeds([classes[name] for classes in seeds if name in classes])
        for name in CLASSES
        if any(name in classes for classes in seeds)
    }


def _backlog(outcomes: pl.DataFrame) -> int:
    """Return how many requests had arrived and were neither scheduled nor ended when the last one arrived."""
    last = pl.col("arrival").max()
    return outcomes.filter(pl.min_horizontal("start", "finish") > last).height


def _longest(record: RunRecord) -> LongestWait | None:
    """Return who waited longest; of several, who came first."""
    wait = waits(record.outcomes)
    if np.isnan(wait).all():
        return None
    row = int(np.nanargmax(wait))
    return LongestWait(float(wait[row]), record.outcomes["id"][row], record.seed)


def _ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None
