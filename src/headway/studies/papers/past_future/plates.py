"""What is drawn and listed of the runs in the controlled comparison's engine, a part each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from headway.measure.memory_curve import Curve
from headway.measure.reproduction import Axis, Part, Plate, Sheet
from headway.studies.papers.past_future.claims_frontier import curves
from headway.studies.papers.past_future.grid import (
    AGGREGATES,
    AGGRESSIVE,
    BASE,
    CONCAT,
    CONSERVATIVE,
    D1,
    ENGINE,
    EVERY_STEP,
    LISTS,
    ORACLE,
    RESERVES,
    SEEDINGS,
    SHIFT_RULES,
    SHIFTS,
    SHORT,
    SWEEPS,
    TABLE,
    TABLE_D1,
    WINDOWS,
    WORKLOADS,
    past_future,
    windowed,
)
from headway.studies.papers.past_future.rows import Figure, Runs

USED, EVENTS = "KV memory in use (%)", "Evictions per 100 requests"
_THREE_WAYS = (
    "Evictions are counted three ways: events and different requests, in 100 requests, and tokens that had to be "
    "filled again, a request."
)


def named(workload: str) -> str:
    """Return a workload as figures call it."""
    name = workload.partition("(")[0]
    return name.upper() if name.startswith("d") else name


def marks(rows: Sequence[dict[str, object]], figures: Sequence[Figure], column: str) -> pl.DataFrame:
    """Return a frame of rows, each with a figure's mean and the ends of its interval."""
    found: list[dict[str, object]] = []
    for row, figure in zip(rows, figures, strict=True):
        interval = figure.interval
        low, high = (None, None) if interval is None else (max(interval.low, 0.0), interval.high)
        found.append({**row, column: figure.mean, "low": low, "high": high})
    return pl.DataFrame(found)


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


def _table(runs: Runs) -> Part:
    shown = {"oracle": ORACLE, "past-future 5 %": BASE, "watermark 99 %": AGGRESSIVE, "conservative": CONSERVATIVE}
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
                "figures until the last request leaves the queue. Rules reckon with 4096 tokens an answer, the engine does "
                "not cut."
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


def _frontier(runs: Runs) -> Part:
    plates = [plate for name in SWEEPS for plate in (_plane(runs, name), _steps(runs, name))]
    size = runs.size
    return Part(
        "frontier",
        "The frontier",
        (
            (
                f"{size.requests:,} requests, what comes after {size.start_up:,} finishes, {size.frontier} seeds. Each point "
                "is a setting of a rule's knob: Past-Future's reserve, the watermark's level, the overcommit of conservative "
                "scheduling. Settings without any eviction have no place on the logarithmic axis; the tables have them."
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
                    "low": max(events.mean - events.half, 0.0),
                    "high": events.mean + events.half,
                    "decode steps": round(steps.mean),
                }
            )
    return pl.DataFrame(rows)


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


def _ablations(runs: Runs) -> Part:
    lists = [(count, aggregate) for count in LISTS for aggregate in AGGREGATES]
    windows = [(window, workload) for window in WINDOWS for workload in (D1, CONCAT)]
    usual = {D1: "D1", CONCAT: "four workloads in a row"}
    settings: list[tuple[dict[str, object], str, str, str]] = [
        *(
            (_setting(f"{count} lists, {aggregate}"), D1, past_future(0.05, lists=count, aggregate=aggregate), ENGINE)
            for count, aggregate in lists
        ),
        *((_setting(f"reserve {reserve:.0%}"), D1, past_future(reserve), ENGINE) for reserve in RESERVES),
        *(
            (_setting(f"window {window}", usual[workload]), workload, windowed(window), ENGINE)
            for window, workload in windows
        ),
        (_setting("a round every 10 steps", "D1, 1000 requests"), SHORT, BASE, ENGINE),
        (_setting("a round every step", "D1, 1000 requests"), SHORT, BASE, EVERY_STEP),
    ]
    by_list = marks(
        [{"lists": str(count), "peaks": f"their {_AGGREGATES[aggregate]}"} for count, aggregate in lists],
        [
            runs.get("steady_events", D1, past_future(0.05, lists=count, aggregate=aggregate))
            for count, aggregate in lists
        ],
        "events",
    )
    by_window = marks(
        [{"window": float(window), "workload": usual[workload]} for window, workload in windows],
        [runs.get("steady_events", workload, windowed(window)) for window, workload in windows],
        "events",
    )
    by_reserve = marks(
        [{"reserve": reserve * 100, "part": part} for reserve in RESERVES for part in _PARTS],
        [runs.get(f"{prefix}events", D1, past_future(reserve)) for reserve in RESERVES for prefix in _PARTS.values()],
        "events",
    )
    events = Axis("events", EVENTS, zero=True)
    return Part(
        "ablations",
        "Past-Future's settings",
        (
            (
                "On D1 at 5 % reserve, a window that begins with 500 lengths of 512, one setting changed at a time. No "
                "more than 200 // n + 1 lists are drawn for n running requests, so that 20 are hardly more than 5 here."
            ),
        ),
        (
            Plate(
                "lists",
                "Lists of draws",
                "After 1000 finishes.",
                by_list,
                Axis("lists", "Lists"),
                events,
                "bars",
                series="peaks",
                low="low",
                high="high",
            ),
            Plate(
                "window",
                "The window",
                "After 1000 finishes.",
                by_window,
                Axis("window", "Window (requests, log scale)", log=True),
                events,
                series="workload",
                low="low",
                high="high",
            ),
            Plate(
                "reserve",
                "The reserve",
                "Start-up is what the reserve does not buy off.",
                by_reserve,
                Axis("reserve", "Reserve (% of the capacity)"),
                events,
                series="part",
                low="low",
                high="high",
            ),
        ),
        (Sheet("ablations", "Settings", _WHOLE_RUNS, listing(runs, settings)),),
    )


_AGGREGATES = {"max": "maximum", "mean": "mean"}
_PARTS = {"the whole run": "", "after 1000 finishes": "steady_"}
_WHOLE_RUNS = "Of whole runs, start-up included. Means over seeds; ± is half the width of the 95 % interval."


def _setting(text: str, workload: str = "D1") -> dict[str, object]:
    return {"setting": text, "workload": workload}


def _start(runs: Runs) -> Part:
    rules = {_seeding(length, count): past_future(0.05, length, count) for length, count in SEEDINGS}
    rules["conservative"] = CONSERVATIVE
    parts = {"first 1000 finishes": "start_", "after them": "steady_"}
    rows: list[dict[str, object]] = [{"window begins with": rule, "part": part} for rule in rules for part in parts]
    used, events = (
        [runs.get(f"{prefix}{name}", D1, rules[rule]) for rule in rules for prefix in parts.values()]
        for name in ("used", "events")
    )
    table = pl.DataFrame(
        [
            {**row, "used %": one.mean, "± used": one.half, "evictions": other.mean, "± evictions": other.half}
            for row, one, other in zip(rows, used, events, strict=True)
        ]
    )
    begins = Axis("window begins with", "The window begins with")
    return Part(
        "start-up",
        "Start-up and steady state",
        (
            (
                "On D1 at 5 % reserve. What the window begins with decides the first thousand finishes: long lengths leave "
                "memory idle, short ones cost evictions. Afterwards nothing of them is left."
            ),
        ),
        (
            Plate(
                "start-used",
                "How full the cache is",
                "The use before is weighted by decode steps.",
                marks(rows, used, "used"),
                begins,
                Axis("used", USED, zero=True),
                "bars",
                series="part",
                low="low",
                high="high",
            ),
            Plate(
                "start-evictions",
                "Evictions",
                "Per 100 requests of each part.",
                marks(rows, events, "events"),
                begins,
                Axis("events", EVENTS, zero=True),
                "bars",
                series="part",
                low="low",
                high="high",
            ),
        ),
        (Sheet("start-up", "Before and after", "Means over seeds; ± is half the interval.", table),),
    )


def _seeding(length: int | None, count: int) -> str:
    return f"{count} of {4096 if length is None else length}"


def _shift(runs: Runs) -> Part:
    names = {CONCAT: "D1, D2, D3, o1-like in a row"} | {
        workload: f"{first.upper()} to {second.upper()}{f' within {within}' if within else ' at once'}"
        for (first, second, within), workload in SHIFTS.items()
    }
    listed = {
        "oracle": SHIFT_RULES[0],
        "conservative": CONSERVATIVE,
        "watermark 90 %": SHIFT_RULES[2],
        "past-future 5 %": BASE,
        "past-future 5 %, window 200": windowed(200),
    }
    entries: list[tuple[dict[str, object], str, str, str]] = [
        ({"workload": names[workload], "rule": rule}, workload, memory, ENGINE)
        for workload in names
        for rule, memory in listed.items()
    ]
    bars = [(workload, rule) for workload in SHIFTS.values() for rule in list(listed)[2:]]
    data = marks(
        [{"workload": names[workload], "rule": rule} for workload, rule in bars],
        [runs.get("steady_events", workload, listed[rule]) for workload, rule in bars],
        "events",
    )
    return Part(
        "shift",
        "Traffic that changes",
        (
            (
                "Four workloads one behind the other, and one that turns into another in the middle of 3000 requests, at "
                "once or little by little over the length of a window. Where answers turn longer, recent lengths are too "
                "short a guess until the window has filled anew."
            ),
        ),
        (
            Plate(
                "shift",
                "Evictions under a shift",
                "After 1000 finishes: the shift and what follows.",
                data,
                Axis("workload", ""),
                Axis("events", EVENTS, zero=True),
                "bars",
                series="rule",
                low="low",
                high="high",
                wide=True,
            ),
        ),
        (Sheet("shift", "Rules under a shift", _WHOLE_RUNS, listing(runs, entries)),),
    )


PLATES: dict[str, Callable[[Runs], Part]] = {
    "table": _table,
    "frontier": _frontier,
    "ablations": _ablations,
    "start-up": _start,
    "shift": _shift,
}
"""The parts that run in the controlled comparison's engine."""
