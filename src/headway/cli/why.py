"""`headway why`: one request's wait."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from headway.cli.console import STANDARD_OUTPUT, err, out, write_json
from headway.cli.options import JsonOption, RunSeedOption
from headway.cli.paths import check_apart, json_output
from headway.cli.tables import plain_table
from headway.core.errors import InvalidInput, nearest
from headway.measure.journal import RunJournal
from headway.measure.journal_file import read_journals
from headway.measure.why import Why
from headway.measure.why import why as explain
from headway.report.why import ahead_rows, side_by_side_rows, wait_rows, wait_title, why_answer, why_details

POLICIES_IN_A_ROW = 4


def why(
    result: Annotated[
        str, typer.Argument(metavar="RESULT", help="A journal: the file that compare or simulate wrote with --journal.")
    ],
    request: Annotated[str, typer.Argument(metavar="ID", help="The id of the request.")],
    *,
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="NAME", help="Only under this policy.", show_default="all, side by side"),
    ] = None,
    seed: RunSeedOption = None,
    json: JsonOption = None,
) -> None:
    """Explain one request's wait: behind whom, refused by memory, out of budget, demoted, and by which rule.

    Example: headway why journal.parquet 512
    """
    target = json_output(json)
    check_apart((result,), {"--json": target})
    journals = _chosen(read_journals(Path(result)), policy, seed)
    tolds = [explain(journal, request) for journal in journals]
    if target is not None:
        write_json({"request": request, "policies": [told.to_dict() for told in tolds]}, target)
    if target == STANDARD_OUTPUT:
        return
    _print(tolds)
    if target is not None:
        err.print(f"wrote {target}", markup=False)


def _chosen(journals: list[RunJournal], policy: str | None, seed: int | None) -> list[RunJournal]:
    """Return the runs of one seed, of one policy if it is named.

    Raises:
        InvalidInput: there is no such run in the file.
    """
    seeds = list(dict.fromkeys(journal.seed for journal in journals))
    if seed is not None and seed not in seeds:
        raise InvalidInput(f"--seed {seed}: not in this file; it has {', '.join(map(str, seeds))}")
    runs = [journal for journal in journals if journal.seed == (seeds[0] if seed is None else seed)]
    names = [journal.policy for journal in runs]
    if policy is not None and policy not in names:
        raise InvalidInput(f"--policy {policy}: not in this file; {nearest(policy, names)}")
    return [journal for journal in runs if policy in (None, journal.policy)]


def _print(tolds: list[Why]) -> None:
    """Print the answers first, then where the time went, then what that means."""
    for told in tolds:
        out.print(Text(why_answer(told), style="bold"))
    if len(tolds) == 1:
        _print_waits(tolds[0])
    elif any(told.waits[0].parts for told in tolds):
        for first in range(0, len(tolds), POLICIES_IN_A_ROW):
            some = tolds[first : first + POLICIES_IN_A_ROW]
            heads = ("seconds", "behind", *(told.policy for told in some))
            out.print(plain_table(heads, side_by_side_rows(some), right=range(2, len(heads)), wrap=(0, 1)))
    for told in tolds:
        under = "" if len(tolds) == 1 else f"{told.policy}: "
        for line in why_details(told):
            out.print(Text(f"- {under}{line}", style="dim"))


def _print_waits(told: Why) -> None:
    """Print where the time of each wait of one request went, and who started during the first one."""
    for wait in told.waits:
        if wait.parts:
            head = "why" if wait is told.waits[0] else wait_title(wait)
            heads = (head, "behind", "by", "seconds", "share")
            out.print(plain_table(heads, wait_rows(wait), right=(3, 4), wrap=(0, 1, 2)))
    if told.waits[0].ahead:
        heads = ("started meanwhile", "requests", "came later", "prompt tokens")
        out.print(plain_table(heads, ahead_rows(told.waits[0]), right=(1, 2, 3), wrap=(0,)))
