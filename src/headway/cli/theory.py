"""`headway theory`: mean waits by queueing formulas, of numbers or of a workload beside the simulator."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli.console import (
    STANDARD_OUTPUT,
    WHILE_WRITING,
    deliver,
    end_if_partial,
    interruptible,
    out,
    progress_bar,
    write_json,
)
from headway.cli.options import (
    EngineOption,
    HtmlOption,
    ImagesOption,
    JsonOption,
    LengthsOption,
    LimitOption,
    LongToShortOption,
    SeedOption,
    ShortToLongOption,
    parse_number,
    parse_whole,
    read_engine,
    read_seeds,
    read_source,
)
from headway.cli.paths import check_apart, json_output, output
from headway.cli.tables import print_formula, print_modelled
from headway.core.errors import InvalidInput
from headway.measure.modelled import Modelled
from headway.studies.formulas import formula_json, formula_waits
from headway.studies.theory import explain
from headway.theory import Queue, Service, TwoClasses

SEEDS = 10

SourceArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TRACE|WORKLOAD",
        help="A trace file, a tenants file (.toml) or a named workload, to be run; without it, numbers are asked for.",
        show_default=False,
    ),
]
RateOption = Annotated[
    float | None,
    typer.Option(
        parser=parse_number,
        metavar="R",
        help="Requests a second; a workload is run at 32nds of it, from well below to above.",
        show_default="the workload's own",
    ),
]


def _seconds(flag: str, text: str) -> Any:
    return typer.Option(flag, parser=parse_number, metavar="S", help=text, show_default=False)


def _scv(flag: str, text: str) -> Any:
    return typer.Option(flag, parser=parse_number, metavar="C", help=text, show_default="1, exponential")


def theory(
    source: SourceArgument = None,
    *,
    rate: RateOption = None,
    servers: Annotated[
        float | None,
        typer.Option(parser=parse_number, metavar="N", help="Servers; need not be whole.", show_default=False),
    ] = None,
    service_mean: Annotated[float | None, _seconds("--service-mean", "Mean time that a server is taken.")] = None,
    service_scv: Annotated[
        float | None, _scv("--service-scv", "Squared coefficient of variation of that time: 0 constant, 1 exponential.")
    ] = None,
    short_share: Annotated[
        float | None,
        typer.Option(
            "--short-share",
            parser=parse_number,
            metavar="P",
            help="Two classes: the share of requests that is predicted short, in place of --service-mean.",
            show_default=False,
        ),
    ] = None,
    short_mean: Annotated[float | None, _seconds("--short-mean", "Mean service time of short requests.")] = None,
    short_scv: Annotated[float | None, _scv("--short-scv", "Its squared coefficient of variation.")] = None,
    long_mean: Annotated[float | None, _seconds("--long-mean", "Mean service time of long requests.")] = None,
    long_scv: Annotated[float | None, _scv("--long-scv", "Its squared coefficient of variation.")] = None,
    promoted: Annotated[
        float | None,
        typer.Option(
            parser=parse_number,
            metavar="F",
            help="The fraction of long requests that goes first too, as under aa and qba.",
            show_default=False,
        ),
    ] = None,
    engine: EngineOption = None,
    scale_lengths: LengthsOption = None,
    limit: LimitOption = None,
    tokens_per_image: ImagesOption = 0,
    epsilon_sl: ShortToLongOption = 0.0,
    epsilon_ls: LongToShortOption = 0.0,
    seed: SeedOption = 0,
    seeds: Annotated[
        int, typer.Option(parser=parse_whole, metavar="N", help="How many seeds, from --seed on.")
    ] = SEEDS,
    json: JsonOption = None,
    html: HtmlOption = None,
) -> None:
    """Say what a queueing model expects of mean waits: from numbers, or beside the simulator on a workload.

    Example: headway theory --rate 32 --service-mean 0.13 --servers 5, or
    headway theory qba-paper --html theory.html
    """
    numbers = {
        "--servers": servers,
        "--service-mean": service_mean,
        "--service-scv": service_scv,
        "--short-share": short_share,
        "--short-mean": short_mean,
        "--short-scv": short_scv,
        "--long-mean": long_mean,
        "--long-scv": long_scv,
        "--promoted": promoted,
    }
    command = shlex.join(["headway", *sys.argv[1:]])
    target, page = json_output(json), output("--html", html)
    if source is None:
        runs = {"--engine": engine, "--scale-lengths": scale_lengths, "--limit": limit, "--html": html}
        runs["--seeds"] = None if seeds == SEEDS else seeds
        _refuse(runs, "is for a workload that is run; name one, as in headway theory qba-paper")
        answer = formula_waits(_traffic(rate, numbers), promoted, command)
        if target is not None:
            write_json(formula_json(answer), target)
        if target != STANDARD_OUTPUT:
            print_formula(answer, out)
        return
    _refuse(numbers, "is a number of the formulas; a workload's are taken from its runs, so leave it out")
    check_apart((source, engine), {"--json": target, "--html": page})
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
    with interruptible(), progress_bar("simulating") as progress:
        found = explain(where, profile, seeds=read_seeds(seed, seeds), command=command, progress=progress)
    with interruptible(WHILE_WRITING):
        _deliver(found, target, page)
    end_if_partial(partial=found.partial)


def _refuse(given: dict[str, Any], why: str) -> None:
    for option, value in given.items():
        if value is not None:
            raise InvalidInput(f"{option} {value:g}: {why}" if isinstance(value, float) else f"{option} {value}: {why}")


def _traffic(rate: float | None, numbers: dict[str, float | None]) -> Queue | TwoClasses:
    """Return one class or two, as the options say."""
    two = [name for name in numbers if name.startswith(("--short", "--long")) and numbers[name] is not None]
    one = [name for name in ("--service-mean", "--service-scv") if numbers[name] is not None]
    if one and two:
        raise InvalidInput(f"{one[0]} is of one class and {two[0]} of two; give the one or the other")
    if rate is None and numbers["--servers"] is None and not one and not two:
        raise InvalidInput(
            "what shall be told? Give numbers, as in --rate 32 --service-mean 0.13 --servers 5, or a workload to run, "
            "such as qba-paper"
        )
    needed = ("--short-share", "--short-mean", "--long-mean") if two else ("--service-mean",)
    values = {"--rate": rate, **{name: numbers[name] for name in (*needed, "--servers")}}
    missing = [name for name, value in values.items() if value is None]
    if missing:
        what = "two classes need" if two else "needed are"
        raise InvalidInput(f"{missing[0]} is missing; {what} {', '.join(values)}")
    known = {name: value for name, value in values.items() if value is not None}

    def service(kind: str) -> Service:
        scv = numbers[f"--{kind}-scv"]
        return Service.of_scv(known[f"--{kind}-mean"], 1.0 if scv is None else scv)

    if two:
        return TwoClasses(
            known["--rate"], known["--short-share"], service("short"), service("long"), known["--servers"]
        )
    if numbers["--promoted"] is not None:
        raise InvalidInput("--promoted is of two classes; give --short-share, --short-mean and --long-mean")
    return Queue(known["--rate"], service("service"), known["--servers"])


def _deliver(found: Modelled, target: Path | None, page: Path | None) -> None:
    def draw(path: Path) -> None:
        # altair takes as long to import as everything else together: only who draws pays for it.
        from headway.report.modelled import write_modelled  # noqa: PLC0415

        write_modelled(found, path)

    deliver(found.to_dict, target, page, draw, lambda: print_modelled(found, out))
