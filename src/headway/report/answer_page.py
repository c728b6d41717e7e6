"""A page that answers one question: the answer, what was run, charts and tables, and how to repeat it."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.report.fragments import notes_section, partial_banner, prose, settings_section
from headway.report.page import page

if TYPE_CHECKING:
    from headway.report.drawing import Figure  # it imports altair, which takes long


def answer_page(
    title: str,
    answer: Sequence[str],
    facts: str,
    content: Sequence[str],
    drawn: Sequence[Figure],
    *,
    settings: Mapping[str, Any],
    notes: Sequence[str],
    partial: bool,
    warnings: Sequence[str] = (),
) -> str:
    """Return the page.

    Args:
        title: the question.
        answer: sentences or paragraphs as text, the first one in large letters.
        facts: how much was run, as text.
        content: charts and sections, as HTML.
        drawn: the figures in them.
        settings: what was asked, and the version under `headway`.
        notes: what a reader should know, as text.
        partial: it was interrupted.
        warnings: what the answer is worth less by, as text.
    """
    lead, *rest = answer
    version = html.escape(str(settings.get("headway", "")))
    body = "\n".join(
        (
            f"<header>\n<h1>{html.escape(title)}</h1>",
            partial_banner(partial=partial),
            f'<p class="answer">{prose(lead)}</p>',
            *(f"<p>{prose(text)}</p>" for text in rest),
            *(f'<p class="partial">{prose(text)}</p>' for text in warnings),
            f'<p class="facts">{prose(facts)}</p>\n</header>\n<main>',
            *content,
            settings_section(settings),
            notes_section(notes),
            f"</main>\n<footer>Made by Headway {version}</footer>",
        )
    )
    return page(title, body, list(drawn))
