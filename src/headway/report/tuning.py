"""What `tune` found, as one HTML page that needs nothing else."""

from __future__ import annotations

import html
from pathlib import Path

from headway.files import write_whole
from headway.measure.tuning import Tuning
from headway.report.answer_page import answer_page
from headway.report.fragments import (
    figure_grid,
    section,
    table_html,
)
from headway.report.tuning_chart import gains_figure
from headway.report.tuning_tables import candidates_table, changes_table
from headway.report.tuning_words import ALONE, tuning_answer, tuning_facts, tuning_question

_CANDIDATES = (
    "What came to the end of the search, judged on traffic that the search never saw. Verdicts are of paired "
    "differences to the baseline on the same requests; a gain whose interval contains 0 is no significant difference, "
    "one below 1 % does not matter."
)
_CHANGES = (
    "Means over the held-out stretches. Worse and better are said where the interval of the paired difference leaves "
    "out 0; of so many figures one may do so by chance."
)


def tuning_page(found: Tuning) -> str:
    """Return the page: question, answer, what to paste, chart and tables."""
    drawn = [gains_figure(found)]
    changes = changes_table(found)
    content = (
        _paste(found),
        figure_grid(drawn),
        section("Settings on the held-out stretches", _CANDIDATES, table_html(candidates_table(found))),
        section(changes.title, _CHANGES, table_html(changes)) if changes else "",
    )
    return answer_page(
        tuning_question(found),
        tuning_answer(found),
        tuning_facts(found),
        content,
        drawn,
        settings=found.settings,
        notes=found.notes,
        partial=found.partial,
        warnings=found.warnings,
    )


def write_tuning(found: Tuning, path: Path | str) -> None:
    """Write the page; whole or not at all.

    Raises:
        OSError: the path cannot be written.
    """
    write_whole(path, tuning_page(found).encode())


def _paste(found: Tuning) -> str:
    blocks = [("See it", found.paste["compare"])]
    if found.paste["baseline"]:
        blocks.append((ALONE, found.paste["baseline"]))
    blocks.append(("Run it: headway serve --config FILE", found.paste["serve"]))
    if found.paste.get("promises"):
        blocks.append(("With these promises, in the file that both name", found.paste["promises"]))
    return "\n".join(
        f"<section>\n<h2>{head}</h2>\n<pre><code>{html.escape(text or '')}</code></pre>\n</section>"
        for head, text in blocks
    )
