"""Past-Future done again: cells are run, their rows judged and drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from headway.core.errors import InvalidInput
from headway.measure.findings import Claim, Finding
from headway.measure.reproduction import Part, Reproduction
from headway.measure.stability import stability
from headway.studies.cells import Cell, Row, run_cells
from headway.studies.kept import run_kept
from headway.studies.papers.past_future import claims_frontier, claims_lengths, claims_service, claims_settings
from headway.studies.papers.past_future import claims_table as table
from headway.studies.papers.past_future.forecast import forecast
from headway.studies.papers.past_future.grid import ENGINE, FULL, QUICK, Size
from headway.studies.papers.past_future.plan import PARTS, cells
from headway.studies.papers.past_future.plates import controlled, frontiers
from headway.studies.papers.past_future.plates_service import forecasts, goodput, similarity
from headway.studies.papers.past_future.plates_settings import settings, shifts, start_up
from headway.studies.papers.past_future.rows import LABELS, Runs, frame_of, labels
from headway.workload.trace import Trace

TITLE = "Past-Future Scheduler for LLM Serving under SLA Guarantees"
CLAIMS: tuple[Claim[Runs], ...] = (
    *table.CLAIMS,
    *claims_frontier.CLAIMS,
    *claims_settings.CLAIMS,
    *claims_lengths.CLAIMS,
    *claims_service.CLAIMS,
)

DRAWN: dict[str, Callable[[Runs], Part]] = {
    "table": controlled,
    "frontier": frontiers,
    "ablations": settings,
    "start-up": start_up,
    "shift": shifts,
    "goodput": goodput,
    "forecast": forecasts,
    "stability": similarity,
}
"""What each part shows."""

OUTSIDE = (
    Finding(
        "frameworks",
        "Against four other serving frameworks on four hardware platforms it has the most goodput",
        "Evaluation, end to end",
        "",
        "",
        "",
        "not run",
        "Versions of December 2023 on GPUs: rules are compared in one engine here, which the text itself calls the "
        "comparison that carries weight.",
    ),
    Finding(
        "multimodal",
        "It helps multimodal models too",
        "Evaluation, multimodal",
        "",
        "",
        "",
        "not run",
        "The engine has no images; tokens are tokens to a memory rule.",
    ),
    Finding(
        "cheap-every-step",
        "The peak is cheap enough to be computed in every step",
        "Implementation, overhead",
        "",
        "",
        "",
        "not run",
        "Times are measured apart: benchmarks/memory_rules.py.",
    ),
    Finding(
        "learned-predictors",
        "Predicting each length with a model costs inference and does not carry over to other models",
        "Related work",
        "",
        "",
        "",
        "not run",
        "No such predictor is among the rules.",
    ),
)
"""What the text claims that a simulation of memory rules cannot look at."""

SHORTEST_TRACE = 2000
"""Requests that a trace needs: two windows of a thousand."""


def reproduce(
    parts: Collection[str] = tuple(PARTS),
    *,
    quick: bool = False,
    trace: Trace | None = None,
    size: Size | None = None,
    workers: int | None = None,
    keep: Path | None = None,
    command: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Reproduction:
    """Do the evaluation of Past-Future again.

    Args:
        parts: of `PARTS`; claims that need others are "not run". The stability of lengths needs a trace.
        quick: fewer seeds, settings and requests.
        trace: whose output lengths are looked at.
        size: how much is run, instead of what `quick` says.
        workers: processes; by default one a core.
        keep: a folder for finished runs, so that an interrupted study goes on; None keeps none.
        command: what repeats this study, for the report.
        progress: told now and then the share that is done, in 0..1.

    Returns:
        Findings, figures and tables; after Ctrl-C those of the parts that are complete, marked as partial.

    Raises:
        InvalidInput: the trace is too short, or none is given where only its part is asked for.
        KeyboardInterrupt: interrupted before any part was complete.
    """
    size = size or (QUICK if quick else FULL)
    wanted = [part for part in PARTS if part in parts and (part != "stability" or trace is not None)]
    if not wanted:
        raise InvalidInput("stability alone needs a trace: give one with --trace FILE")
    if trace is not None and len(trace) < SHORTEST_TRACE:
        raise InvalidInput(
            f"trace '{trace.name}' has {len(trace)} requests; windows of a thousand need {SHORTEST_TRACE:,} at least"
        )
    planned = cells(size, wanted)
    run = _run if keep is None else partial(run_kept, folder=keep)
    rows, complete = run(planned, workers=workers, progress=progress)
    frame = frame_of(planned, rows)
    ran = set(frame.select(LABELS).iter_rows())
    done = [part for part in wanted if all(labels(cell) in ran for cell in cells(size, [part]))]
    if not complete and not done:
        raise KeyboardInterrupt
    runs = Runs(
        size,
        frame,
        forecast(range(size.seeds) if "forecast" in done else ()),
        stability(trace.frame["output_tokens"].to_numpy()) if trace is not None and "stability" in done else None,
    )
    return Reproduction(
        "past-future",
        TITLE,
        _settings(size, done, trace, command),
        (*(claim.finding(runs, done) for claim in CLAIMS), *OUTSIDE),
        tuple(DRAWN[part](runs) for part in done),
        partial=not complete,
        notes=tuple(_notes(wanted, done, parts, trace)),
    )


def _run(
    planned: Sequence[Cell], workers: int | None, progress: Callable[[float], None] | None
) -> tuple[dict[int, Row], bool]:
    """Return the rows of what was run by its place, and whether that is all."""
    rows: dict[int, Row] = {}
    try:
        run_cells(planned, workers=workers, progress=progress, each=rows.__setitem__)
    except KeyboardInterrupt:
        return rows, False
    return rows, True


def _settings(size: Size, done: Sequence[str], trace: Trace | None, command: str | None) -> dict[str, Any]:
    return {
        "headway": version("headway"),
        "command": command,
        "parts": list(done),
        "engine": ENGINE,
        "trace": trace and trace.name,
        "runs": len(cells(size, done)),
        "seeds": size.seeds,
        "seeds of ablations": size.ablated,
        "seeds of the frontier": size.frontier,
        "seeds of the closed loop": size.service,
        "requests of the frontier": size.requests,
        "requests a client": size.each,
    }


def _notes(wanted: Sequence[str], done: Sequence[str], parts: Collection[str], trace: Trace | None) -> list[str]:
    notes: list[str] = []
    if missing := [part for part in wanted if part not in done]:
        notes.append(f"Interrupted: {', '.join(missing)} not complete, and left out. Try again to go on.")
    if "stability" in parts and trace is None:
        notes.append("The stability of output lengths needs a trace (--trace FILE) and is left out.")
    if any(part not in ("stability", "forecast") for part in done):
        notes.append(
            "Simulated. In the controlled comparison time counts decode steps and prefill is free; the closed loop "
            "runs on roofline models of A100s from public data sheets, with lengths fitted to what is known of "
            "ShareGPT-o1."
        )
    return notes
