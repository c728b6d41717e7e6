"""Waits and latencies of a run, over all requests and by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from headway.measure.gaps import MAX_PIECES, pooled_gaps
from headway.measure.quantiles import Stats
from headway.measure.record import RunRecord

CLASSES = ("short", "long")
"""The classes that requests are told apart by, true and predicted."""

MEASURES = ("wait", "ttft", "itl", "e2e", "mtpot")
"""The measures of a `Latency`, in order."""


@dataclass(frozen=True)
class Latency:
    """How long a group of requests waited, in seconds.

    Attributes:
        requests: requests in the group (over several seeds: mean over the seeds).
        wait: arrival to first scheduled, of all that were ever scheduled (a rejected request has no wait).
        ttft: arrival to first token, of all that got one.
        itl: time between two successive token deliveries, pooled over all deliveries of the group.
        e2e: arrival to the end, of finished requests.
        mtpot: largest gap between two deliveries of a request, of all that got two.
    """

    requests: float
    wait: Stats
    ttft: Stats
    itl: Stats
    e2e: Stats
    mtpot: Stats

    @classmethod
    def over_seeds(cls, latencies: Sequence[Latency]) -> Latency:
        """Average over seeds."""
        return cls(
            mean_count([one.requests for one in latencies]),
            *(Stats.over_seeds([getattr(one, measure) for one in latencies]) for measure in MEASURES),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return `{"requests": n, "wait": {…}, "ttft": {…}, …}`."""
        return {"requests": self.requests} | {measure: getattr(self, measure).to_dict() for measure in MEASURES}


def mean_count(counts: Sequence[float]) -> float:
    """Return the mean, as an int where it is whole: so it reads like the count of one seed."""
    mean = math.fsum(counts) / len(counts)
    return int(mean) if mean.is_integer() else mean


def known_mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that there are; None without any."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def waits(outcomes: pl.DataFrame) -> np.ndarray:
    """Return start less arrival of every request, seconds [requests]; NaN if it was never scheduled."""
    return seconds(outcomes, "start") - seconds(outcomes, "arrival")


def latencies(record: RunRecord, *, itl: bool = True) -> tuple[Latency, dict[str, Latency], dict[str, Latency]]:
    """Return the latencies of all requests, by true class and by predicted class.

    A class that no request has is left out; so are predictions that are numbers of tokens.
    Without `itl` that measure has no values.
    """
    outcomes = record.outcomes
    groups: list[tuple[str, str, np.ndarray]] = [("", "", np.ones(outcomes.height, dtype=bool))]
    for column in ("true_class", "predicted"):
        for name in CLASSES:
            member = (outcomes[column].cast(pl.String) == name).fill_null(value=False).to_numpy()
            if member.any():
                groups.append((column, name, member))

    found = latencies_of(record, [member for *_, member in groups], itl=itl)
    by_column: dict[str, dict[str, Latency]] = {"": {}, "true_class": {}, "predicted": {}}
    for (column, name, _), one in zip(groups, found, strict=True):
        by_column[column][name] = one
    return by_column[""][""], by_column["true_class"], by_column["predicted"]


def latencies_of(record: RunRecord, groups: Sequence[np.ndarray], *, itl: bool = True) -> list[Latency]:
    """Return the latencies of groups of requests, each a mask over the rows of the outcomes, bool [requests].

    With more than ten groups ITL is told from fewer pieces; see `pooled_gaps`. Without `itl` that measure has
    no values.
    """
    outcomes = record.outcomes
    arrival = seconds(outcomes, "arrival")
    finished = (outcomes["outcome"] == "finished").to_numpy()
    wait = waits(outcomes)
    ttft = seconds(outcomes, "first_token") - arrival
    e2e = np.where(finished, seconds(outcomes, "finish") - arrival, np.nan)
    largest = seconds(outcomes, "largest_gap")
    gaps = [Stats()] * len(groups)
    if itl:
        pieces = MAX_PIECES // max(1, len(groups) // 10)
        gaps = pooled_gaps(record.segments, record.residence, record.stray, groups, pieces)
    return [
        Latency(
            requests=int(member.sum()),
            wait=Stats.of(wait[member]),
            ttft=Stats.of(ttft[member]),
            itl=between,
            e2e=Stats.of(e2e[member]),
            mtpot=Stats.of(largest[member]),
        )
        for member, between in zip(groups, gaps, strict=True)
    ]


def seconds(outcomes: pl.DataFrame, column: str) -> np.ndarray:
    """Return a column as float64 [requests], NaN for null."""
    return outcomes[column].to_numpy()
