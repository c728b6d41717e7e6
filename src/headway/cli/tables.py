"""Tables in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from headway.measure.comparison import Comparison
from headway.measure.frontier import Frontier
from headway.measure.modelled import Modelled
from headway.measure.reproduction import Reproduction
from headway.report.formula_words import formula_answer, formula_question, formula_rows
from headway.report.frontier_tables import equal_use_table, settings_table, times_table
from headway.report.frontier_words import frontier_answer, frontier_question
from headway.report.modelled_tables import modelled_table
from headway.report.modelled_words import calibration_text, modelled_answer, modelled_question
from headway.report.reproduction_words import figures_text, left_out_text, reproduction_answer, reproduction_question
from headway.report.sentences import answer, question, rules_line
from headway.report.tables import (
    Column,
    Table,
    differences_table,
    engine_table,
    memory_table,
    refusals_table,
    tokens_table,
    waiting_table,
)
from headway.report.tenant_tables import classes_table, fairness_table, tenants_table

MIN_NAMES = 16  # characters
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
    if rules := rules_line(comparison):
        console.print(Text(rules, style="dim"))
    console.print(Text(answer(comparison)))
    tenancy = (tenants_table, classes_table, fairness_table)
    for make in (waiting_table, tokens_table, *tenancy, engine_table, refusals_table, memory_table):
        print_table(make(comparison), console)
    differences = differences_table(comparison)
    if differences:
        heads = ("mean wait", "difference", "share", "95 % interval", "")
        console.print(plain_table(heads, differences, right=(1, 2, 3), wrap=(0,)))
    for note in comparison.notes:
        console.print(Text(f"- {note}", style="dim"))


def print_frontier(found: Frontier, console: Console) -> None:
    """Print question, answer, tables and notes."""
    console.print(Text(frontier_question(found), style="bold"))
    console.print(Text(frontier_answer(found)))
    for make in (equal_use_table, times_table, settings_table):
        print_table(make(found), console)
    for note in found.notes:
        console.print(Text(f"- {note}", style="dim"))


def print_reproduction(found: Reproduction, console: Console) -> None:
    """Print question, answer, every finding that was judged, and notes."""
    console.print(Text(reproduction_question(found), style="bold"))
    if found.first:
        console.print(Text(found.first, style="yellow"))
    console.print(Text(reproduction_answer(found)))
    rows = [
        (one.verdict, one.claim, one.reported, figures_text(one)) for one in found.findings if one.verdict != "not run"
    ]
    table = plain_table(("verdict", "claim", "reported", "ours"), rows, wrap=(0, 1, 2, 3))
    table.columns[0].min_width = table.columns[2].min_width = 8
    console.print(table)
    if left_out := left_out_text(found):
        console.print(Text(left_out))
    for note in found.notes:
        console.print(Text(f"- {note}", style="dim"))


def print_modelled(found: Modelled, console: Console) -> None:
    """Print question, answer, what was calibrated, the table and notes."""
    console.print(Text(modelled_question(found), style="bold"))
    console.print(Text(modelled_answer(found)))
    console.print(Text(calibration_text(found), style="dim"))
    print_table(modelled_table(found), console)
    for note in found.notes:
        console.print(Text(f"- {note}", style="dim"))


def print_formula(answer: Mapping[str, Any], console: Console) -> None:
    """Print what the queueing model says of numbers."""
    console.print(Text(formula_question(answer), style="bold"))
    console.print(Text(formula_answer(answer)))
    console.print(plain_table(*formula_rows(answer), right=(1, 2, 3)))


def print_table(table: Table | None, console: Console) -> None:
    """Print a table, if there is one, in as many parts as fit the width."""
    for part in _fitting(table, console) if table is not None else ():
        console.print(part)


def plain_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), wrap: Sequence[int] = ()
) -> RichTable:
    """Return an aligned table of texts; columns in `right` hold numbers, those in `wrap` may break."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, head in enumerate(heads):
        justify = "right" if index in right else "left"
        table.add_column(head, justify=justify, no_wrap=index not in wrap, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _fitting(table: Table, console: Console) -> list[RichTable]:
    """Return the table in as many parts as it takes to show every figure whole; groups stay together if they can."""
    unbounded = console.options.update(width=10 * console.width)
    names = max(MIN_NAMES, console.width // 4)

    def fits(columns: Sequence[Column]) -> bool:
        return console.measure(_rich(table, columns, names), options=unbounded).maximum <= console.width

    parts: list[list[Column]] = [[]]
    for _, members in groupby(table.columns, key=lambda column: column.group):
        group = list(members)
        for block in [group] if fits(group) else [[column] for column in group]:
            if parts[-1] and not fits([*parts[-1], *block]):
                parts.append([])
            parts[-1] += block
    return [_rich(table, part, names) for part in parts]


def _rich(table: Table, columns: Sequence[Column], names: int) -> RichTable:
    """Return a table of the given columns; policies' names are folded at `names` characters."""
    rich = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, title=table.title, title_justify="left", title_style="bold")
    if table.blocks:
        rich.add_column(f"\n{table.block_head}", overflow="fold", max_width=names)
    rich.add_column(f"\n{table.head}", overflow="fold", max_width=names)
    shown = ""
    for column in columns:
        group = SHORT_GROUPS.get(column.group, column.group)
        head = Text(f"{group if group != shown else ''}\n{column.name}", justify="right")
        if column.unit:
            head.append(f" {column.unit}", style="dim")
        rich.add_column(head, justify="right", no_wrap=True)
        shown = group
    for index, policy in enumerate(table.rows):
        cells = [
            Text(f"{column.cells[index]} {column.spread[index]}".strip(), style="green" if index in column.best else "")
            for column in columns
        ]
        if table.blocks:
            again = index > 0 and table.blocks[index] == table.blocks[index - 1]
            cells.insert(0, Text(policy))
            rich.add_row(Text("" if again else table.blocks[index]), *cells)
        else:
            rich.add_row(Text(policy), *cells)
    return rich
