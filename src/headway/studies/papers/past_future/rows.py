"""The rows of all runs, found by what was run, with the figures that the paper speaks of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from headway.core.spec import parse_spec
from headway.measure.intervals import Interval, mean_interval, student_t
from headway.measure.memory_curve import Curve, Point
from headway.measure.stability import Stability
from headway.studies.cells import Cell, Row
from headway.studies.papers.past_future.grid import ENGINE, PROFILES, Size

LABELS = ("workload", "memory", "engine", "clients", "steady_after", "seed")

_WHOLE, _STEADY = "memory", "memory.steady"
_GIVEN = {
    "requests": "requests",
    "ttft_p99": "ttft.p99",
    "gap_mean": "itl.mean",
    "gap_p99": "itl.p99",
    "mtpot_p99": "mtpot.p99",
    "throughput": "throughput_tokens_per_s",
    "finishes_per_s": "requests_per_s",
    "goodput": "sla.goodput_tokens_per_s",
    "attainment": "sla.attainment",
    "max_used": "memory.used_max",
}
FIGURES = (
    *_GIVEN,
    *("used", "required", "steps", "events", "evicted", "recomputed"),
    *("steady_used", "steady_required", "steady_steps", "steady_events", "steady_evicted"),
    *("start_used", "start_events"),
)
"""Columns of figures. `used` and `required` are in % of the capacity; `events` and `evicted` (different requests) per
100 requests; `recomputed` in tokens a request; `steps` are decode steps; times in seconds. `steady_` is after the first
finishes, `start_` before."""

SCHEMA: dict[str, Any] = {name: pl.String if name in LABELS[:3] else pl.Int64 for name in LABELS}
SCHEMA |= dict.fromkeys(FIGURES, pl.Float64)


def labels(cell: Cell) -> tuple[str, str, str, int, int, int]:
    """Return what tells a cell from all others, in the order of `LABELS`; 0 clients where arrivals are given."""
    memory = str(cell.policy.memory_on(cell.engine))
    return str(cell.source.origin), memory, cell.engine.name, cell.clients or 0, cell.steady_after, cell.seed


def frame_of(cells: Sequence[Cell], rows: Mapping[int, Row]) -> pl.DataFrame:
    """Return a row for each cell that was run, labels and figures, in the order of the cells."""
    found: list[tuple[object, ...]] = []
    for place in sorted(rows):
        figures = _figures(rows[place], cells[place].steady_after)
        found.append((*labels(cells[place]), *(figures[name] for name in FIGURES)))
    return pl.DataFrame(found, schema=SCHEMA, orient="row")


def _figures(row: Row, steady_after: int) -> dict[str, float | None]:
    requests = row["requests"] or math.nan
    found = {name: row.get(path) for name, path in _GIVEN.items()}
    found |= _part(row, _WHOLE, "", requests)
    found |= _part(row, _STEADY, "steady_", requests - steady_after)
    return found | _start(row, steady_after)


def _part(row: Row, path: str, prefix: str, requests: float) -> dict[str, float | None]:
    def per(name: str, scale: float) -> float | None:
        value = row.get(f"{path}.{name}")
        return None if value is None else value * scale

    return {
        f"{prefix}used": per("used_mean", 100),
        f"{prefix}required": per("future_required_mean", 100),
        f"{prefix}steps": per("decode_steps", 1),
        f"{prefix}events": per("evictions.events", 100 / requests),
        f"{prefix}evicted": per("evictions.requests", 100 / requests),
        f"{prefix}recomputed": per("evictions.recomputed_tokens", 1 / requests),
    }


def _start(row: Row, finishes: int) -> dict[str, float | None]:
    """Return what was before the steady part; its use is weighted by decode steps."""
    used, steps, events = (row.get(f"{_WHOLE}.{name}") for name in ("used_mean", "decode_steps", "evictions.events"))
    late = [row.get(f"{_STEADY}.{name}") for name in ("used_mean", "decode_steps", "evictions.events")]
    if used is None or steps is None or events is None or None in late:
        return {"start_used": None, "start_events": None}
    late_used, late_steps, late_events = (value or 0.0 for value in late)
    before = steps - late_steps
    return {
        "start_used": 100 * (used * steps - late_used * late_steps) / before if before else None,
        "start_events": (events - late_events) * 100 / finishes,
    }


@dataclass(frozen=True)
class Figure:
    """One figure over the seeds; float64 [seeds]."""

    values: np.ndarray

    @property
    def mean(self) -> float:
        """Mean over the seeds; nan without any."""
        return float(self.values.mean()) if self.values.size else math.nan

    @property
    def interval(self) -> Interval | None:
        """95 % interval of the mean; None with fewer than two seeds."""
        return mean_interval(self.values)

    @property
    def half(self) -> float:
        """Half the width of the interval; 0 with one seed."""
        interval = self.interval
        return 0.0 if interval is None else (interval.high - interval.low) / 2

    def half_of(self, seeds: int) -> float:
        """Return half the width of the interval that so many seeds with this scatter would have."""
        if self.values.size < 2:
            return 0.0
        return student_t(seeds - 1) * float(np.std(self.values, ddof=1)) / math.sqrt(seeds)

    def text(self, unit: str = "", digits: int = 1) -> str:
        """Write the mean with its unit."""
        return f"{self.mean:.{digits}f}{unit}"

    def around(self, digits: int = 1) -> str:
        """Write the interval; nothing with one seed."""
        interval = self.interval
        return "" if interval is None else f"{interval.low:.{digits}f}-{interval.high:.{digits}f}"


@dataclass(frozen=True)
class Runs:
    """Everything that was run.

    Attributes:
        size: how much was run.
        frame: a row a run: `LABELS`, then `FIGURES`.
        forecast: how well a window tells an answer's length, as `forecast.forecast` has it.
        similar: similarity of windows of the trace; None where none was given.
    """

    size: Size
    frame: pl.DataFrame
    forecast: pl.DataFrame
    similar: Stability | None = None

    @cached_property
    def _by_cell(self) -> dict[tuple[object, ...], pl.DataFrame]:
        return self.frame.sort("seed").partition_by(LABELS[:4], as_dict=True)

    def rows(self, workload: str, memory: str, engine: str = ENGINE, clients: int = 0) -> pl.DataFrame:
        """Return a row a seed, in order of the seeds."""
        return self._by_cell.get((workload, memory, engine, clients), self.frame.head(0))

    def get(self, name: str, workload: str, memory: str, engine: str = ENGINE, clients: int = 0) -> Figure:
        """Return one figure of a run, over its seeds."""
        return Figure(self.rows(workload, memory, engine, clients)[name].drop_nulls().to_numpy())

    def service(self, name: str, profile: str, clients: int, memory: str) -> Figure:
        """Return one figure of a profile in the closed loop, over its seeds."""
        found = PROFILES[profile]
        return self.get(name, found.requests(clients, self.size.each), memory, found.engine, clients)

    def clients(self, profile: str) -> list[int]:
        """Return the numbers of clients that a profile was run with."""
        return sorted(self.frame.filter(pl.col("engine") == PROFILES[profile].engine)["clients"].unique())

    def told(self, name: str, workload: str, generated: int) -> Figure:
        """Return the mean error or bias of predicted lengths at some progress, over the seeds."""
        rows = self.forecast.filter(pl.col("workload") == workload, pl.col("generated") == generated)
        return Figure(rows.sort("seed")[name].to_numpy())

    def curve(self, workload: str, rule: str, knob: str) -> Curve:
        """Return a rule's settings on a workload, the steady part of each, from little use to much."""
        specs = {str(memory): parse_spec(str(memory)) for of, memory, *_ in self._by_cell if of == workload}
        points = [
            _point(memory, float(spec.arguments[knob]), self.rows(workload, memory))
            for memory, spec in specs.items()
            if spec.name == rule and set(spec.arguments) == {knob}
        ]
        return Curve(rule, knob, tuple(sorted(points, key=lambda point: point.used_mean)))


def _point(memory: str, value: float, rows: pl.DataFrame) -> Point:
    requests = int((rows["requests"] - rows["steady_after"]).sum())
    used, events = rows["steady_used"].to_numpy() / 100, rows["steady_events"].to_numpy()
    return Point(memory, value, tuple(rows["seed"]), (), (), used, events, requests)
