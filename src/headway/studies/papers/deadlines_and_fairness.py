"""Deadline-Aware Batching and Tenant Fairness, and the papers behind it, done again.

Sources: the article of that title, every claim of it; Fairness in Serving Large Language Models (OSDI 2024); published
ablations of deadline orders. Shapes, not digits: the article measures nothing, and the published systems are others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from headway.core.errors import InvalidInput
from headway.measure.findings import Claim, Finding
from headway.measure.reproduction import Part, Reproduction
from headway.studies.cells import Cell, Row, run_cells
from headway.studies.kept import run_kept
from headway.studies.papers.fairness import clients, deadlines, sharing
from headway.studies.papers.fairness.grid import PARTS, QUICK_RATES, RATES, Setup, cells_of, setups
from headway.studies.papers.fairness.plates import deadlines_part, other_parts
from headway.studies.papers.fairness.runs import Runs

TITLE = "Deadline-Aware Batching and Tenant Fairness"
FULL, QUICK = 3, 1
"""Seeds."""
SECONDS, QUICK_SECONDS = 3600, 1800
"""Of the load sweep."""

SECTIONS = (
    deadlines.SECTION,
    sharing.SECTION,
    deadlines.INTERACTION,
    clients.STARVATION,
    clients.CLIENTS,
    deadlines.PUBLISHED,
)
CLAIMS: tuple[Claim[Runs], ...] = tuple(
    sorted((*deadlines.CLAIMS, *sharing.CLAIMS, *clients.CLAIMS), key=lambda claim: SECTIONS.index(claim.where))
)
"""In the order of the article; what others published comes last."""

_SHAPES = (
    "The article gives no figures; what is reported is from papers on systems that differ from this one. Shapes are "
    "compared, with thresholds that the claims name."
)
_ONE_SEED = "One seed: nothing is said about chance, and no figure has an interval."


def reproduce(
    parts: Sequence[str] = PARTS,
    *,
    quick: bool = False,
    workers: int | None = None,
    keep: Path | None = None,
    command: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Reproduction:
    """Run the set-ups and judge every claim.

    Args:
        parts: which, of `PARTS`; claims that need others are not run.
        quick: one seed, half an hour of load and fewer rates, in place of three, an hour and all.
        workers: processes; by default one a core.
        keep: a folder for finished runs, so that an interrupted study goes on; None keeps none.
        command: what repeats it.
        progress: told now and then the share that is done, in 0..1.

    Raises:
        InvalidInput: an unknown part.
        KeyboardInterrupt: Ctrl-C before any part was complete; later what is complete is returned as partial.
    """
    if not parts or not set(parts) <= set(PARTS):
        raise InvalidInput(f"parts {list(parts)}; expected some of {', '.join(PARTS)}")
    rates, seconds, seeds = (QUICK_RATES, QUICK_SECONDS, QUICK) if quick else (RATES, SECONDS, FULL)
    planned = cells_of(setups(parts, rates, seconds), range(seeds))
    chosen, cells = [setup for setup, _ in planned], [cell for _, cell in planned]
    rows, complete = (
        _run(cells, workers, progress) if keep is None else run_kept(cells, keep, workers=workers, progress=progress)
    )
    ran = _complete(parts, chosen, rows)
    if not ran:
        raise KeyboardInterrupt
    runs = runs_of(chosen, rows, rates)
    notes = [_SHAPES, *([_ONE_SEED] if seeds == 1 else [])]
    if not complete:
        notes.append(f"Interrupted: {len(rows)} of {len(cells)} runs were complete; parts that lack some are left out.")
    return Reproduction(
        "fairness",
        TITLE,
        _settings(command, seeds, seconds, rates, len(rows)),
        findings_of(runs, ran),
        _parts(runs, ran),
        partial=not complete,
        notes=tuple(notes),
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


def runs_of(chosen: Sequence[Setup], rows: dict[int, Row], rates: Sequence[float]) -> Runs:
    """Return rows by the name of their set-up, in order of their seeds."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for place, row in sorted(rows.items()):  # rows that were kept have a place for the figures of all others
        found[chosen[place].name].append({figure: value for figure, value in row.items() if value is not None})
    return Runs(dict(found), tuple(rates))


def findings_of(runs: Runs, ran: Sequence[str]) -> tuple[Finding, ...]:
    """Return a finding for each claim."""
    return tuple(claim.finding(runs, ran) for claim in CLAIMS)


def _complete(parts: Sequence[str], chosen: Sequence[Setup], rows: dict[int, Row]) -> list[str]:
    lacking = {setup.part for place, setup in enumerate(chosen) if place not in rows}
    return [part for part in PARTS if part in parts and part not in lacking]


def _parts(runs: Runs, ran: Sequence[str]) -> tuple[Part, ...]:
    first = [deadlines_part(runs)] if "deadlines" in ran else []
    return (*first, *other_parts(runs, ran))


def _settings(command: str | None, seeds: int, seconds: int, rates: Sequence[float], runs: int) -> dict[str, Any]:
    return {
        "headway": version("headway"),
        "command": command,
        "seeds": seeds,
        "seconds": seconds,
        "rates_per_s": list(rates),
        "runs": runs,
    }
