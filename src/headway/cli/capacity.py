"""`headway capacity`: the highest rate that one engine holds, and the fewest engines for a rate."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from headway.cli.console import (
    WHILE_WRITING,
    deliver,
    end_if_partial,
    interruptible,
    out,
    progress_bar,
)
from headway.cli.options import (
    EngineOption,
    HtmlOption,
    ImagesOption,
    JsonOption,
    LengthsOption,
    LimitOption,
    LongToShortOption,
    MemoryOption,
    PrefillShareOption,
    RateOption,
    ReserveOption,
    SeedOption,
    ShedOption,
    ShortToLongOption,
    SlaOption,
    SourceArgument,
    parse_number,
    parse_whole,
    read_engine,
    read_source,
)
from headway.cli.own_orders import own_files, own_orders
from headway.cli.paths import check_apart, json_output, output
from headway.cli.tables import print_table
from headway.core.errors import InvalidInput
from headway.core.spec import number, whole
from headway.measure.capacity import Capacity
from headway.policies.shares import Shares
from headway.report.capacity_tables import held_table, limits_table, rates_table
from headway.report.capacity_words import capacity_answer, capacity_question
from headway.studies.capacity import ATTAIN, LEAST_WINDOWS, WINDOWS
from headway.studies.capacity import capacity as run_capacity

PolicyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="SPEC",
        help="A policy (repeatable), such as qba(k=3), or an own order as my_module:MyOrder.",
        show_default="fcfs",
    ),
]
AttainOption = Annotated[
    float,
    typer.Option(parser=parse_number, metavar="A", help="Share of all requests that must get what was agreed."),
]
WindowsOption = Annotated[
    int,
    typer.Option(parser=parse_whole, metavar="N", help="Windows of a trace (seeds of a workload) that are averaged."),
]


def capacity(
    source: SourceArgument = None,
    sla: SlaOption = None,
    *,
    attain: AttainOption = ATTAIN,
    policy: PolicyOption = None,
    memory: MemoryOption = None,
    shed: ShedOption = None,
    prefill_share: PrefillShareOption = 0.0,
    reserve: ReserveOption = None,
    engine: EngineOption = None,
    rate: RateOption = None,
    scale_lengths: LengthsOption = None,
    limit: LimitOption = None,
    tokens_per_image: ImagesOption = 0,
    windows: WindowsOption = WINDOWS,
    seed: SeedOption = 0,
    epsilon_sl: ShortToLongOption = 0.0,
    epsilon_ls: LongToShortOption = 0.0,
    json: JsonOption = None,
    html: HtmlOption = None,
) -> None:
    """Find the highest rate that one engine holds under each policy, and the fewest engines for this traffic.

    Example: headway capacity trace.csv --sla ttft=2,mtpot=0.2 --policy fcfs --policy psf --html capacity.html
    """
    chosen = policy or ["fcfs"]
    target, page = json_output(json), output("--html", html)
    check_apart((source, engine, *own_files(chosen)), {"--json": target, "--html": page})
    if sla is None:
        raise InvalidInput("--sla is missing; what must be held? As in --sla ttft=2,mtpot=0.2")
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
    shares = Shares.of(prefill_share, reserve)
    with interruptible(), own_orders(chosen), progress_bar("simulating") as progress:
        found = run_capacity(
            where,
            sla,
            chosen,
            profile,
            attain=number("--attain", attain, 0, 1, open_low=True),
            memory=memory or (),
            shed=shed or (),
            shares=shares,
            windows=whole("--windows", windows, LEAST_WINDOWS),
            seed=whole("--seed", seed, 0),
            command=shlex.join(["headway", *sys.argv[1:]]),
            progress=progress,
        )
    with interruptible(WHILE_WRITING):
        _deliver(found, target, page)
    end_if_partial(partial=found.partial)


def _deliver(found: Capacity, target: Path | None, page: Path | None) -> None:
    def draw(path: Path) -> None:
        # altair takes as long to import as everything else together: only who draws pays for it.
        from headway.report.capacity import write_capacity  # noqa: PLC0415

        write_capacity(found, path)

    deliver(found.to_dict, target, page, draw, lambda: _print(found))


def _print(found: Capacity) -> None:
    out.print(Text(capacity_question(found), style="bold"))
    for text in capacity_answer(found):
        out.print(Text(text))
    for make in (held_table, limits_table, rates_table):
        print_table(make(found), out)
    for note in found.notes:
        out.print(Text(f"- {note}", style="dim"))
