"""Models beside simulators, written down and not run."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from headway.measure.intervals import Interval
from headway.measure.modelled import POINT_SCHEMA, Excess, Modelled

Means = tuple[float, float, float, float]  # fcfs, aa, qba, psf
POLICIES = ("fcfs", "aa", "qba", "psf")
ORDERED: Means = (4.0, 3.0, 2.5, 2.0)


def modelled(
    literal: Sequence[Means],
    fitted: Sequence[Means],
    simulated: Sequence[Means],
    excess: Sequence[tuple[float, Interval | None]] = (),
    rates: Sequence[float] = (20.0, 30.0, 40.0),
) -> Modelled:
    """A model of 7 servers and one of 4.1, at each rate; service times were measured at 30/s."""
    rows = [
        (name, rate, policy, rate / 41, wait, wait, wait, real, real * 0.9, real * 1.1, real, real)
        for name, models in (("literal", literal), ("fitted", fitted))
        for rate, model, means in zip(rates, models, simulated, strict=True)
        for policy, wait, real in zip(POLICIES, model, means, strict=True)
    ]
    return Modelled(
        settings={"headway": "1", "workload": "w", "engine": "e", "command": "headway theory w"},
        calibration={
            "rate": 30.0,
            "servers": {"literal": 7.0, "fitted": 4.1},
            "fitted_ci95": None,
            "short_share": 0.8,
            "service": {name: {"mean": 0.1, "scv": 1.0} for name in ("all", "short", "long")},
            "promoted": {
                name: [{"rate": 20.0, "fraction": 0.1}, {"rate": 40.0, "fraction": 0.9}] for name in ("aa", "qba")
            },
        },
        points=pl.DataFrame(rows, schema=POINT_SCHEMA, orient="row"),
        aa_over_fcfs=tuple(Excess(rate, *one) for rate, one in zip(rates, excess, strict=False)),
        partial=False,
        notes=(),
    )


def times(means: Means, factor: float) -> Means:
    fcfs, aa, qba, psf = (factor * mean for mean in means)
    return fcfs, aa, qba, psf
