"""Options that several commands share, each in one place."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.paths import exists
from headway.core.engine import PRESETS, EngineProfile, engine_from_toml, preset
from headway.core.errors import InvalidEngine, InvalidInput, InvalidWorkload, nearest
from headway.core.spec import number, parse_spec, whole
from headway.studies.source import Source
from headway.workload import SeededTrace, Trace, open_trace, workloads
from headway.workload.files import read_bytes

MOST_SEEDS = 1_000_000
MOST_REQUESTS = 100_000_000
MOST_IMAGE_TOKENS = 100_000

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="TRACE|WORKLOAD",
        help="A trace file (see 'headway trace --help'), or a named workload such as qba-paper or qba-paper(rate=30).",
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
        show_default="qba-paper for that workload, else a100-llama3-8b",
    ),
]


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a number") from None


RateOption = Annotated[
    float | None,
    typer.Option(
        parser=_number,
        metavar="R",
        help="Scale time so that this many requests arrive a second.",
        show_default=False,
    ),
]
LengthsOption = Annotated[
    float | None,
    typer.Option(
        parser=_number, metavar="F", help="Multiply all prompt and output lengths by this.", show_default=False
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(parser=_whole_number, metavar="N", help="Use only the first so many requests.", show_default=False),
]
ImagesOption = Annotated[
    int,
    typer.Option(
        "--tokens-per-image",
        parser=_whole_number,
        metavar="N",
        help="Prompt tokens that an image of the trace counts for (Azure 2025).",
    ),
]
SeedOption = Annotated[int, typer.Option(parser=_whole_number, metavar="S", help="First seed.")]
SeedsOption = Annotated[
    int,
    typer.Option(
        parser=_whole_number,
        metavar="N",
        help="How many seeds, from --seed on; every policy gets the same requests.",
    ),
]
ShortToLongOption = Annotated[
    float,
    typer.Option(
        "--epsilon-sl", parser=_number, metavar="E", help="Probability that a short request is predicted long."
    ),
]
LongToShortOption = Annotated[
    float,
    typer.Option(
        "--epsilon-ls", parser=_number, metavar="E", help="Probability that a long request is predicted short."
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


def read_seeds(first: int, count: int) -> range:
    """Return the seeds that `--seed` and `--seeds` name."""
    start = whole("--seed", first, 0)
    return range(start, start + whole("--seeds", count, 1, MOST_SEEDS))


def read_images(tokens: int) -> int:
    """Return what `--tokens-per-image` gives."""
    return whole("--tokens-per-image", tokens, 0, MOST_IMAGE_TOKENS)


def read_source(
    text: str,
    *,
    tokens_per_image: int,
    limit: int | None,
    rate: float | None,
    scale_lengths: float | None,
    epsilon_sl: float,
    epsilon_ls: float,
) -> Source:
    """Return the source that a command's first argument names: a file where there is one, else a workload.

    Raises:
        InvalidInput: it is neither, the file cannot be read, or a change is out of range.
    """
    return Source(
        _origin(text, read_images(tokens_per_image)),
        limit=None if limit is None else whole("--limit", limit, 1, MOST_REQUESTS),
        rate=None if rate is None else _positive("--rate", rate),
        length_factor=None if scale_lengths is None else _positive("--scale-lengths", scale_lengths),
        epsilon_sl=number("--epsilon-sl", epsilon_sl, 0, 1),
        epsilon_ls=number("--epsilon-ls", epsilon_ls, 0, 1),
    )


def read_engine(text: str | None) -> EngineProfile | None:
    """Return the engine that `--engine` names: a preset, or a TOML file.

    Raises:
        InvalidEngine: there is no such preset or file, or the file does not describe an engine.
    """
    if text is None or text in PRESETS:
        return None if text is None else preset(text)
    path = Path(text)
    if not exists(text):
        if path.suffix == ".toml" or len(path.parts) > 1:
            raise InvalidEngine(f"engine file {path}: there is no such file")
        return preset(text)
    try:
        content = read_bytes(path).decode()
    except UnicodeDecodeError:
        raise InvalidEngine(f"engine file {path}: not UTF-8 text; expected TOML") from None
    except OSError as error:
        raise InvalidEngine(f"engine file {path}: cannot be read: {error.strerror or error}") from None
    return engine_from_toml(content, path.stem)


def _origin(text: str, tokens_per_image: int) -> Trace | SeededTrace | str:
    if not text:
        raise InvalidInput("TRACE|WORKLOAD is empty; expected a trace file or a workload such as qba-paper")
    if exists(text):
        return open_trace(text, tokens_per_image=tokens_per_image)
    try:
        name = parse_spec(text).name
    except InvalidInput:
        name = text.partition("(")[0]
        if name in workloads():
            raise
    if name not in workloads():
        raise InvalidWorkload(f"'{text}' is neither a file nor a workload; {nearest(name, workloads())}")
    return text


def _positive(option: str, value: float) -> float:
    return number(option, value, 0, math.inf, open_low=True, open_high=True)
