"""`headway tune`: what to run on one's own traffic, with the evidence."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from headway.cli.console import (
    STANDARD_OUTPUT,
    WHILE_WRITING,
    end_if_partial,
    err,
    interruptible,
    out,
    progress_bar,
    write_json,
    writing,
)
from headway.cli.options import (
    EngineOption,
    HtmlOption,
    ImagesOption,
    JsonOption,
    LengthsOption,
    LimitOption,
    LongToShortOption,
    RateOption,
    SeedOption,
    ShortToLongOption,
    SlaOption,
    SourceArgument,
    parse_whole,
    read_engine,
    read_source,
)
from headway.cli.own_orders import own_files, own_orders
from headway.cli.paths import check_apart, json_output, output
from headway.cli.tables import print_table
from headway.core.errors import InvalidInput
from headway.core.spec import whole
from headway.files import write_whole
from headway.measure.tuning import Tuning
from headway.report.tuning_tables import candidates_table, changes_table
from headway.report.tuning_words import ALONE, tuning_answer, tuning_facts, tuning_question
from headway.studies.tune import BUDGET, LEAST_BUDGET, LEAST_WINDOWS, WINDOWS
from headway.studies.tune import tune as run_tune

ObjectiveOption = Annotated[
    str,
    typer.Option(metavar="NAME", help="What to improve: goodput, or p99 or mean of the time to first token."),
]
BaselineOption = Annotated[
    str,
    typer.Option(metavar="SPEC", help="The order that runs now, with the engine's rules; or my_module:MyOrder."),
]
WindowsOption = Annotated[
    int,
    typer.Option(
        parser=parse_whole,
        metavar="N",
        help="Windows of a trace (seeds of a workload): half to search on, half to judge by.",
    ),
]
BudgetOption = Annotated[
    int, typer.Option(parser=parse_whole, metavar="RUNS", help="Runs that the search may take, each of one window.")
]
ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config", metavar="FILE", help="Write the settings for 'headway serve --config' (.toml).", show_default=False
    ),
]


def tune(
    source: SourceArgument = None,
    sla: SlaOption = None,
    *,
    objective: ObjectiveOption = "goodput",
    engine: EngineOption = None,
    baseline: BaselineOption = "fcfs",
    rate: RateOption = None,
    scale_lengths: LengthsOption = None,
    limit: LimitOption = None,
    tokens_per_image: ImagesOption = 0,
    windows: WindowsOption = WINDOWS,
    budget: BudgetOption = BUDGET,
    seed: SeedOption = 0,
    epsilon_sl: ShortToLongOption = 0.0,
    epsilon_ls: LongToShortOption = 0.0,
    json: JsonOption = None,
    html: HtmlOption = None,
    config: ConfigOption = None,
) -> None:
    """Search policies and their parameters on one's own traffic, judge them on windows that the search never saw.

    Example: headway tune trace.csv --sla ttft=2,mtpot=0.2 --config serve.toml
    """
    target, page, file = json_output(json), output("--html", html), output("--config", config, (".toml",))
    promises = "promises.toml" if file is None else str(file.with_name(f"{file.stem}-promises.toml"))
    written = {"--json": target, "--html": page, "--config": file}
    check_apart((source, engine, *own_files([baseline])), written)
    where = read_source(
        source,
        tokens_per_image=tokens_per_image,
        limit=limit,
        rate=rate,
        scale_lengths=scale_lengths,
        epsilon_sl=epsilon_sl,
        epsilon_ls=epsilon_ls,
    )
    profile = read_engine(engine)
    if objective == "goodput" and sla is None:
        raise InvalidInput("--sla is missing; goodput needs one, as in --sla ttft=2,mtpot=0.2 (or --objective mean)")
    options = {
        "--engine": engine,
        "--rate": rate,
        "--scale-lengths": scale_lengths,
        "--limit": limit,
        "--tokens-per-image": tokens_per_image or None,
        "--epsilon-sl": epsilon_sl or None,
        "--epsilon-ls": epsilon_ls or None,
    }
    words = [str(source), *(word for key, value in options.items() if value is not None for word in (key, f"{value}"))]
    with interruptible(), own_orders([baseline]), progress_bar("searching") as progress:
        found = run_tune(
            where,
            sla,
            objective=objective,
            engine=profile,
            baseline=baseline,
            windows=whole("--windows", windows, LEAST_WINDOWS),
            budget=whole("--budget", budget, LEAST_BUDGET),
            seed=whole("--seed", seed, 0),
            words=words,
            promises=promises,
            command=shlex.join(["headway", *sys.argv[1:]]),
            progress=progress,
        )
    with interruptible(WHILE_WRITING):
        _deliver(found, target, page, file, Path(promises))
    end_if_partial(partial=found.partial)


def _deliver(found: Tuning, target: Path | None, page: Path | None, file: Path | None, promises: Path) -> None:
    """Write what was asked for; print the answer unless the JSON goes to standard output."""
    written = [path for path in (target, page) if path is not None and path != STANDARD_OUTPUT]
    if target is not None:
        write_json(found.to_dict(), target)
    if page is not None:
        # altair takes as long to import as everything else together: only who draws pays for it.
        from headway.report.tuning import write_tuning  # noqa: PLC0415

        with writing(page):
            write_tuning(found, page)
    if file is not None:
        for path, text in ((promises, found.paste["promises"]), (file, found.paste["serve"])):
            if text is not None:
                with writing(path):
                    write_whole(path, text.encode())
                written.append(path)
    if target != STANDARD_OUTPUT:
        print_tuning(found)
    for path in written:
        err.print(f"wrote {path}", markup=False)


def print_tuning(found: Tuning) -> None:
    """Print question, answer, warnings, tables, what to paste, and notes."""
    out.print(Text(tuning_question(found), style="bold"))
    for text in tuning_answer(found):
        out.print(Text(text))
    for text in found.warnings:
        out.print(Text(text, style="yellow"))
    print_table(candidates_table(found), out)
    print_table(changes_table(found), out)
    out.print(Text("See it", style="bold"))
    out.print(Text(f"  {found.paste['compare']}"), soft_wrap=True)
    if found.paste["baseline"] is not None:
        out.print(Text(ALONE, style="bold"))
        out.print(Text(f"  {found.paste['baseline']}"), soft_wrap=True)
    out.print(Text("Run it: headway serve --config FILE", style="bold"))
    out.print(Text(_indented(found.paste["serve"])), soft_wrap=True)
    if found.paste["promises"] is not None:
        out.print(Text("With the promises in a file that both name", style="bold"))
        out.print(Text(_indented(found.paste["promises"])), soft_wrap=True)
    for note in (tuning_facts(found), *found.notes):
        out.print(Text(f"- {note}", style="dim"))


def _indented(text: str | None) -> str:
    return "\n".join(f"  {line}".rstrip() for line in (text or "").splitlines())
