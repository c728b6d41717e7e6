"""Policies side by side, over one seed or several."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.measure.intervals import BLOCKS
from headway.measure.pairs import PairedDifference, paired_difference
from headway.measure.record import RunRecord
from headway.measure.sla import Sla
from headway.measure.summary import Summary, over_seeds, summarise


@dataclass(frozen=True)
class Comparison:
    """The answer to "which policy should I run?".

    Attributes:
        settings: what was compared and how to repeat it, plain data. `headway` (the version), `command` (the
            exact command line), `workload` and `engine` are shown by name in the report; anything else is
            listed.
        policies: a summary for each policy, in the order in which they were added.
        paired: every pair of policies, in the same order.
        partial: something is missing: a run or the comparison was interrupted.
        notes: what the reader must know, a sentence each.
        first: the whole run of each policy's first seed, for charts.
    """

    settings: Mapping[str, Any]
    policies: tuple[Summary, ...]
    paired: tuple[PairedDifference, ...]
    partial: bool
    notes: tuple[str, ...]
    first: Mapping[str, RunRecord]

    @classmethod
    def of(cls, settings: Mapping[str, Any], records: Mapping[str, Iterable[RunRecord]]) -> Comparison:
        """Compare policies (keys) by their runs (one a seed)."""
        builder = ComparisonBuilder(settings)
        for runs in records.values():
            for record in runs:
                builder.add(record)
        return builder.build()

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that were compared."""
        return tuple(sorted({seed for summary in self.policies for seed in summary.seeds}))

    def summary(self, policy: str) -> Summary:
        """Return a policy's summary; KeyError if it was not compared."""
        for summary in self.policies:
            if summary.policy == policy:
                return summary
        raise KeyError(policy)

    def difference(self, a: str, b: str) -> PairedDifference | None:
        """Return the difference in mean wait, a less b, whichever way round it is kept; None if unknown."""
        for pair in self.paired:
            if (pair.a, pair.b) == (a, b):
                return pair
            if (pair.a, pair.b) == (b, a):
                return pair.reversed(self.summary(b).latency.wait.mean)
        return None

    def unlike(self) -> tuple[Summary, ...]:
        """Return the policies without those under which every request had the same outcome as under an earlier one."""
        later = {pair.b for pair in self.paired if pair.same}
        return tuple(summary for summary in self.policies if summary.policy not in later)

    def to_dict(self) -> dict[str, Any]:
        """Return the object of `--json`: plain data without NaN or infinity (None instead)."""
        settings = dict(self.settings)
        return plain(
            {
                "headway": settings.pop("headway", None),
                "settings": settings,
                "policies": [summary.to_dict() for summary in self.policies],
                "paired": [pair.to_dict() for pair in self.paired],
                "partial": self.partial,
                "notes": list(self.notes),
            }
        )


class ComparisonBuilder:
    """Takes in runs one by one and keeps little of them: a summary each, and the whole run of the first seed.

    Add the runs seed by seed (all policies of a seed before the next seed), so that an interrupted comparison
    has the same seeds for every policy.
    """

    def __init__(self, settings: Mapping[str, Any], notes: Sequence[str] = (), sla: Sla | None = None) -> None:
        self._settings = settings
        self._sla = sla
        self._notes = tuple(notes)
        self._summaries: dict[str, dict[int, Summary]] = {}
        self._first: dict[str, RunRecord] = {}

    def add(self, record: RunRecord) -> Summary:
        """Take in a run and return its summary; a second run of a policy and seed replaces the first."""
        summary = summarise(record, self._sla)
        self._summaries.setdefault(record.policy, {})[record.seed] = summary
        kept = self._first.get(record.policy)
        if kept is None or record.seed <= kept.seed:
            self._first[record.policy] = record
        return summary

    def note(self, text: str) -> None:
        """Add what the reader must know."""
        self._notes = (*self._notes, text)

    def build(self, *, partial: bool = False) -> Comparison:
        """Return the comparison of what was added; `partial` says that more was meant to come."""
        notes = list(self._notes)
        runs = list(self._summaries.values())
        seeds = sorted(set.intersection(*(set(run) for run in runs))) if runs else []
        if any(set(run) != set(seeds) for run in runs):
            notes.append(_seeds_note(self._summaries, seeds))
            partial = True
        # Policies are compared on the same seeds only; when they share none, each is shown with what it has.
        used = [[run[seed] for seed in (seeds or sorted(run))] for run in runs]
        policies = tuple(over_seeds(summaries) for summaries in used)
        if any(summary.partial for summary in policies):
            notes.append("A run was interrupted: its figures are of the requests that had ended by then.")
        first = {name: run for name, run in self._first.items() if not seeds or run.seed == seeds[0]}
        pairs = tuple(paired_difference(a, b, first) for a, b in itertools.combinations(used, 2) if seeds)
        notes += [*_same_note(pairs), *_pairs_notes(policies, pairs, len(seeds))]
        return Comparison(
            settings=self._settings,
            policies=policies,
            paired=pairs,
            partial=partial or any(summary.partial for summary in policies),
            notes=tuple(notes),
            first=first,
        )


def plain(value: Any) -> Any:
    """Return plain JSON data: numpy numbers as Python's, tuples as lists, NaN and infinity as None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def _seeds_note(summaries: Mapping[str, Mapping[int, Summary]], common: Sequence[int]) -> str:
    have = ", ".join(f"{policy}: {len(run)}" for policy, run in summaries.items())
    if common:
        return f"Not every policy was run on every seed ({have}); shown are the {len(common)} that all have."
    return f"The policies share no seed ({have} seeds); their figures are of different requests."


def _same_note(pairs: Sequence[PairedDifference]) -> list[str]:
    """Say which policies did the same as an earlier one."""
    first: dict[str, str] = {}
    for pair in pairs:
        if pair.same and pair.a not in first:
            first.setdefault(pair.b, pair.a)
    if not first:
        return []
    told = [(original, [b for b, a in first.items() if a == original]) for original in dict.fromkeys(first.values())]
    parts = [f"{', '.join(copies)} as {original}" for original, copies in told]
    return [f"The same as another policy, every request with the same outcome: {'; '.join(parts)}."]


def _pairs_notes(policies: Sequence[Summary], pairs: Sequence[PairedDifference], seeds: int) -> list[str]:
    """Say of which requests the differences are, and how sure they are."""
    if not pairs:
        return []
    unequal = len({(one.rejected, one.cancelled, one.expired) for one in policies}) > 1
    if seeds > 1:
        some = "Differences are of mean waits of whoever was started: under some policies those are fewer requests."
        return [some] if unequal else []
    requests, counts = max(one.latency.requests for one in policies), [pair.requests or 0 for pair in pairs]
    low, high = min(counts), max(counts)
    many = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    both = f"Differences are of the requests that both policies of a pair started, {many} of {requests:,}"
    if all(pair.ci95 is None for pair in pairs):
        few = f"{both}: too few" if low < requests else "Too few requests"
        return [f"{few} to say how sure the differences are; {2 * BLOCKS} or several seeds would do."]
    return [*([f"{both}."] if low < requests else []), _ONE_SEED]


_ONE_SEED = (
    f"One run: the intervals of the differences are from {BLOCKS} blocks of successive requests (batch means), "
    "widened where one block is like the next. Near saturation they are still too narrow, so that one run shows "
    "no difference to be significant; several seeds of a workload, or several stretches of traffic, can."
)
