"""The report of a comparison as one HTML file."""

from __future__ import annotations

import html
from pathlib import Path

from headway.files import write_whole
from headway.measure.comparison import Comparison
from headway.report.fragments import (
    differences_section,
    facts,
    figure_grid,
    notes_section,
    partial_banner,
    prose,
    section,
    settings_section,
    table_html,
)
from headway.report.sentences import answer, question, rules_line
from headway.report.tables import engine_table, memory_table, refusals_table, tokens_table, waiting_table
from headway.report.tenant_sections import tenant_sections

_WAITING = (
    "From arrival until a request is first scheduled, of all requests that were. A quantile is a wait that "
    "occurred: P99 is the shortest that 99 % do not exceed. Short and long are true classes, by output "
    "length. The lowest figure of a column is green."
)
_TOKENS = (
    "First token is counted from arrival. Between tokens is the time from one delivery to the next, over all "
    "deliveries of all requests; the largest gap is each request's own. End to end is of finished requests."
)
_ENGINE = (
    "Throughput is of finished requests, over the time from the first arrival to the last finish. Batch is "
    "the share of the token budget used, KV the share of the cache; OOM counts iterations that exceeded it. "
    "Cancelled are requests whose clients left; wasted tokens, if any, were computed for these."
)

_REFUSALS = (
    "Deadline: out of reach when it was refused. Unreachable: out of reach of an idle engine too. Queue full: so many "
    "waited. Memory: it never fits. Told after is the time from arrival to refusal, of requests that were never "
    "started. Demoted requests wait behind all others and finish in the end. Met is the share of all requests that "
    "kept every limit of the agreement, and of the finished ones; goodput counts only these."
)

_MEMORY = (
    "Until the queue was empty for the first time. Required is the peak that the true lengths of the residents will "
    "need, after each admission round. Evictions count events and the requests they hit; recomputed are prompt tokens "
    "filled again. Met is the share of requests that kept every limit of the agreement; goodput counts only these."
)


def html_report(comparison: Comparison) -> str:
    """Return the report: question, answer, tables, charts and how to repeat it.

    The same comparison gives the same text; how long it took to compute is not in it.
    """
    # altair takes as long to import as everything else together: only who draws pays for it.
    from headway.report.charts import figures  # noqa: PLC0415
    from headway.report.life_chart import life_figure  # noqa: PLC0415
    from headway.report.page import page  # noqa: PLC0415
    from headway.report.tenant_charts import tenant_figures  # noqa: PLC0415

    life = life_figure(comparison)
    drawn, of_tenants = figures(comparison) + ([life] if life else []), tenant_figures(comparison)
    memory, refusals = memory_table(comparison), refusals_table(comparison)
    title = question(comparison)
    version = html.escape(str(comparison.settings.get("headway", "")))
    body = "\n".join(
        (
            f"<header>\n<h1>{html.escape(title)}</h1>",
            partial_banner(partial=comparison.partial),
            f'<p class="answer">{prose(answer(comparison))}</p>',
            f'<p class="facts">{prose(f"{facts(comparison)} {rules_line(comparison)}".strip())}</p>\n</header>\n<main>',
            section("Waiting", _WAITING, table_html(waiting_table(comparison))),
            figure_grid([figure for figure in drawn if figure.place != "wide"]),
            differences_section(comparison),
            section("Tokens", _TOKENS, table_html(tokens_table(comparison))),
            *tenant_sections(comparison, of_tenants),
            section("Engine", _ENGINE, table_html(engine_table(comparison))),
            section("Refusals", _REFUSALS, table_html(refusals)) if refusals else "",
            section("Memory and agreement", _MEMORY, table_html(memory)) if memory else "",
            figure_grid([figure for figure in drawn if figure.place == "wide"]),
            settings_section(comparison.settings),
            notes_section(comparison.notes),
            f"</main>\n<footer>Made by Headway {version}</footer>",
        )
    )
    return page(title, body, [*drawn, *of_tenants])


def write_html(comparison: Comparison, path: Path | str) -> None:
    """Write the report; whole or not at all.

    Raises:
        OSError: the path cannot be written.
    """
    write_whole(path, html_report(comparison).encode())
