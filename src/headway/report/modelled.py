"""The queueing model beside the simulator as one HTML page that needs nothing else."""

from __future__ import annotations

import html
from pathlib import Path

from headway.files import write_whole
from headway.measure.modelled import Modelled
from headway.report.fragments import (
    figure_grid,
    notes_section,
    partial_banner,
    prose,
    section,
    settings_section,
    table_html,
)
from headway.report.modelled_tables import modelled_plates, modelled_table
from headway.report.modelled_words import calibration_text, modelled_answer, modelled_question
from headway.report.page import page
from headway.report.plates import figure_of

_TABLE = (
    "Means over all requests and seeds; ∞ where the model has no mean wait, ≈ 0 below a microsecond. The simulated "
    "ones are the same in each block."
)


def modelled_page(found: Modelled) -> str:
    """Return the page: question, answer, charts, table, and how to repeat it."""
    title = modelled_question(found)
    drawn = [figure_of(plate) for plate in modelled_plates(found)]
    table = modelled_table(found)
    version = html.escape(str(found.settings.get("headway", "")))
    body = "\n".join(
        (
            f"<header>\n<h1>{html.escape(title)}</h1>",
            partial_banner(partial=found.partial),
            f'<p class="answer">{prose(modelled_answer(found))}</p>',
            f'<p class="facts">{prose(calibration_text(found))}</p>\n</header>\n<main>',
            figure_grid(drawn),
            section(table.title, _TABLE, table_html(table)),
            settings_section(found.settings),
            notes_section(found.notes),
            f"</main>\n<footer>Made by Headway {version}</footer>",
        )
    )
    return page(title, body, drawn)


def write_modelled(found: Modelled, path: Path | str) -> None:
    """Write the page; whole or not at all.

    Raises:
        OSError: the path cannot be written.
    """
    write_whole(path, modelled_page(found).encode())
