"""`headway frontier`: memory rules over their knobs, use of the KV cache against evictions."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

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
    RateOption,
    SeedOption,
    SeedsOption,
    SourceArgument,
    parse_whole,
    read_engine,
    read_seeds,
    read_source,
)
from headway.cli.own_orders import own_files, own_orders
from headway.cli.paths import check_apart, json_output, output
from headway.cli.tables import print_frontier
from headway.core.spec import whole
from headway.measure.frontier import Frontier
from headway.simulate.engine import STEADY_AFTER
from headway.studies.frontier import DEFAULT_RULES
from headway.studies.frontier import frontier as run_frontier

SteadyOption = Annotated[
    int,
    typer.Option(
        "--steady-after",
        parser=parse_whole,
        metavar="N",
        help="What counts begins after so many finishes; before, rules that learn are still learning.",
    ),
]


def frontier(
    source: SourceArgument,
    memory: Annotated[
        list[str] | None,
        typer.Option(
            "--memory",
            metavar="SPEC",
            help="A memory rule (repeatable), such as past-future(lists=1); its knob is turned unless it is set.",
            show_default="past-future, ema, watermark, conservative, oracle",
        ),
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", metavar="SPEC", help="The order, or an own order as my_module:MyOrder.")
    ] = "fcfs",
    engine: EngineOption = None,
    rate: RateOption = None,
    scale_lengths: LengthsOption = None,
    limit: LimitOption = None,
    tokens_per_image: ImagesOption = 0,
    steady_after: SteadyOption = STEADY_AFTER,
    seed: SeedOption = 0,
    seeds: SeedsOption = 1,
    json: JsonOption = None,
    html: HtmlOption = None,
) -> None:
    """Show how full the KV cache can be run, at how many evictions, under each memory rule.

    Example: headway frontier d1 --html frontier.html
    """
    target, page = json_output(json), output("--html", html)
    check_apart((source, engine, *own_files([policy])), {"--json": target, "--html": page})
    where = read_source(
        source,
        tokens_per_image=tokens_per_image,
        limit=limit,
        rate=rate,
        scale_lengths=scale_lengths,
        epsilon_sl=0.0,
        epsilon_ls=0.0,
    )
    profile = read_engine(engine)
    start_up = whole("--steady-after", steady_after, 1)
    with interruptible(), own_orders([policy]), progress_bar("simulating") as progress:
        found = run_frontier(
            where,
            memory or DEFAULT_RULES,
            profile,
            policy=policy,
            steady_after=start_up,
            seeds=read_seeds(seed, seeds),
            command=shlex.join(["headway", *sys.argv[1:]]),
            progress=progress,
        )
    with interruptible(WHILE_WRITING):
        _deliver(found, target, page)
    end_if_partial(partial=found.partial)


def _deliver(found: Frontier, target: Path | None, page: Path | None) -> None:
    def draw(path: Path) -> None:
        # altair takes as long to import as everything else together: only who draws pays for it.
        from headway.report.frontier import write_frontier  # noqa: PLC0415

        write_frontier(found, path)

    deliver(found.to_dict, target, page, draw, lambda: print_frontier(found, out))
