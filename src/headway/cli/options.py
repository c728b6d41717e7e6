"""Options that several commands share, each in one place."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.core.spec import number, whole
from headway.studies.inputs import engine_named, origin_named
from headway.studies.source import Source
from headway.workload import SeededTrace, TenantsFile, Trace, read_tenants

MOST_SEEDS = 1_000_000
MOST_REQUESTS = 100_000_000
MOST_IMAGE_TOKENS = 100_000

SourceArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TRACE|WORKLOAD",
        help=(
            "A trace file (see 'headway trace --help'), a tenants file (.toml), or a named workload such as qba-paper "
            "or qba-paper(rate=30)."
        ),
        show_default=False,
    ),
]
TenantsOption = Annotated[
    str | None,
    typer.Option(
        "--tenants",
        metavar="FILE",
        help="A tenants file (TOML): promises and weights of a trace's tenants; without a trace, the requests too.",
        show_default=False,
    ),
]
MemoryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--memory",
        metavar="SPEC",
        help="A memory rule (repeatable), such as past-future(reserve=0.1); each is combined with every policy.",
        show_default="the engine's",
    ),
]
EvictOption = Annotated[
    list[str] | None,
    typer.Option(
        "--evict",
        metavar="SPEC",
        help="Who gives way when memory runs out (repeatable), such as least-computed; combined as --memory is.",
        show_default="last-admitted",
    ),
]
ShedOption = Annotated[
    list[str] | None,
    typer.Option(
        "--shed",
        metavar="SPEC",
        help="Who is turned away or put back (repeatable), such as reject, demote or queue-cap(requests=100).",
        show_default="keep",
    ),
]
SlaOption = Annotated[
    str | None,
    typer.Option(
        metavar="LIMITS",
        help="A service agreement in seconds, as in ttft=10,mtpot=1.5: attainment, and goodput under it.",
        show_default=False,
    ),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="PRESET|FILE",
        help="An engine preset (see 'headway engines') or a TOML file.",
        show_default="the one that the workload was made for, else a100-llama3-8b",
    ),
]


def parse_whole(text: str) -> int:
    """Read a whole number of the command line."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a whole number") from None


def parse_number(text: str) -> float:
    """Read a number of the command line."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a number") from None


PrefillShareOption = Annotated[
    float,
    typer.Option(
        "--prefill-share",
        parser=parse_number,
        metavar="S",
        help="Share of the positions guaranteed to prompts while one waits half filled; decodes pause for it.",
    ),
]
PoolsOption = Annotated[
    float | None,
    typer.Option(
        parser=parse_number,
        metavar="S",
        help="Split every iteration: this share of the positions is for prompts alone, the rest for decodes alone.",
        show_default=False,
    ),
]
ReserveOption = Annotated[
    str | None,
    typer.Option(
        "--reserve",
        metavar="LIMITS",
        help="A share of the iterations in which whoever waited too long goes first: share=0.1,after=5,window=200.",
        show_default=False,
    ),
]
RateOption = Annotated[
    float | None,
    typer.Option(
        parser=parse_number,
        metavar="R",
        help="Scale time so that this many requests arrive a second.",
        show_default=False,
    ),
]
ClientsOption = Annotated[
    int | None,
    typer.Option(
        parser=parse_whole,
        metavar="N",
        help="Let N clients send the requests, each its next one when its last one has ended (a closed loop).",
        show_default="arrivals as they are",
    ),
]
PatienceOption = Annotated[
    float | None,
    typer.Option(
        parser=parse_number,
        metavar="S",
        help="A client leaves after so many seconds without a token; its request is cancelled.",
        show_default="for ever",
    ),
]
LengthsOption = Annotated[
    float | None,
    typer.Option(
        parser=parse_number, metavar="F", help="Multiply all prompt and output lengths by this.", show_default=False
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(parser=parse_whole, metavar="N", help="Use only the first so many requests.", show_default=False),
]
ImagesOption = Annotated[
    int,
    typer.Option(
        "--tokens-per-image",
        parser=parse_whole,
        metavar="N",
        help="Prompt tokens that an image of the trace counts for (Azure 2025).",
    ),
]
SeedOption = Annotated[int, typer.Option(parser=parse_whole, metavar="S", help="First seed.")]
SeedsOption = Annotated[
    int,
    typer.Option(
        parser=parse_whole,
        metavar="N",
        help="How many seeds, from --seed on; every policy gets the same requests.",
    ),
]
ShortToLongOption = Annotated[
    float,
    typer.Option(
        "--epsilon-sl", parser=parse_number, metavar="E", help="Probability that a short request is predicted long."
    ),
]
LongToShortOption = Annotated[
    float,
    typer.Option(
        "--epsilon-ls", parser=parse_number, metavar="E", help="Probability that a long request is predicted short."
    ),
]
JsonOption = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE|-", help="Write the results as one JSON object.", show_default=False),
]
HtmlOption = Annotated[
    str | None,
    typer.Option("--html", metavar="FILE", help="Write a report that works offline.", show_default=False),
]
RequestsOption = Annotated[
    str | None,
    typer.Option("--requests", metavar="FILE", help="Write a row a request (.csv or .parquet).", show_default=False),
]
JournalOption = Annotated[
    str | None,
    typer.Option(
        "--journal",
        metavar="FILE",
        help="Write what kept waiting requests out (.parquet), for 'headway why'.",
        show_default=False,
    ),
]
RunSeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed", parser=parse_whole, metavar="S", help="The seed of the run.", show_default="the first in the file"
    ),
]


def read_seeds(first: int, count: int) -> range:
    """Return the seeds that `--seed` and `--seeds` name."""
    start = whole("--seed", first, 0)
    return range(start, start + whole("--seeds", count, 1, MOST_SEEDS))


def read_images(tokens: int) -> int:
    """Return what `--tokens-per-image` gives."""
    return whole("--tokens-per-image", tokens, 0, MOST_IMAGE_TOKENS)


def read_source(
    text: str | None,
    *,
    tenants: str | None = None,
    tokens_per_image: int,
    limit: int | None,
    rate: float | None,
    scale_lengths: float | None,
    epsilon_sl: float,
    epsilon_ls: float,
) -> Source:
    """Return the source that a command's first argument names: a file where there is one, else a workload.

    Without that argument, `tenants` is the source; beside it, a tenants file gives promises and weights to its tenants.

    Raises:
        InvalidInput: it is neither, a file cannot be read, or a change is out of range.
    """
    file = None if tenants is None else read_tenants_file(tenants)
    origin = file if text is None else _origin(text, read_images(tokens_per_image))
    if origin is None:
        raise InvalidInput(
            "TRACE|WORKLOAD is missing; give a trace file or a workload such as qba-paper, or --tenants FILE"
        )
    if isinstance(origin, TenantsFile) and file not in (None, origin):
        raise InvalidInput(f"{text} is a tenants file, and --tenants {tenants} is another; give one of them")
    return Source(
        origin,
        limit=None if limit is None else whole("--limit", limit, 1, MOST_REQUESTS),
        rate=None if rate is None else _positive("--rate", rate),
        length_factor=None if scale_lengths is None else _positive("--scale-lengths", scale_lengths),
        epsilon_sl=number("--epsilon-sl", epsilon_sl, 0, 1),
        epsilon_ls=number("--epsilon-ls", epsilon_ls, 0, 1),
        tenants=None if isinstance(origin, TenantsFile) else file,
    )


def read_tenants_file(text: str) -> TenantsFile:
    """Return the file that `--tenants` names.

    Raises:
        InvalidInput: there is none, or it is no tenants file.
    """
    if not text:
        raise InvalidInput("--tenants is empty; expected a tenants file")
    return read_tenants(text)


def read_engine(text: str | None) -> EngineProfile | None:
    """Return the engine that `--engine` names: a preset, or a TOML file.

    Raises:
        InvalidEngine: there is no such preset or file, or the file does not describe an engine.
    """
    return None if text is None else engine_named(text)


def _origin(text: str, tokens_per_image: int) -> Trace | SeededTrace | TenantsFile | str:
    if not text:
        raise InvalidInput("TRACE|WORKLOAD is empty; expected a trace file or a workload such as qba-paper")
    return origin_named(text, tokens_per_image)


def _positive(option: str, value: float) -> float:
    return number(option, value, 0, math.inf, open_low=True, open_high=True)
