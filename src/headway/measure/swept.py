"""What the rows of a sweep say over their seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from headway.measure.intervals import Interval, mean_interval
from headway.measure.latency import known_mean
from headway.measure.quantiles import STATISTICS, Stats

POLICY = ("policy", "memory", "evict", "shed", "prefill_share", "pools", "reserve")
"""The settings that are what is compared; all others are what it is compared on."""


@dataclass(frozen=True)
class Mean:
    """A mean over seeds; None where no seed has a value, and no interval for a single one."""

    value: float | None
    ci95: Interval | None

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Mean:
        """Average the values that are known."""
        return cls(known_mean(values), mean_interval([value for value in values if value is not None]))

    @classmethod
    def of_shares(cls, shares: Sequence[float | None]) -> Mean:
        """Average shares; their interval lies within 0..1."""
        found = cls.of(shares)
        return found if found.ci95 is None else cls(found.value, found.ci95.within(0.0, 1.0))


@dataclass(frozen=True)
class Group:
    """The runs that differ in nothing but their seeds.

    Attributes:
        settings: all of them but the seed.
        seeds: of the runs that are finished.
        wait: seconds from arrival to the start; over several seeds means with their intervals.
        attainment: share of the requests that met the service agreement.
        goodput: tokens a second of these.
    """

    settings: Mapping[str, Any]
    seeds: tuple[int, ...]
    wait: Stats
    attainment: Mean
    goodput: Mean

    def to_dict(self) -> dict[str, Any]:
        """Return the group's entry in `--json`: plain data."""
        return {
            "settings": dict(self.settings),
            "seeds": list(self.seeds),
            "wait": self.wait.to_dict(),
            "attainment": self.attainment.value,
            "attainment_ci95": self.attainment.ci95 and self.attainment.ci95.to_list(),
            "goodput_tokens_per_s": self.goodput.value,
            "goodput_ci95": self.goodput.ci95 and self.goodput.ci95.to_list(),
        }


@dataclass(frozen=True)
class Overview:
    """A sweep at a glance.

    Attributes:
        settings: how to repeat it and where its rows are, plain data.
        groups: what is compared on the same requests and engine stands together.
        partial: cells are missing.
        notes: what the reader must know, a sentence each.
    """

    settings: Mapping[str, Any]
    groups: tuple[Group, ...]
    partial: bool = False
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        settings = dict(self.settings)
        return {
            "headway": settings.pop("headway", None),
            "settings": settings,
            "groups": [group.to_dict() for group in self.groups],
            "partial": self.partial,
            "notes": list(self.notes),
        }


def groups(frame: pl.DataFrame, settings: Sequence[str]) -> tuple[Group, ...]:
    """Return the rows of a sweep over their seeds.

    Args:
        frame: a row a run: the settings, `seed`, and figures by their path in `--json`.
        settings: columns that tell the groups apart.
    """
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in frame.iter_rows(named=True):
        found.setdefault(tuple(row[name] for name in settings), []).append(row)
    made = [_group(dict(zip(settings, known, strict=True)), rows) for known, rows in found.items()]
    place: dict[tuple[Any, ...], int] = {}
    for group in made:
        place.setdefault(_compared_on(group), len(place))
    return tuple(sorted(made, key=lambda group: place[_compared_on(group)]))


def _compared_on(group: Group) -> tuple[Any, ...]:
    return tuple(value for name, value in group.settings.items() if name not in POLICY)


def _group(settings: dict[str, Any], rows: Sequence[Mapping[str, Any]]) -> Group:
    waits = [Stats(**{name: row.get(f"wait.{name}") for name in STATISTICS}) for row in rows]
    return Group(
        settings,
        tuple(row["seed"] for row in rows),
        Stats.over_seeds(waits) if len(waits) > 1 else waits[0],
        Mean.of_shares([row.get("sla.attainment") for row in rows]),
        Mean.of([row.get("sla.goodput_tokens_per_s") for row in rows]),
    )
