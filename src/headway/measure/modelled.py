"""A queueing model beside the simulator: mean waits by both at several loads, and how far they agree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from headway.measure.comparison import plain
from headway.measure.intervals import Interval

POLICIES = ("fcfs", "aa", "qba", "psf")
"""The policies of the model, in the order in which it puts their mean waits, the longest first."""

NOBODY_WAITS = 1e-6
"""Seconds: a mean wait below this is none."""

POINT_SCHEMA: dict[str, type[pl.DataType]] = {
    "servers": pl.String,
    "rate": pl.Float64,
    "policy": pl.String,
    "rho": pl.Float64,
    "model": pl.Float64,
    "model_short": pl.Float64,
    "model_long": pl.Float64,
    "simulated": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "simulated_short": pl.Float64,
    "simulated_long": pl.Float64,
}
"""Columns of `Modelled.points`, in order."""


@dataclass(frozen=True)
class Agreement:
    """How far one number of servers explains the simulator.

    Attributes:
        servers: which number: "literal" or "fitted".
        n: the number.
        stable: rates at which the model has a mean wait, ascending.
        unstable_from: the lowest rate at which it has none; None if it has one everywhere.
        ordered: those of `stable` at which the model has fcfs > aa ≥ qba > psf.
        simulated_ordered: those of `stable` at which the simulator has all four in that order too.
        near: simulated over modelled mean waits up to the rate of calibration, the least and the largest of all
            policies; infinite where only the model says that nobody waits. None where the model has no mean wait
            there, or nobody waits in either.
        far: the same above that rate, as far as the model is stable.
    """

    servers: str
    n: float
    stable: tuple[float, ...]
    unstable_from: float | None
    ordered: tuple[float, ...]
    simulated_ordered: tuple[float, ...]
    near: tuple[float, float] | None
    far: tuple[float, float] | None


@dataclass(frozen=True)
class Excess:
    """By how much aggressive ageing waits longer than order of arrival in the simulator, in the mean, at one rate.

    Attributes:
        rate: requests a second.
        seconds: mean over seeds of the difference on the same requests.
        interval: its 95 % interval over seeds; None with one seed.
    """

    rate: float
    seconds: float
    interval: Interval | None

    @property
    def significant(self) -> bool:
        """Whether it is above 0 by more than chance; nobody knows with one seed."""
        return self.interval is not None and self.interval.low > 0


@dataclass(frozen=True)
class Modelled:
    """The answer to "does a queueing model explain these mean waits?".

    Attributes:
        settings: what was run and how to repeat it, plain data, as in a `Comparison`.
        calibration: what was taken from runs, plain data; see `headway.studies.theory.Calibration`.
        points: a row for each number of servers ("literal", "fitted"), rate and policy (`POINT_SCHEMA`): load, mean
            waits of the model (infinite where it has none) and of the simulator (mean over seeds), with the 95 %
            interval of the latter's mean over all requests; null with one seed.
        aa_over_fcfs: by how much `aa` waits longer than `fcfs` at each rate.
        partial: something is missing: it was interrupted.
        notes: what the reader must know, a sentence each.
    """

    settings: Mapping[str, Any]
    calibration: Mapping[str, Any]
    points: pl.DataFrame
    aa_over_fcfs: tuple[Excess, ...]
    partial: bool
    notes: tuple[str, ...]

    @property
    def rates(self) -> tuple[float, ...]:
        """Requests a second of the runs, ascending."""
        return tuple(self.points["rate"].unique().sort())

    @property
    def agreements(self) -> tuple[Agreement, ...]:
        """How far each number of servers explains the simulator."""
        return tuple(self._agreement(name) for name in self.points["servers"].unique(maintain_order=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the object of `--json`: plain data without NaN or infinity (None instead)."""
        settings = dict(self.settings)
        return plain(
            {
                "headway": settings.pop("headway", None),
                "settings": settings,
                "calibration": dict(self.calibration),
                "points": self.points.to_dicts(),
                "agreement": [dict(vars(one)) for one in self.agreements],
                "aa_over_fcfs": [
                    {"rate": one.rate, "seconds": one.seconds, "ci95": one.interval and one.interval.to_list()}
                    for one in self.aa_over_fcfs
                ],
                "partial": self.partial,
                "notes": list(self.notes),
            }
        )

    def _agreement(self, servers: str) -> Agreement:
        points = self.points.filter(pl.col("servers") == servers)
        model, simulated = _by_rate(points, "model"), _by_rate(points, "simulated")
        stable = tuple(rate for rate, of in model.items() if math.isfinite(of["fcfs"]))
        calibrated = self.calibration["rate"]

        def ratios(*, near: bool) -> tuple[float, float] | None:
            found = [
                simulated[rate][policy] / wait if wait >= NOBODY_WAITS else math.inf
                for rate in stable
                for policy, wait in model[rate].items()
                if max(wait, simulated[rate][policy]) >= NOBODY_WAITS and (rate <= calibrated) == near
            ]
            return (min(found), max(found)) if found else None

        return Agreement(
            servers=servers,
            n=self.calibration["servers"][servers],
            stable=stable,
            unstable_from=next((rate for rate in model if rate not in stable), None),
            ordered=tuple(rate for rate in stable if in_order(model[rate])),
            simulated_ordered=tuple(rate for rate in stable if in_order(simulated[rate])),
            near=ratios(near=True),
            far=ratios(near=False),
        )


def in_order(means: Mapping[str, float]) -> bool:
    """Whether mean waits by policy are in the model's order: fcfs > aa ≥ qba > psf."""
    fcfs, aa, qba, psf = (means[policy] for policy in POLICIES)
    return fcfs > aa >= qba > psf


def _by_rate(points: pl.DataFrame, column: str) -> dict[float, dict[str, float]]:
    """Return rate → policy → a column's value, rates ascending."""
    found: dict[float, dict[str, float]] = {}
    for rate, policy, value in points.sort("rate", maintain_order=True).select("rate", "policy", column).iter_rows():
        found.setdefault(rate, {})[policy] = value
    return found
