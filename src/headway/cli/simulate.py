"""`headway simulate`: one policy."""

from __future__ import annotations

from typing import Annotated

import typer

from headway.cli import compare as comparing
from headway.cli.options import (
    ClientsOption,
    EngineOption,
    HtmlOption,
    ImagesOption,
    JournalOption,
    JsonOption,
    LengthsOption,
    LimitOption,
    LongToShortOption,
    PatienceOption,
    PoolsOption,
    PrefillShareOption,
    RateOption,
    RequestsOption,
    ReserveOption,
    SeedOption,
    SeedsOption,
    ShortToLongOption,
    SlaOption,
    SourceArgument,
    TenantsOption,
)


def simulate(
    source: SourceArgument = None,
    policy: Annotated[
        str, typer.Option("--policy", metavar="SPEC", help="A policy, or an own order as my_module:MyOrder.")
    ] = "fcfs",
    *,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SPEC", help="A memory rule.", show_default="the engine's"),
    ] = None,
    evict: Annotated[
        str | None,
        typer.Option(
            "--evict", metavar="SPEC", help="Who gives way when memory runs out.", show_default="last-admitted"
        ),
    ] = None,
    shed: Annotated[
        str | None,
        typer.Option("--shed", metavar="SPEC", help="Who is turned away or put back.", show_default="keep"),
    ] = None,
    prefill_share: PrefillShareOption = 0.0,
    pools: PoolsOption = None,
    reserve: ReserveOption = None,
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
    clients: ClientsOption = None,
    patience: PatienceOption = None,
    json: JsonOption = None,
    html: HtmlOption = None,
    requests: RequestsOption = None,
    tenants: TenantsOption = None,
    journal: JournalOption = None,
) -> None:
    """Run one policy.

    Example: headway simulate qba-paper --policy "qba(k=3)" --seeds 5
    """
    comparing.compare(
        source,
        policy=[policy],
        memory=None if memory is None else [memory],
        evict=None if evict is None else [evict],
        shed=None if shed is None else [shed],
        prefill_share=prefill_share,
        pools=pools,
        reserve=reserve,
        engine=engine,
        rate=rate,
        scale_lengths=scale_lengths,
        limit=limit,
        tokens_per_image=tokens_per_image,
        seed=seed,
        seeds=seeds,
        epsilon_sl=epsilon_sl,
        epsilon_ls=epsilon_ls,
        sla=sla,
        json=json,
        html=html,
        requests=requests,
        tenants=tenants,
        clients=clients,
        patience=patience,
        journal=journal,
    )
