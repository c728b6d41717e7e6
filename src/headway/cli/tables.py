"""Tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from headway.measure.comparison import Comparison
from headway.report.sentences import answer, question
from headway.report.tables import Table, differences_table, engine_table, tokens_table, waiting_table

SHORT_GROUPS = {
    "P99 wait by class": "P99 wait",
    "First token (TTFT)": "TTFT",
    "Between tokens (ITL)": "ITL",
    "Largest gap (MTPOT)": "MTPOT",
    "End to end": "E2E",
}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print question, answer, tables and notes."""
    console.print(Text(question(comparison), style="bold"))
    console.print(Text(answer(comparison)))
    for table in (waiting_table(comparison), tokens_table(comparison), engine_table(comparison)):
        console.print(_rich(table))
    differences = differences_table(comparison)
    if differences:
        heads = ("difference in mean wait", "", "share", "95 % interval", "")
        console.print(plain_table(heads, differences, right=(1, 2, 3)))
    for note in comparison.notes:
        console.print(Text(f"- {note}", style="dim"))


def plain_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), wrap: Sequence[int] = ()
) -> RichTable:
    """Return an aligned table of texts; columns in `right` hold numbers, those in `wrap` may break."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if index in right else "left", no_wrap=index not in wrap)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _rich(table: Table) -> RichTable:
    rich = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, title=table.title, title_justify="left", title_style="bold")
    rich.add_column("\npolicy", no_wrap=True)
    shown = ""
    for column in table.columns:
        group = SHORT_GROUPS.get(column.group, column.group)
        head = Text(f"{group if group != shown else ''}\n{column.name}", justify="right")
        if column.unit:
            head.append(f" {column.unit}", style="dim")
        rich.add_column(head, justify="right", no_wrap=True)
        shown = group
    for index, policy in enumerate(table.rows):
        cells = [
            Text(f"{column.cells[index]}{column.spread[index]}", style="green" if index in column.best else "")
            for column in table.columns
        ]
        rich.add_row(Text(policy), *cells)
    return rich
