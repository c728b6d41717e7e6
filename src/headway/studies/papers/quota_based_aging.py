"""Quota-Based Aging done again: from the grid of runs to findings, figures and tables.

Source: "Quota-Based Aging for Prediction-Guided Scheduling in LLM Serving", IV. The text's workload equations are
missing; the workload `qba-paper` is calibrated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path

from headway.core.errors import InvalidInput
from headway.measure.findings import Finding
from headway.measure.reproduction import Part, Reproduction
from headway.studies.cells import Cell, Row, run_cells
from headway.studies.kept import run_kept
from headway.studies.papers.qba import errors, load, sensitivity, windows
from headway.studies.papers.qba import model as modelled
from headway.studies.papers.qba.grid import (
    CALIBRATION,
    ENGINE,
    PARTS,
    REQUESTS,
    WINDOWS,
    Measure,
    Point,
    all_points,
    cells_of,
)
from headway.studies.papers.qba.measures import waits, with_residence
from headway.studies.papers.qba.model import Modelled, calibrated
from headway.studies.papers.qba.plates import errors_part, load_part, sensitivity_part, windows_part
from headway.studies.papers.qba.runs import Runs
from headway.studies.papers.qba.windows import Windows, window_cells, window_sources, windows_of
from headway.workload.trace import Trace

TITLE = "Quota-Based Aging for Prediction-Guided Scheduling in LLM Serving"
FULL, QUICK = 100, 12
"""Seeds: of the paper, and of a quick look."""

_CALIBRATED = (
    "The text's workload equations are missing: lengths and the reading of the engine were calibrated, once for all "
    "parts, by figures that the text gives for 32 requests/s. That those come out shows that one workload can have "
    "them all, and is no independent evidence."
)
_WORDS = (
    "Close, flat, stable and hardly changed mean within 10 %; far, sharply, severely and substantially mean by at "
    "least 25 %; below, above and significantly mean by more than chance: the 95 % interval of the paired difference "
    "excludes 0. A reported figure is met within 1.5 times the combined 95 % interval, where the paper's own is taken "
    "to be as wide as ours of 100 seeds. Nothing is corrected for the number of claims."
)
_NO_TRACE = "Table II is left out: give an Azure LLM inference trace with --trace FILE."


def reproduce(
    parts: Sequence[str] = PARTS,
    *,
    seeds: Collection[int] = range(FULL),
    requests: int = REQUESTS,
    trace: Trace | None = None,
    workers: int | None = None,
    keep: Path | None = None,
    command: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Reproduction:
    """Do the evaluation again.

    Args:
        parts: which, of `PARTS`; `table2` needs a trace and is left out without one.
        seeds: of the requests, the same for all policies.
        requests: in each run.
        trace: whose windows Table II is made of.
        workers: processes; by default one a core.
        keep: a folder for finished runs, so that an interrupted evaluation goes on; None keeps none.
        command: that repeats it.
        progress: told now and then the share that is done, in 0..1.

    Raises:
        InvalidInput: no seed, an unknown part, or a trace that is too short.
        KeyboardInterrupt: Ctrl-C, before anything was complete; later what is complete is returned as partial.
    """
    if not seeds or not set(parts) <= set(PARTS):
        raise InvalidInput(f"parts {list(parts)}, {len(seeds)} seeds; expected parts of {', '.join(PARTS)}, and a seed")
    points = all_points(parts)
    sources = window_sources(trace) if trace is not None and WINDOWS in parts else []
    of_windows = window_cells(sources)
    cells = [*of_windows, *(cells_of(points, seeds, requests, _measure) if points else [])]
    if not cells:
        raise InvalidInput("table2 alone needs a trace: give one with --trace FILE")
    rows, complete = (
        _run(cells, workers, progress) if keep is None else run_kept(cells, keep, workers=workers, progress=progress)
    )

    got = {place: row for place, row in rows.items() if place < len(of_windows)}
    found = windows_of(sources, got) if sources and len(got) == len(of_windows) else None
    of_points = {place - len(of_windows): row for place, row in rows.items() if place >= len(of_windows)}
    done = _whole_seeds(of_points, len(points), len(seeds))
    if not done and found is None:
        raise KeyboardInterrupt
    runs = Runs.of(points, of_points, done) if done else Runs({})
    model = Modelled.of(calibrated(points, of_points, done), runs) if done and "fig2" in parts else None
    ran = [part for part in parts if (found is not None if part == WINDOWS else done)]
    return Reproduction(
        "qba",
        TITLE,
        {
            "headway": version("headway"),
            "command": command,
            "engine": ENGINE,
            "workload": "qba-paper",
            "requests": requests,
            "seeds": done,
            "runs": len(rows),
            "trace": None if trace is None else trace.name,
        },
        _findings(runs, model, found, ran),
        _parts(runs, model, found, ran, done, trace),
        partial=not complete,
        notes=_notes(parts, trace, done=done, wanted=len(seeds)),
        first=_first(done, len(seeds)) if points else "",
    )


def _run(
    cells: Sequence[Cell], workers: int | None, progress: Callable[[float], None] | None
) -> tuple[dict[int, Row], bool]:
    """Run cells; return a row for each that was done, and whether that is all of them."""
    rows: dict[int, Row] = {}
    try:
        run_cells(cells, workers=workers, progress=progress, each=rows.__setitem__)
    except KeyboardInterrupt:
        return rows, False
    return rows, True


def _whole_seeds(rows: Collection[int], points: int, seeds: int) -> int:
    """Return of how many seeds, from the first on, every point was run."""
    whole = (all(seed * points + place in rows for place in range(points)) for seed in range(seeds))
    return sum(1 for _ in takewhile(bool, whole)) if points else 0


def _measure(point: Point) -> Measure:
    return with_residence if point in CALIBRATION else waits


def _findings(runs: Runs, model: Modelled | None, found: Windows | None, ran: Sequence[str]) -> tuple[Finding, ...]:
    of_model = [claim.finding(model or Modelled({}, {}, runs), ran) for claim in modelled.CLAIMS]
    of_runs = [claim.finding(runs, ran) for claim in (*load.CLAIMS, *sensitivity.CLAIMS, *errors.CLAIMS)]
    nothing = found or Windows({}, 0, 0.0, 0.0, 0.0)
    return (*of_model, *of_runs, *(claim.finding(nothing, ran) for claim in windows.CLAIMS))


def _parts(
    runs: Runs, model: Modelled | None, found: Windows | None, ran: Sequence[str], seeds: int, trace: Trace | None
) -> tuple[Part, ...]:
    makers: dict[str, Callable[[], Part]] = {
        "fig2": lambda: load_part(runs, model, seeds),
        "fig3": lambda: sensitivity_part(runs, seeds),
        "fig4": lambda: errors_part(runs, seeds, "fig4"),
        "fig5": lambda: errors_part(runs, seeds, "fig5"),
    }
    if found is not None and trace is not None:
        makers[WINDOWS] = lambda: windows_part(found, trace.name)
    return tuple(makers[part]() for part in PARTS if part in ran)


def _first(done: int, wanted: int) -> str:
    """Say how many seeds the verdicts are of, where these are fewer than were asked for."""
    if done == wanted:
        return ""
    if not done:
        return f"Interrupted before the first of {wanted} seeds was complete: claims about them were not run."
    these = "this one" if done == 1 else "these"
    return (
        f"Interrupted after {done} of {wanted} seeds: figures and verdicts are of {these} alone. Of so few "
        "hardly a difference is beyond chance, and what does not hold of them may hold of all. Try again to go on."
    )


def _notes(parts: Sequence[str], trace: Trace | None, *, done: int, wanted: int) -> tuple[str, ...]:
    notes = [_CALIBRATED, _WORDS]
    if WINDOWS in parts and trace is None:
        notes.append(_NO_TRACE)
    if done == wanted and done < FULL:
        notes.append(
            f"{done} seeds instead of the paper's {FULL}: intervals are wider, so that fewer differences are beyond "
            "chance, and reported figures are met more easily."
        )
    return tuple(notes)
