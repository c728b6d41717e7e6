"""A service agreement, and the goodput under it: only what was in time counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from headway.core.errors import InvalidInput, expect, nearest
from headway.measure.record import RunRecord

LIMITS = ("ttft", "mtpot", "e2e")


@dataclass(frozen=True)
class Sla:
    """What every request was promised; seconds, None for no promise.

    Attributes:
        ttft: from arrival to the first token.
        mtpot: largest gap between two deliveries of the request.
        e2e: from arrival to the last token.
    """

    ttft: float | None = None
    mtpot: float | None = None
    e2e: float | None = None

    @classmethod
    def parse(cls, text: str) -> Sla:
        """Read `ttft=10,mtpot=1.5`.

        Raises:
            InvalidInput: not of that form, an unknown limit, or one that is not a number above 0.
        """
        expect("sla", text, str, "a text such as 'ttft=10,mtpot=1.5'")
        limits: dict[str, float] = {}
        for part in text.split(","):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals:
                raise InvalidInput(f"service agreement '{text}': '{part.strip()}' is not of the form ttft=10")
            if name not in LIMITS:
                raise InvalidInput(f"service agreement '{text}': unknown limit '{name}'; {nearest(name, LIMITS)}")
            if name in limits:
                raise InvalidInput(f"service agreement '{text}': '{name}' is given twice")
            try:
                limits[name] = float(value)
            except ValueError:
                limits[name] = math.nan
            if not 0 < limits[name] < math.inf:
                raise InvalidInput(
                    f"service agreement '{text}': {name} = '{value}'; expected a number of seconds above 0"
                )
        return cls(**limits)

    def __str__(self) -> str:
        """Write the agreement as it would be typed."""
        return ",".join(f"{name}={getattr(self, name):g}" for name in LIMITS if getattr(self, name) is not None)


@dataclass(frozen=True)
class Service:
    """How an agreement was kept.

    Attributes:
        attainment: share of all requests that finished and met every promise.
        goodput_tokens_per_s: prompt and output tokens of those, a second of makespan.
    """

    attainment: float | None
    goodput_tokens_per_s: float | None


def service(record: RunRecord, sla: Sla) -> Service:
    """Judge a run by an agreement; a request with fewer than two deliveries has no gap to be late with.

    Source: Past-Future (ASPLOS 2025), goodput under an SLA.
    """
    outcomes = record.outcomes
    met = pl.col("outcome") == "finished"
    if sla.ttft is not None:
        met &= (pl.col("first_token") - pl.col("arrival")).fill_null(0.0) <= sla.ttft
    if sla.mtpot is not None:
        met &= pl.col("largest_gap").fill_null(0.0) <= sla.mtpot
    if sla.e2e is not None:
        met &= pl.col("finish") - pl.col("arrival") <= sla.e2e
    good = outcomes.filter(met)
    tokens = int(good["prompt_tokens"].sum()) + int(good["output_tokens"].sum())
    seconds = record.totals.seconds
    return Service(
        attainment=good.height / outcomes.height if outcomes.height else None,
        goodput_tokens_per_s=tokens / seconds if seconds > 0 else None,
    )
