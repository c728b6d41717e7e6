"""What `capacity` found, as one HTML page that needs nothing else."""

from __future__ import annotations

import html
from pathlib import Path

from headway.files import write_whole
from headway.measure.capacity import Capacity
from headway.report.capacity_chart import capacity_figures
from headway.report.capacity_tables import held_table, limits_table, rates_table
from headway.report.capacity_words import capacity_answer, capacity_question, kept_text
from headway.report.fragments import (
    figure_grid,
    notes_section,
    partial_banner,
    prose,
    section,
    settings_section,
    table_html,
)
from headway.report.page import page

_HELD = (
    "The highest rate up to which the agreement is kept at every rate that was run. The interval is where the ends of "
    "the attainment's 95 % interval cross the bound. Replicas are independent engines of the same kind; so many keep "
    "the agreement at the rate of the source, and one less does not."
)
_LIMITS = "The stretch of traffic in which least was kept, at the lowest rate that is not held."
_RATES = "Means over the stretches of traffic, which are the same at every rate but for the time between arrivals."


def capacity_page(found: Capacity) -> str:
    """Return the page: question, answer, charts, tables, and how to repeat it."""
    title = capacity_question(found)
    drawn = capacity_figures(found)
    limits, rates = limits_table(found), rates_table(found)
    version = html.escape(str(found.settings.get("headway", "")))
    lead, *rest = capacity_answer(found)
    body = "\n".join(
        (
            f"<header>\n<h1>{html.escape(title)}</h1>",
            partial_banner(partial=found.partial),
            f'<p class="answer">{prose(lead)}</p>',
            *(f"<p>{prose(text)}</p>" for text in rest),
            f'<p class="facts">{prose(_facts(found))}</p>\n</header>\n<main>',
            figure_grid(drawn),
            section("What each policy holds", _HELD, table_html(held_table(found))),
            section(limits.title, _LIMITS, table_html(limits)) if limits else "",
            section(rates.title, _RATES, table_html(rates)) if rates else "",
            settings_section(found.settings),
            notes_section(found.notes),
            f"</main>\n<footer>Made by Headway {version}</footer>",
        )
    )
    return page(title, body, drawn)


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
