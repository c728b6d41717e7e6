"""The frontier as one HTML page that needs nothing else."""

from __future__ import annotations

from pathlib import Path

from headway.files import write_whole
from headway.measure.frontier import Frontier
from headway.report.answer_page import answer_page
from headway.report.fragments import (
    figure_grid,
    section,
    table_html,
)
from headway.report.frontier_chart import frontier_figure
from headway.report.frontier_tables import equal_use_table, settings_table, times_table
from headway.report.frontier_words import frontier_answer, frontier_question
from headway.report.numbers import count_text

_EQUAL = (
    "Evictions of each rule where it holds as much of the cache: their logarithm is interpolated between settings. "
    "Below (<) is said where a setting beside had none at all. The last column turns it round: how full the cache is "
    "when one request in a hundred is evicted."
)
_TIMES = (
    "How many times fewer evictions a rule has at the same use; below 1 it has more. With several seeds 95 % intervals "
    "stand below, by the jackknife over seeds."
)
_SETTINGS = (
    "Evictions count events, so one request can be hit more than once. Recomputed are prompt tokens that were filled "
    "again, over all requests. A rule's values end where each request is evicted once in the mean."
)


def frontier_page(found: Frontier) -> str:
    """Return the page: question, answer, chart, tables, and how to repeat it."""
    drawn = [frontier_figure(found)]
    equal, times = equal_use_table(found), times_table(found)
    content = (
        figure_grid(drawn),
        section(equal.title, _EQUAL, table_html(equal)) if equal else "",
        section(times.title, _TIMES, table_html(times)) if times else "",
        section("Every setting", _SETTINGS, table_html(settings_table(found))),
    )
    return answer_page(
        frontier_question(found),
        [frontier_answer(found)],
        _facts(found),
        content,
        drawn,
        settings=found.settings,
        notes=found.notes,
        partial=found.partial,
    )


def write_frontier(found: Frontier, path: Path | str) -> None:
    """Write the page; whole or not at all.

    Raises:
        OSError: the path cannot be written.
    """
    write_whole(path, frontier_page(found).encode())


def _facts(found: Frontier) -> str:
    """Say how much was run, and what part of it counts."""
    requests, seeds = found.settings["requests"], found.seeds
    runs = sum(len(point.seeds) for curve in found.curves for point in curve.points)
    drawn = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds ({seeds[0]} to {seeds[-1]})"
    part = "whole runs count"
    if found.part == "steady":
        part = f"what counts is from {count_text(found.settings['steady_after'])} finishes to an empty queue"
    return f"{count_text(requests)} requests under {found.settings['policy']}, {drawn}, {runs} runs; {part}."
