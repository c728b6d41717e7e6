"""Which requests got what they were promised: the one judge of agreements and of requests' own promises.

A request keeps its promises if it finished and met each limit that it has; one without promises needs only to finish.

- `ttft`: arrival to first token. A finished request without any token is not late with it.
- `itl`: no token comes later than its deadline, the first token's time plus n times the limit for the n-th token after
  it. A slow token is forgiven where earlier ones were fast enough, as a reader who reads at that pace sees it; the mean
  between tokens would also forgive a stall that later tokens make up for. Tokens that are delivered together are as
  late as the first of them. Source: Deadline-Aware Batching and Tenant Fairness.
- `mtpot`: largest gap between two deliveries; with fewer than two there is none to be late with.
- `e2e`: arrival to the last token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway.measure.clock import ROUNDING, DecodeClock
from headway.measure.gaps import cut
from headway.measure.latency import known_mean, seconds
from headway.measure.record import PROMISES, RunRecord
from headway.measure.spans import places

_BATCH = 1_000_000  # deliveries that are looked at together

Limit = float | np.ndarray


@dataclass(frozen=True)
class Promise:
    """Limits in seconds, one for all requests or one a request [n]; NaN where nothing is promised."""

    ttft: Limit = np.nan
    itl: Limit = np.nan
    mtpot: Limit = np.nan
    e2e: Limit = np.nan


@dataclass(frozen=True)
class Service:
    """How promises were kept.

    Attributes:
        attainment: share of all requests that finished and met every promise.
        goodput_tokens_per_s: prompt and output tokens of those, a second of makespan.
    """

    attainment: float | None
    goodput_tokens_per_s: float | None

    @classmethod
    def of(cls, record: RunRecord, met: np.ndarray, among: np.ndarray | None = None) -> Service:
        """Sum up whose promises were met, bool [requests]; `among` takes a group of requests, all by default.

        Source: Past-Future (ASPLOS 2025), goodput under an SLA.
        """
        among = np.ones(met.size, dtype=bool) if among is None else among
        good = record.outcomes.filter(met & among)
        tokens = int(good["prompt_tokens"].sum()) + int(good["output_tokens"].sum())
        requests, makespan = int(among.sum()), record.totals.seconds
        return cls(
            attainment=good.height / requests if requests else None,
            goodput_tokens_per_s=tokens / makespan if makespan > 0 else None,
        )

    @classmethod
    def over_seeds(cls, services: Sequence[Service | None]) -> Service | None:
        """Average each figure over the seeds that have it."""
        known = [one for one in services if one is not None]
        if not known:
            return None
        return cls(
            known_mean([one.attainment for one in known]), known_mean([one.goodput_tokens_per_s for one in known])
        )

    def to_dict(self) -> dict[str, float | None]:
        """Return the figures as in `--json`."""
        return {"attainment": self.attainment, "goodput_tokens_per_s": self.goodput_tokens_per_s}


def own_promises(outcomes: pl.DataFrame) -> Promise | None:
    """Return what the requests themselves were promised; None where no request was promised anything."""
    if all(outcomes[name].null_count() == outcomes.height for name in PROMISES):
        return None
    ttft, itl, completion = (seconds(outcomes, name) for name in PROMISES)
    return Promise(ttft=ttft, itl=itl, e2e=completion)


def kept(record: RunRecord, promise: Promise) -> np.ndarray:
    """Return which requests finished and met every limit, bool [requests].

    Without a log of the run's work (`RunRecord.work`) an `itl` limit is held against the last token alone.
    """
    outcomes = record.outcomes
    arrival, first, finish = (seconds(outcomes, name) for name in ("arrival", "first_token", "finish"))
    met = (outcomes["outcome"] == "finished").to_numpy()
    met &= ~(first - arrival > promise.ttft)  # with NaN on either side nothing is late
    met &= ~(seconds(outcomes, "largest_gap") > promise.mtpot)
    met &= ~(finish - arrival > promise.e2e)
    itl = np.broadcast_to(promise.itl, met.shape)
    if not np.isnan(itl).all():
        rest = outcomes["output_tokens"].to_numpy() - 1
        met &= ~(finish - first > rest * itl + ROUNDING)
        met &= ~_late(record, itl, met)
    return met


def _late(record: RunRecord, itl: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return whose tokens came after their deadlines, of those that are asked for, bool [requests]."""
    late = np.zeros(asked.size, dtype=bool)
    work = record.work
    if work is None:
        return late
    first = seconds(record.outcomes, "first_token")
    largest = np.nan_to_num(seconds(record.outcomes, "largest_gap"))
    doubtful = asked & (largest > itl)  # whoever never waited longer was never late

    back = work.returns.filter(doubtful[work.returns["row"].to_numpy()])
    row = back["row"].to_numpy()
    late[row[back["time"].to_numpy() > first[row] + back["before"].to_numpy() * itl[row] + ROUNDING]] = True

    stays = work.stays.filter(doubtful[work.stays["row"].to_numpy()]).filter(pl.col("left") > pl.col("joined"))
    row, joined, left, before, _ = (stays[name].to_numpy() for name in stays.columns)
    segments = cut(record.segments, np.concatenate((joined, left)))
    clock = DecodeClock(segments)
    # Within a segment gaps lie on a line that does not fall, so that a pace is exceeded most at one of its ends.
    begins, ends = segments.clock + 1, segments.clock + segments.steps
    begin_times, end_times = clock.times(begins), segments.end
    enter, leave = np.searchsorted(segments.clock, joined), np.searchsorted(segments.clock, left)
    for part in _batches(leave - enter):
        of = np.repeat(np.arange(part.start, part.stop), leave[part] - enter[part])
        index = places(enter[part], leave[part])
        for iteration, time in ((begins, begin_times), (ends, end_times)):
            tokens = before[of] + work.block * (iteration[index] - joined[of] - 1)
            over = time[index] > first[row[of]] + tokens * itl[row[of]] + ROUNDING
            late[row[of[over]]] = True
    return late


def _batches(sizes: np.ndarray) -> list[slice]:
    """Return slices of successive entries whose sizes add up to about `_BATCH` at most."""
    if not sizes.size:
        return []
    number = (np.cumsum(sizes) - sizes) // _BATCH
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    return [slice(int(a), int(b)) for a, b in zip(starts, [*starts[1:], sizes.size], strict=True)]
