"""Many runs, one after the other: which seeds are worth a run, and what there is after Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headway.core.errors import InvalidInput
from headway.measure.record import RunRecord


class Run(Protocol):
    """`simulate` with everything but its progress filled in."""

    def __call__(self, *, progress: Callable[[int], None] | None) -> RunRecord:
        """Run it; `progress` is told now and then how many requests have arrived."""
        ...


@dataclass(frozen=True)
class Made:
    """How far it came.

    Attributes:
        runs: runs that are complete.
        interrupted: Ctrl-C ended it; what was taken in is not all that was meant to come.
    """

    runs: int
    interrupted: bool


def run_all(
    runs: Iterable[Run],
    take: Callable[[RunRecord], None],
    *,
    total: int,
    requests: int,
    progress: Callable[[float], None] | None = None,
) -> Made:
    """Make one run after the other and hand each over, the one that Ctrl-C ended too: it is marked as partial.

    Args:
        runs: asked for the next one only when the one before has been taken in.
        take: given every record as it comes.
        total: how many there will be, at most.
        requests: in each.
        progress: told now and then the share that is done, in 0..1.

    Raises:
        KeyboardInterrupt: nothing was taken in.
    """
    done = taken = 0
    try:
        for run in runs:
            record = run(progress=_share_of(progress, done, total, requests))
            take(record)
            taken += 1
            if record.partial:
                return Made(done, interrupted=True)
            done += 1
    except KeyboardInterrupt:
        if not taken:
            raise
        return Made(done, interrupted=True)
    return Made(done, interrupted=False)


def useful_seeds(seeds: Sequence[int], *, drawn: bool) -> tuple[list[int], list[str]]:
    """Return the seeds to run, and what to note: one is enough where nothing is drawn.

    Raises:
        InvalidInput: there is no seed.
    """
    if not seeds:
        raise InvalidInput("seeds must name at least one seed")
    if drawn or len(seeds) == 1:
        return list(seeds), []
    return [seeds[0]], ["Nothing is drawn here, so every seed gives the same: it was run once."]


def _share_of(
    progress: Callable[[float], None] | None, done: int, total: int, requests: int
) -> Callable[[int], None] | None:
    if progress is None:
        return None
    return lambda arrived: progress((done + arrived / requests) / total)
