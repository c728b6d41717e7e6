"""`headway simulate`: one policy."""

from __future__ import annotations

from typing import Annotated

import typer

from headway.cli import compare as comparing
from headway.cli.options import (
    EngineOption,
    HtmlOption,
    ImagesOption,
    JsonOption,
    LengthsOption,
    LimitOption,
    LongToShortOption,
    RateOption,
    RequestsOption,
    SeedOption,
    SeedsOption,
    ShortToLongOption,
    SlaOption,
    SourceArgument,
)


def simulate(
    source: SourceArgument,
    policy: Annotated[
        str, typer.Option("--policy", metavar="SPEC", help="A policy, or an own order as my_module:MyOrder.")
    ] = "fcfs",
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SPEC", help="A memory rule.", show_default="the engine's"),
    ] = None,
    engine: EngineOption = None,
    rate: RateOption = None,
    scale_lengths: LengthsOption = None,
    limit: LimitOption = None,
    tokens_per_image: ImagesOption = 0,
    seed: SeedOption = 0,
    seeds: SeedsOption = 1,
    epsilon_sl: ShortToLongOption = 0.0,
    epsilon_ls: LongToShortOption = 0.0,
    sla: SlaOption = None,
    json: JsonOption = None,
    html: HtmlOption = None,
    requests: RequestsOption = None,
) -> None:
    """Run one policy.

    Example: headway simulate qba-paper --policy "qba(k=3)" --seeds 5
    """
    comparing.compare(
        source,
        [policy],
        [memory] if memory is not None else None,
        engine,
        rate,
        scale_lengths,
        limit,
        tokens_per_image,
        seed,
        seeds,
        epsilon_sl,
        epsilon_ls,
        sla,
        json,
        html,
        requests,
    )
