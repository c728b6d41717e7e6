"""What is drawn and listed of the controlled comparison and of the frontier."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from headway.measure.memory_curve import Curve
from headway.measure.reproduction import Axis, Part, Plate, Sheet
from headway.studies.papers.past_future.claims_frontier import curves
from headway.studies.papers.past_future.grid import (
    AGGRESSIVE,
    BASE,
    CONSERVATIVE,
    D1,
    ENGINE,
    ORACLE,
    SWEEPS,
    TABLE,
    TABLE_D1,
    WORKLOADS,
    named,
)
from headway.studies.papers.past_future.rows import Figure, Runs

USED, EVENTS = "KV memory in use (%)", "Evictions per 100 requests"
_THREE_WAYS = (
    "Evictions are counted three ways: events and different requests, in 100 requests, and tokens that had to be "
    "filled again, a request."
)


def marks(rows: Sequence[dict[str, object]], figures: Sequence[Figure], column: str) -> pl.DataFrame:
    """Return a frame of rows, each with a figure's mean and the ends of its interval.

    Of fewer than three seeds the ends are null: an interval of two is too wide to tell anything.
    """
    found: list[dict[str, object]] = []
    for row, figure in zip(rows, figures, strict=True):
        interval = figure.interval
        told = interval is not None and figure.values.size > 2
        low, high = (max(interval.low, 0.0), interval.high) if told and interval else (None, None)
        found.append({**row, column: figure.mean, "low": low, "high": high})
    return pl.DataFrame(found, schema_overrides={"low": pl.Float64, "high": pl.Float64})


def listing(runs: Runs, entries: Sequence[tuple[dict[str, object], str, str, str]], prefix: str = "") -> pl.DataFrame:
    """Return a table of runs: (its first columns, workload, rule, engine) → use and evictions three ways."""
    rows: list[dict[str, object]] = []
    for names, workload, memory, engine in entries:
        got = {name: runs.get(f"{prefix}{name}", workload, memory, engine) for name in ("used", "events", "evicted")}
        rest = {name: runs.get(name, workload, memory, engine).mean for name in ("required", "recomputed", "steps")}
        rows.append(
            {
                **names,
                "used %": got["used"].mean,
                "± used": got["used"].half,
                "required %": rest["required"] if rest["required"] == rest["required"] else None,
                "evictions": got["events"].mean,
                "± evictions": got["events"].half,
                "requests evicted": got["evicted"].mean,
                "tokens filled again": rest["recomputed"],
                "decode steps": round(rest["steps"]),
            }
        )
    return pl.DataFrame(rows)


def controlled(runs: Runs) -> Part:
    """Return the controlled comparison."""
    shown = {"oracle": ORACLE, "past-future (5 %)": BASE, "watermark (99 %)": AGGRESSIVE, "conservative": CONSERVATIVE}
    places = [(workload, rule) for workload in WORKLOADS for rule in shown]
    rows: list[dict[str, object]] = [{"workload": named(workload), "rule": rule} for workload, rule in places]

    def bars(figure: str, name: str, title: str, axis: str, caption: str) -> Plate:
        found = [runs.get(figure, workload, shown[rule]) for workload, rule in places]
        return Plate(
            name,
            title,
            caption,
            marks(rows, found, figure),
            Axis("workload", ""),
            Axis(figure, axis, zero=True),
            "bars",
            series="rule",
            low="low",
            high="high",
        )

    entries: list[tuple[dict[str, object], str, str, str]] = [
        ({"workload": named(workload), "rule": memory}, workload, memory, ENGINE)
        for workload in WORKLOADS
        for memory in ((*TABLE, *TABLE_D1) if workload == D1 else TABLE)
    ]
    return Part(
        "table",
        "The controlled comparison",
        (
            (
                "3000 requests queued at the start, 120,000 tokens of KV, rounds of admission every ten decode steps; "
                "figures until the last request leaves the queue. Rules reckon with 4096 tokens an answer, the engine "
                "does not cut."
            ),
            f"{_THREE_WAYS} Required is the peak that the residents' true lengths will need, after each round.",
        ),
        (
            bars("used", "table-used", "How full the cache is", USED, "Means with 95 % intervals over seeds."),
            bars("events", "table-evictions", "Evictions", EVENTS, "Events; oracle has none. Start-up included."),
        ),
        (
            Sheet(
                "table",
                "Rules and settings",
                "Means over seeds; ± is half the width of the 95 % interval.",
                listing(runs, entries),
                1,
            ),
        ),
    )


def frontiers(runs: Runs) -> Part:
    """Return use of memory, and decode steps, against evictions."""
    plates = [plate for name in SWEEPS for plate in (_plane(runs, name), _steps(runs, name))]
    size = runs.size
    return Part(
        "frontier",
        "The frontier",
        (
            (
                f"{size.requests:,} requests, what comes after {size.start_up:,} finishes, {size.frontier} seeds. Each "
                "point is a setting of a rule's knob: Past-Future's reserve, the watermark's level, the overcommit of "
                "conservative scheduling. Settings without any eviction have no place on the logarithmic axis; the "
                "tables have them."
            ),
        ),
        tuple(plates),
        (
            Sheet(
                "frontier",
                "Settings",
                "After start-up. Means over seeds; ± is half the width of the 95 % interval.",
                pl.concat([_points(runs, name) for name in SWEEPS]),
            ),
        ),
    )


def _points(runs: Runs, name: str) -> pl.DataFrame:
    rows: list[dict[str, object]] = []
    for curve in curves(runs, name):
        for point in curve.points:
            used, events, steps = (
                runs.get(figure, runs.size.sweep(name), point.memory)
                for figure in ("steady_used", "steady_events", "steady_steps")
            )
            rows.append(
                {
                    "workload": name,
                    "rule": curve.rule,
                    "knob": _knob(curve, point.value),
                    "used %": used.mean,
                    "± used": used.half,
                    "evictions": events.mean,
                    "± evictions": events.half,
                    "low": max(events.mean - events.half, 0.0) if events.values.size > 2 else None,
                    "high": events.mean + events.half if events.values.size > 2 else None,
                    "decode steps": round(steps.mean),
                }
            )
    return pl.DataFrame(rows, schema_overrides={"low": pl.Float64, "high": pl.Float64})


def _knob(curve: Curve, value: float | None) -> str:
    return f"{value:g} times" if curve.knob == "overcommit" else f"{(value or 0) * 100:g} %"


def _plane(runs: Runs, name: str) -> Plate:
    return Plate(
        f"frontier-{name.lower()}",
        f"Use against evictions: {name}",
        "Right is fuller, down is fewer evictions; whiskers are 95 % intervals.",
        _points(runs, name),
        Axis("used %", USED),
        Axis("evictions", f"{EVENTS} (log scale)", log=True),
        "path",
        series="rule",
        low="low",
        high="high",
        text="knob",
    )


def _steps(runs: Runs, name: str) -> Plate:
    return Plate(
        f"steps-{name.lower()}",
        f"Decode steps against evictions: {name}",
        "Left is faster, down is fewer evictions.",
        _points(runs, name),
        Axis("decode steps", "Decode steps after start-up"),
        Axis("evictions", f"{EVENTS} (log scale)", log=True),
        "path",
        series="rule",
        low="low",
        high="high",
        text="knob",
    )
