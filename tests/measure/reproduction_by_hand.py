"""A small reproduction, as a study would return it: every kind of plate, every verdict."""

from __future__ import annotations

import polars as pl

from headway.measure.findings import Finding
from headway.measure.reproduction import Axis, Part, Plate, Reproduction, Sheet

LOADS = pl.DataFrame(
    {
        "policy": ["fcfs", "fcfs", "psf", "psf", "psf"],
        "by": ["simulator", "simulator", "simulator", "simulator", "model"],
        "rate": [26.0, 32.0, 26.0, 32.0, 32.0],
        "mean": [0.2, 2.19, 0.1, 0.84, None],
        "low": [0.1, 2.0, 0.05, 0.8, None],
        "high": [0.3, 2.4, 0.2, 0.9, None],
    }
)
PLANE = pl.DataFrame(
    {"path": ["k", "k", "psf"], "mean": [1.4, 1.2, 0.8], "p99": [7.0, 8.0, 11.0], "says": ["2", "4", "psf"]}
)
FIELDS = pl.DataFrame({"now": ["10", "10", "20"], "then": ["10", "20", "10"], "alike": [0.8, 0.9, 1.0]})

MEANS = Plate(
    "fig2-mean",
    "Mean wait",
    "A caption.",
    LOADS,
    Axis("rate", "Arrivals (requests/s)"),
    Axis("mean", "Mean wait (s)", zero=True),
    series="policy",
    low="low",
    high="high",
    dash="by",
)
PATHS = Plate(
    "plane",
    "The plane",
    "Another.",
    PLANE,
    Axis("mean", "Mean wait (s)"),
    Axis("p99", "P99 (s)"),
    "path",
    series="path",
    text="says",
    wide=True,
)
BARS = Plate(
    "bars",
    "Bars",
    "",
    LOADS.filter(pl.col("rate") == 32, pl.col("mean").is_not_null()),
    Axis("policy", ""),
    Axis("mean", "Mean wait (s)", zero=True),
    "bars",
    series="policy",
    low="low",
    high="high",
)
HEAT = Plate(
    "heat", "Alike", "", FIELDS, Axis("now", "Now"), Axis("then", "Then"), "heat", value=Axis("alike", "Similarity")
)
TABLE = Sheet("table2", "Windows", "Medians.", pl.DataFrame({"policy": ["fcfs"], "tokens/s": [24700.0], "n": [None]}))


def finding(name: str, verdict: str, why: str = "") -> Finding:
    return Finding(name, f"Claim <{name}>.", "IV-B, Fig. 2", "0.83 s", "0.84 s", "0.79-0.89", verdict, why)  # type: ignore[arg-type]


def typical(*, partial: bool = False) -> Reproduction:
    return Reproduction(
        "qba",
        "A Paper & its title",
        {"headway": "9.9", "command": "headway reproduce qba --out results", "seeds": 12},
        (
            finding("one", "holds"),
            finding("two", "holds in part", "It is 12 s here."),
            finding("three", "does not hold here"),
            finding("four", "not run"),
        ),
        (
            Part("fig2", "Load sweep", ("Text of 5 s.",), (MEANS, BARS)),
            Part("rest", "The rest", (), (PATHS, HEAT), (TABLE,)),
        ),
        partial,
        ("A note.",),
        {"headway": "9.9", "python": "3.11.0"},
    )
