"""What `capacity` found, as one HTML page that needs nothing else."""

from __future__ import annotations

from pathlib import Path

from headway.files import write_whole
from headway.measure.capacity import Capacity
from headway.report.answer_page import answer_page
from headway.report.capacity_chart import capacity_figures
from headway.report.capacity_tables import held_table, limits_table, rates_table
from headway.report.capacity_words import capacity_answer, capacity_question, kept_text
from headway.report.fragments import (
    figure_grid,
    section,
    table_html,
)

_HELD = (
    "The highest rate up to which the agreement is kept at every rate that was run. The interval is where the ends of "
    "the attainment's 95 % interval cross the bound. Replicas are independent engines of the same kind; so many keep "
    "the agreement at the rate of the source, and one less does not."
)
_LIMITS = "The stretch of traffic in which least was kept, at the lowest rate that is not held."
_RATES = "Means over the stretches of traffic, which are the same at every rate but for the time between arrivals."


def capacity_page(found: Capacity) -> str:
    """Return the page: question, answer, charts, tables, and how to repeat it."""
    drawn = capacity_figures(found)
    limits, rates = limits_table(found), rates_table(found)
    content = (
        figure_grid(drawn),
        section("What each policy holds", _HELD, table_html(held_table(found))),
        section(limits.title, _LIMITS, table_html(limits)) if limits else "",
        section(rates.title, _RATES, table_html(rates)) if rates else "",
    )
    return answer_page(
        capacity_question(found),
        capacity_answer(found),
        _facts(found),
        content,
        drawn,
        settings=found.settings,
        notes=found.notes,
        partial=found.partial,
    )


def write_capacity(found: Capacity, path: Path | str) -> None:
    """Write the page; whole or not at all.

    Raises:
        OSError: the path cannot be written.
    """
    write_whole(path, capacity_page(found).encode())


def _facts(found: Capacity) -> str:
    runs = sum(len(point.kept) for one in found.held for point in one.points)
    return (
        f"{found.settings['stretches']} {found.settings['traffic']} of about {found.settings['requests']:,} requests, "
        f"{runs:,} runs; the agreement must be kept for {kept_text(found.settings['attain'])} of all requests."
    )
