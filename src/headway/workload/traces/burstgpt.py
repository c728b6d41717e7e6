"""BurstGPT traces: CSV with `Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type`; seconds from 0.

Newer files have `Session ID` and `Elapsed time` too. Of the columns, times and tokens are used. A request without
response tokens failed: it is left out, and a note counts them.
Source: BurstGPT (Wang et al., KDD 2025).
"""

from __future__ import annotations

import polars as pl

from headway.core.errors import InvalidTrace
from headway.workload.columns import Column
from headway.workload.trace import Trace
from headway.workload.traces.format import Format


def _convert(name: str, frame: pl.DataFrame) -> Trace:
    prompts = Column(name, "Request tokens", frame["Request tokens"])
    requests = pl.DataFrame(
        {
            "arrival": Column(name, "Timestamp", frame["Timestamp"]).time(),
            "prompt_tokens": prompts.tokens(),
            "output_tokens": Column(name, "Response tokens", frame["Response tokens"]).tokens(),
        }
    )
    failed = requests["output_tokens"] == 0
    prompts.refuse(
        (requests["prompt_tokens"] == 0) & ~failed, "a whole number of tokens from 1, as there is a response"
    )
    if len(failed) and failed.all():
        raise InvalidTrace(f"{name}: all {len(failed)} requests failed (0 response tokens); expected one that did not")
    number = int(failed.sum())
    notes = (f"{_requests(number)} without response tokens left out: failed",) if number else ()
    return Trace.from_frame(name, requests.filter(~failed), notes)


def _requests(number: int) -> str:
    return f"{number:,} request{'' if number == 1 else 's'}"


BURSTGPT = Format(
    "burstgpt",
    required=("Timestamp", "Model", "Request tokens", "Response tokens", "Total tokens", "Log Type"),
    optional=("Session ID", "Elapsed time"),
    convert=_convert,
)
