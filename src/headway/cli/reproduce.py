"""`headway reproduce`: papers done again, a command each."""

from __future__ import annotations

import typer

from headway.cli.reproduce_fairness import fairness
from headway.cli.reproduce_past_future import past_future
from headway.cli.reproduce_qba import qba
from headway.core.errors import InvalidInput

app = typer.Typer(name="reproduce", add_completion=False, rich_markup_mode="markdown")
for command in (qba, past_future, fairness):
    app.command()(command)


@app.callback(invoke_without_command=True)
def reproduce(context: typer.Context) -> None:
    """Do a paper's evaluation again: what it reports beside what comes out here, claim by claim.

    Example: headway reproduce qba --quick --out results
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise InvalidInput("which paper? See the list above")
