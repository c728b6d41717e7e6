"""Stretches of traffic that are run one by one: windows of a trace, or seeds of a workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headway.core.counted import IS, counted
from headway.core.errors import InvalidInput
from headway.core.spec import whole
from headway.studies.source import Source
from headway.workload.limits import whole as whole_limit
from headway.workload.trace import Trace
from headway.workload.transform import head, rescale_rate, windows

LEAST_REQUESTS = 100
"""Requests of a window: of fewer, a P99 is the largest."""

_WORTH_A_PROCESS = 40_000  # requests in all, below which other processes take longer to start than they save


@dataclass(frozen=True)
class Sample:
    """One stretch of traffic: what is run, and under which seed."""

    source: Source
    seed: int

    def trace(self) -> Trace:
        """Return its labelled requests."""
        return self.source.requests(self.seed)


def samples(source: Source, count: int, seed: int, *, least: int, size: int = LEAST_REQUESTS) -> list[Sample]:
    """Return stretches of traffic, in order: contiguous windows of a trace, or so many seeds of what is drawn.

    Every window starts with an idle engine, and is labelled by its own lengths.

    Args:
        source: of the requests.
        count: of the stretches; a trace that has too few requests for it gives fewer.
        seed: of the first stretch of what is drawn; of all windows of a trace.
        least: stretches that are needed, of `LEAST_REQUESTS` at the least.
        size: requests that a window should have: a trace that is too short for it is cut into fewer, but `least`.

    Raises:
        InvalidInput: a trace has too few requests for them.
    """
    count = whole("windows", count, least)
    if not isinstance(source.origin, Trace):
        return [Sample(source, seed + i) for i in range(count)]
    trace = source.origin
    if source.limit is not None:
        trace = head(trace, whole_limit("limit", source.limit, 1))
    if source.rate is not None:
        trace = rescale_rate(trace, source.rate)
    if len(trace) < least * LEAST_REQUESTS:
        raise InvalidInput(
            f"{trace.name}: {counted(len(trace), 'request', IS)} too few for {least} windows of {LEAST_REQUESTS} "
            f"({least * LEAST_REQUESTS:,} requests); give a longer trace, or a workload like it, which is drawn anew "
            "for every seed"
        )
    plain = replace(source, limit=None, rate=None)
    fitting = min(count, max(least, len(trace) // size))
    return [Sample(replace(plain, origin=window), seed) for window in windows(trace, fitting)]


def processes(runs: int, requests: int, asked: int | None) -> int | None:
    """Return on how many processes so many runs of so many requests are to be made: on this one, if they are few."""
    return 1 if runs * requests < _WORTH_A_PROCESS else asked


def split(stretches: Sequence[Sample]) -> tuple[list[Sample], list[Sample]]:
    """Return every other stretch to search on, and those between them to judge by, equally many."""
    even = len(stretches) - len(stretches) % 2
    return list(stretches[0:even:2]), list(stretches[1:even:2])
