"""The queueing model beside the simulator as one HTML page that needs nothing else."""

from __future__ import annotations

from pathlib import Path

from headway.files import write_whole
from headway.measure.modelled import Modelled
from headway.report.answer_page import answer_page
from headway.report.fragments import (
    figure_grid,
    section,
    table_html,
)
from headway.report.modelled_tables import modelled_plates, modelled_table
from headway.report.modelled_words import calibration_text, modelled_answer, modelled_question
from headway.report.plates import figure_of

_TABLE = (
    "Means over all requests and seeds; ∞ where the model has no mean wait, ≈ 0 below a microsecond. The simulated "
    "ones are the same in each block."
)


def modelled_page(found: Modelled) -> str:
    """Return the page: question, answer, charts, table, and how to repeat it."""
    drawn = [figure_of(plate) for plate in modelled_plates(found)]
    table = modelled_table(found)
    return answer_page(
        modelled_question(found),
        [modelled_answer(found)],
        calibration_text(found),
        (figure_grid(drawn), section(table.title, _TABLE, table_html(table))),
        drawn,
        settings=found.settings,
        notes=found.notes,
        partial=found.partial,
    )


def write_modelled(found: Modelled, path: Path | str) -> None:
    """Write the page; whole or not at all.

    Raises:
        OSError: the path cannot be written.
    """
    write_whole(path, modelled_page(found).encode())
