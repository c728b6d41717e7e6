"""Options that several commands share, each in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headway.core.engine import PRESETS, EngineProfile, engine_from_toml, preset
from headway.core.errors import InvalidEngine, InvalidInput, InvalidWorkload, nearest
from headway.core.spec import parse_spec
from headway.studies.source import Source
from headway.workload import read_trace, workloads

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="TRACE|WORKLOAD",
        help="A trace file (see 'headway trace --help'), or a named workload such as qba-paper or qba-paper(rate=30).",
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
RateOption = Annotated[float | None, typer.Option(help="Scale time so that this many requests arrive a second.")]
LengthsOption = Annotated[float | None, typer.Option(help="Multiply all prompt and output lengths by this.")]
LimitOption = Annotated[int | None, typer.Option(help="Use only the first so many requests.")]
SeedOption = Annotated[int, typer.Option(help="First seed.")]
SeedsOption = Annotated[int, typer.Option(help="How many seeds, from --seed on; every policy gets the same requests.")]
ShortToLongOption = Annotated[
    float, typer.Option("--epsilon-sl", help="Probability that a short request is predicted long.")
]
LongToShortOption = Annotated[
    float, typer.Option("--epsilon-ls", help="Probability that a long request is predicted short.")
]
JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE|-", help="Write the results as one JSON object.", show_default=False),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write a report that works offline.", show_default=False),
]
RequestsOption = Annotated[
    Path | None,
    typer.Option("--requests", metavar="FILE", help="Write a row a request (.csv or .parquet).", show_default=False),
]


def read_source(text: str, **changes: Any) -> Source:
    """Return the source that a command's first argument names: a file where there is one, else a workload.

    Raises:
        InvalidInput: it is neither, the file cannot be read, or a change is out of range.
    """
    path = Path(text)
    if path.exists():
        return Source(read_trace(path), **changes)
    try:
        name = parse_spec(text).name
    except InvalidInput:
        name = text
    if name not in workloads():
        raise InvalidWorkload(f"'{text}' is neither a file nor a workload; {nearest(name, workloads())}")
    return Source(text, **changes)


def read_engine(text: str | None) -> EngineProfile | None:
    """Return the engine that `--engine` names: a preset, or a TOML file.

    Raises:
        InvalidEngine: there is no such preset or file, or the file does not describe an engine.
    """
    if text is None or text in PRESETS:
        return None if text is None else preset(text)
    path = Path(text)
    if not path.is_file():
        return preset(text)
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidEngine(f"engine file {path}: cannot be read: {error}") from None
    return engine_from_toml(content, path.stem)
