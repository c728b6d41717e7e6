"""What is drawn and listed of Past-Future's settings, of its start, and of traffic that changes."""

from __future__ import annotations

import polars as pl

from headway.measure.reproduction import Axis, Part, Plate, Sheet
from headway.studies.papers.past_future.grid import (
    AGGREGATES,
    BASE,
    CONCAT,
    CONSERVATIVE,
    D1,
    ENGINE,
    EVERY_STEP,
    LISTS,
    SEEDINGS,
    SHORT,
    TURNS,
    past_future,
    shifting,
    watermark,
    windowed,
)
from headway.studies.papers.past_future.plates import EVENTS, USED, listing, marks
from headway.studies.papers.past_future.rows import Runs

_AGGREGATES = {"max": "maximum", "mean": "mean"}
_PARTS = {"the whole run": "", "after 1000 finishes": "steady_"}
_WHOLE_RUNS = "Of whole runs, start-up included. Means over seeds; ± is half the width of the 95 % interval."


def settings(runs: Runs) -> Part:
    """Return what each of Past-Future's settings does."""
    lists = [(count, aggregate) for count in LISTS for aggregate in AGGREGATES]
    windows = [(window, workload) for window in runs.size.windows for workload in (D1, CONCAT)]
    usual = {D1: "D1", CONCAT: "four workloads in a row"}
    entries: list[tuple[dict[str, object], str, str, str]] = [
        *(
            (_setting(f"{count} lists, {aggregate}"), D1, past_future(0.05, lists=count, aggregate=aggregate), ENGINE)
            for count, aggregate in lists
        ),
        *((_setting(f"reserve {reserve:.0%}"), D1, past_future(reserve), ENGINE) for reserve in runs.size.reserves),
        *(
            (_setting(f"window {window}", usual[workload]), workload, windowed(window), ENGINE)
            for window, workload in windows
        ),
        (_setting("a round every 10 steps", "D1, 600 requests"), SHORT, BASE, ENGINE),
        (_setting("a round every step", "D1, 600 requests"), SHORT, BASE, EVERY_STEP),
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
        [{"reserve": reserve * 100, "part": part} for reserve in runs.size.reserves for part in _PARTS],
        [
            runs.get(f"{prefix}events", D1, past_future(reserve))
            for reserve in runs.size.reserves
            for prefix in _PARTS.values()
        ],
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
        (Sheet("ablations", "Settings", _WHOLE_RUNS, listing(runs, entries)),),
    )


def _setting(text: str, workload: str = "D1") -> dict[str, object]:
    return {"setting": text, "workload": workload}


def start_up(runs: Runs) -> Part:
    """Return what a window begins with, before and after it has filled."""
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
                "On D1 at 5 % reserve. What the window begins with decides the first thousand finishes: long lengths "
                "leave memory idle, short ones cost evictions. Afterwards nothing of them is left."
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


def shifts(runs: Runs) -> Part:
    """Return what becomes of the rules where traffic changes."""
    names = {CONCAT: "D1, D2, D3, o1-like in a row"} | {
        shifting(before, after, within): f"{before.upper()} to {after.upper()}, "
        + (f"within {within}" if within else "at once")
        for before, after in TURNS
        for within in runs.size.within
    }
    listed = {
        "conservative": CONSERVATIVE,
        "watermark (90 %)": watermark(0.9),
        "past-future (5 %)": BASE,
        "past-future (5 %, window of 200)": windowed(200),
    }
    places = [
        (workload, rule) for workload in names for rule, memory in listed.items() if runs.rows(workload, memory).height
    ]
    entries: list[tuple[dict[str, object], str, str, str]] = [
        ({"workload": names[workload], "rule": rule}, workload, listed[rule], ENGINE) for workload, rule in places
    ]
    bars = [(workload, rule) for workload, rule in places if workload != CONCAT and rule != "conservative"]
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
                "Four workloads one behind the other, and one that turns into another in the middle of 3000 requests, "
                "at once or little by little over the length of a window. Where answers turn longer, recent lengths "
                "are too short a guess until the window has filled anew."
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
