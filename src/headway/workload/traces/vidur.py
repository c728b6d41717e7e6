"""Vidur traces: CSV with `arrived_at,num_prefill_tokens,num_decode_tokens`; seconds from 0.

Vidur also has files of lengths alone; they hold no arrivals and are refused.
Source: Vidur (Agrawal et al., MLSys 2024).
"""

from __future__ import annotations

import polars as pl

from headway.workload.trace import Trace
from headway.workload.traces.format import Format

_NAMES = {
    "arrived_at": "arrival",
    "num_prefill_tokens": "prompt_tokens",
    "num_decode_tokens": "output_tokens",
}


def _convert(name: str, frame: pl.DataFrame) -> Trace:
    requests = frame.select(pl.col(theirs).alias(ours) for theirs, ours in _NAMES.items())
    return Trace.from_frame(name, requests, called={ours: theirs for theirs, ours in _NAMES.items()})


VIDUR = Format("vidur", required=tuple(_NAMES), optional=("num_total_tokens", "pd_ratio"), convert=_convert)
