"""The parts of the HTML report. Everything that comes from outside is escaped here."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.measure.comparison import Comparison
from headway.report.columns import Column, Table
from headway.report.labels import policy_colours, short_labels
from headway.report.numbers import count_text
from headway.report.tables import differences_table

if TYPE_CHECKING:
    from headway.report.drawing import Figure  # it imports altair, which takes long

_UNITS = re.compile(r"(?<=\d) (?=(?:%|s|ms|µs|min|h)(?!\w))")
_SHOWN_ELSEWHERE = ("headway", "command", "rules")


def partial_banner(*, partial: bool) -> str:
    """Say at the top that something is missing, if it is."""
    if not partial:
        return ""
    return (
        '<p class="partial" role="status">Interrupted: these results are partial. '
        "The notes at the end say what is missing.</p>"
    )


def facts(comparison: Comparison) -> str:
    """Say how much was run, as text."""
    if not comparison.policies:
        return ""
    requests = count_text(max(summary.latency.requests for summary in comparison.policies))
    seeds = comparison.seeds
    if len(seeds) == 1:
        return f"{requests} requests under each policy, seed {seeds[0]}."
    return (
        f"{requests} requests under each policy and seed, {len(seeds)} seeds ({seeds[0]} to {seeds[-1]}). "
        "Figures are means over the seeds, with half the width of their 95 % intervals below."
    )


def prose(text: str) -> str:
    """Return text as HTML in which no line ends between a number and its unit."""
    return _UNITS.sub("\N{NO-BREAK SPACE}", html.escape(text))


def section(title: str, how: str, content: str) -> str:
    """Return a section with a title, a line on how to read it, and its content (HTML)."""
    return f'<section>\n<h2>{title}</h2>\n<p class="how">{prose(how)}</p>\n{content}\n</section>'


def table_html(table: Table) -> str:
    """Return a table with grouped heads; the first column stays in sight when the others scroll."""
    columns = table.columns
    begins = [i == 0 or columns[i - 1].group != column.group for i, column in enumerate(columns)]
    groups = [column.group for column in columns]
    heads = "".join(
        f'<th class="group" colspan="{groups.count(group)}" scope="colgroup"><span>{html.escape(group)}</span></th>'
        for group in dict.fromkeys(groups)
    )
    names = "".join(
        f'<th scope="col"{_classes(first=begin)}>{html.escape(column.name)}{_unit(column.unit)}</th>'
        for column, begin in zip(columns, begins, strict=True)
    )
    labels = short_labels(table.rows)
    colours = table.colours or policy_colours(list(dict.fromkeys(table.rows)))
    rows = "\n".join(
        _block(table, row)
        + f"<tr>{_policy(policy, labels[policy], colours[policy])}"
        + "".join(_cell(column, row, first=begin) for column, begin in zip(columns, begins, strict=True))
        + "</tr>"
        for row, policy in enumerate(table.rows)
    )
    return _scrolling(
        f'<tr><th></th>{heads}</tr>\n<tr><th scope="col">{html.escape(table.head.capitalize())}</th>{names}</tr>',
        rows,
    )


def differences_section(comparison: Comparison) -> str:
    """Return the pairs of policies with interval and verdict."""
    rows = differences_table(comparison)
    if not rows:
        return ""
    seeds = comparison.paired[0].method == "seeds"
    of = "seeds" if seeds else "20 blocks of successive requests"
    how = (
        f"Mean wait of the first less that of the second, on the same requests, with 95 % intervals over {of}. Where "
        f"the interval contains 0 the difference may be chance{'' if seeds else '; where not, one run cannot tell'}."
    )
    heads = ("Difference", "Share", "95 % interval")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "\n".join(
        f'<tr><th scope="row">{html.escape(pair)}</th>'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + f'<td class="words">{verdict}</td></tr>'
        for pair, *cells, verdict in rows
    )
    head = f'<tr><th scope="col">Policies</th>{head}<th scope="col" class="words">Verdict</th></tr>'
    return section("Is the difference more than chance?", how, _scrolling(head, body))


def figure_grid(drawn: Sequence[Figure]) -> str:
    """Return places for charts, with their words; the page's script draws them."""
    if not drawn:
        return ""
    items = "\n".join(
        f'<figure class="{figure.place}">\n<figcaption><h3>{html.escape(figure.title)}</h3>'
        f"<p>{prose(figure.caption)}</p></figcaption>\n"
        + "\n".join(f'<div class="chart" id="{name}"></div>' for name in chart_ids(figure))
        + "\n</figure>"
        for figure in drawn
    )
    missing = '<noscript><p class="how">The charts need JavaScript.</p></noscript>'
    return f'<div class="figures">\n{items}\n</div>\n{missing}'


def chart_ids(figure: Figure) -> list[str]:
    """Return the id of each chart's place on the page."""
    return [f"chart-{figure.key}-{i}" for i in range(len(figure.charts))]


def settings_section(settings: Mapping[str, Any]) -> str:
    """Return the command that repeats what is shown, and every other setting."""
    command = settings.get("command")
    shown = f"<pre><code>{html.escape(str(command))}</code></pre>\n" if command else ""
    items = "\n".join(
        f"<dt>{html.escape(str(key))}</dt><dd>{html.escape(_value(value))}</dd>"
        for key, value in settings.items()
        if key not in _SHOWN_ELSEWHERE and value is not None
    )
    if not shown and not items:
        return ""
    return f"<section>\n<h2>Repeat it</h2>\n{shown}<dl>\n{items}\n</dl>\n</section>"


def notes_section(notes: Sequence[str]) -> str:
    """Return what the reader must know, a sentence each."""
    if not notes:
        return ""
    items = "\n".join(f"<li>{prose(note)}</li>" for note in notes)
    return f"<section>\n<h2>Notes</h2>\n<ul>\n{items}\n</ul>\n</section>"


def _scrolling(head: str, body: str) -> str:
    return f'<div class="scroll"><table>\n<thead>\n{head}\n</thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'


def _block(table: Table, row: int) -> str:
    """Return a row that says what the rows below it are of, where a new block begins; its words stay in sight."""
    if not table.blocks or (row > 0 and table.blocks[row] == table.blocks[row - 1]):
        return ""
    name = f"<span>{html.escape(table.blocks[row])}</span>"
    return f'<tr class="block"><th scope="rowgroup" colspan="{len(table.columns) + 1}">{name}</th></tr>\n'


def _policy(policy: str, label: str, colour: str) -> str:
    """Return a policy's name as the head of its row, in its colour; below it the spec where it is longer."""
    full = f'<span class="spec">{html.escape(policy)}</span>' if label != policy else ""
    chip = f'<span class="chip" style="background:{colour}"></span>'
    return f'<th scope="row">{chip}{html.escape(label)}{full}</th>'


def _cell(column: Column, row: int, *, first: bool) -> str:
    spread = f'<span class="spread">{column.spread[row]}</span>' if column.spread[row] else ""
    return f"<td{_classes(first=first, best=row in column.best)}>{column.cells[row]}{spread}</td>"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_value(item)}" for key, item in value.items() if item is not None)
    if isinstance(value, list | tuple):
        return ", ".join(_value(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _unit(unit: str) -> str:
    return f' <span class="unit">({unit})</span>' if unit else ""


def _classes(**used: bool) -> str:
    names = " ".join(name for name, use in used.items() if use)
    return f' class="{names}"' if names else ""
