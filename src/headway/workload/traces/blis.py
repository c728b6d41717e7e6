"""BLIS TraceV2: CSV with `request_id,tenant_id,slo_class,input_tokens,output_tokens,arrival_time_us` and more.

Times are in microseconds, arrivals count from the start of the recording. What becomes of the columns:

- `tenant_id` and `slo_class` are tenant and class; `vllm_priority` (lower is more urgent) is turned round.
- `slo_target_us` is the promised time to the first token; `deadline_us`, a point in time, less the arrival is the
  promised completion. 0 is no promise. A deadline at or before its arrival is refused.
- `input_tokens` leave out the prefix that a `prefix_group` shares: `prefix_length` comes on top. Without a group, what
  the server counted (`server_input_tokens`) goes before what the client did, where it is there.
- The prefix of a group is one block for prefix caches, as long as `prefix_length`; prefixes of one group that differ in
  length count as different ones.
- `status`: requests that ended in an error are left out; those that timed out or were not complete stay, with the
  output tokens that the file has. Notes count both.

The header is a YAML file of the same name beside the CSV. Only its `session_context_growth` is looked for: where it is
`accumulate`, `input_tokens` are additions to a conversation and not prompts, and the file is refused.
Source: BLIS inference-sim, `sim/workload` (TraceV2, header versions 2 and 3).
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from headway.core.errors import InvalidTrace
from headway.workload.columns import LATEST, Column
from headway.workload.trace import Trace
from headway.workload.traces.format import Format

MICROSECONDS = 1_000_000
ENDED, FAILED = "ok", "error"

_INCREMENTS = re.compile(r"^session_context_growth:\s*[\"']?accumulate\b", re.MULTILINE)


def is_header(columns: list[str]) -> bool:
    """Whether a file that was read as CSV is the header of such a trace."""
    return bool(columns) and columns[0].startswith("trace_version:")


def _convert(name: str, frame: pl.DataFrame) -> Trace:
    _refuse_increments(Path(name))
    columns = {label: Column(name, label, frame[label]) for label in frame.columns}
    arrivals = _stamps(columns["arrival_time_us"])
    status = columns["status"].text() if "status" in columns else pl.repeat(ENDED, len(frame), eager=True)
    status = status.fill_null(ENDED)
    failed = status == FAILED
    requests = {
        "id": columns["request_id"].ids(),
        "arrival": _seconds(arrivals),
        "prompt_tokens": _prompts(columns, failed),
        "output_tokens": columns["output_tokens"].tokens(),
        "tenant": columns["tenant_id"].text(),
        "class": columns["slo_class"].text(),
    }
    if "slo_target_us" in columns:
        requests["ttft_slo"] = _promised(_stamps(columns["slo_target_us"]))
    if "prefix_group" in columns and "prefix_length" in columns:
        requests |= _prefixes(columns["prefix_group"].text(), columns["prefix_length"].count())
    if "deadline_us" in columns:
        deadlines = _stamps(columns["deadline_us"])
        past = (deadlines > 0) & (deadlines <= arrivals)
        columns["deadline_us"].refuse(past, "a time after arrival_time_us, or 0 for no deadline")
        requests["completion_slo"] = _promised((deadlines - arrivals).clip(lower_bound=0))
    if "vllm_priority" in columns:
        requests["priority"] = -columns["vllm_priority"].count()
    if len(failed) and failed.all():
        raise InvalidTrace(f"{name}: all {len(failed)} requests ended in an error; expected one that did not")
    table = pl.DataFrame(requests).filter(~failed)
    empty = [series.name for series in table if len(series) == series.null_count() > 0]
    return Trace.from_frame(name, table.drop(empty), _notes(status))


def _refuse_increments(path: Path) -> None:
    header = path.with_suffix(".yaml")
    if header.is_file() and _INCREMENTS.search(header.read_text(encoding="utf-8", errors="replace")):
        raise InvalidTrace(
            f"{path}: its header {header.name} says session_context_growth: accumulate, so that input_tokens are what "
            "each turn adds; expected whole prompts"
        )


def _stamps(column: Column) -> pl.Series:
    """Return points in time, or spans of it, in microseconds: exact, as floats, until the year 2255."""
    return column.time("microseconds", MICROSECONDS * LATEST)


def _seconds(microseconds: pl.Series) -> pl.Series:
    return pl.Series(microseconds.to_numpy() / MICROSECONDS)  # polars would multiply by the rounded 1e-6


def _promised(microseconds: pl.Series) -> pl.Series:
    """Return seconds; 0 is no promise."""
    seconds = _seconds(microseconds)
    return seconds.set(seconds == 0.0, None)


def _prompts(columns: dict[str, Column], failed: pl.Series) -> pl.Series:
    """Return the whole prompts: with the shared prefix of a group, else as the server counted them."""
    prompts = columns["input_tokens"].tokens()
    grouped = columns["prefix_group"].text().is_not_null() if "prefix_group" in columns else prompts < 0
    if "prefix_length" in columns:
        prompts += columns["prefix_length"].count() * grouped.cast(pl.Int64)
    if "server_input_tokens" in columns:
        counted = columns["server_input_tokens"].count()
        prompts = counted.zip_with((counted > 0) & ~grouped, prompts)
    columns["input_tokens"].refuse((prompts == 0) & ~failed, "a whole number of tokens from 1")
    return prompts


def _prefixes(groups: pl.Series, lengths: pl.Series) -> dict[str, pl.Series]:
    """Return the prefix that a prompt shares with its group as its one block, and how long that is."""
    kinds = pl.DataFrame({"group": groups, "length": lengths})
    name = pl.struct("group", "length").rank("dense").cast(pl.Int64).reshape((-1, 1)).arr.to_list()
    shares = pl.col("group").is_not_null() & (pl.col("length") > 0)
    frame = kinds.select(
        pl.when(shares).then(name).alias("blocks"), pl.when(shares).then("length").alias("block_tokens")
    )
    return {column: frame[column] for column in frame.columns}


def _notes(status: pl.Series) -> tuple[str, ...]:
    said = {
        "ended in an error: left out": status == FAILED,
        "had not ended: kept, with the output tokens of the file": ~status.is_in([ENDED, FAILED]),
    }
    counts = {what: int(rows.sum()) for what, rows in said.items()}
    return tuple(f"{n:,} request{'' if n == 1 else 's'} {what}" for what, n in counts.items() if n)


BLIS = Format(
    "blis",
    required=("request_id", "tenant_id", "slo_class", "input_tokens", "output_tokens", "arrival_time_us"),
    optional=(
        "client_id",
        "vllm_priority",
        "session_id",
        "round_index",
        "prefix_group",
        "prefix_length",
        "streaming",
        "text_tokens",
        "image_tokens",
        "audio_tokens",
        "video_tokens",
        "reason_ratio",
        "model",
        "deadline_us",
        "slo_target_us",
        "server_input_tokens",
        "send_time_us",
        "first_chunk_time_us",
        "last_chunk_time_us",
        "num_chunks",
        "status",
        "error_message",
        "finish_reason",
        "x_request_id",
        "adapter",
        "think_time_us",
    ),
    convert=_convert,
)
