"""The queueing model beside the simulator as a table, and as plates."""

from __future__ import annotations

import math

import polars as pl

from headway.measure.modelled import NOBODY_WAITS, POLICIES, Agreement, Modelled
from headway.measure.reproduction import Axis, Plate
from headway.report.columns import NO_VALUE, Column, Table
from headway.report.modelled_words import SOURCES
from headway.report.numbers import load_text

NO_MEAN, NO_WAIT = "∞", "≈ 0"


def wait_text(seconds: float | None) -> str:
    """Return a mean wait in seconds without its unit, to three digits: `∞` where none exists, `≈ 0` below 1 µs."""
    if seconds is None:
        return NO_VALUE
    if not math.isfinite(seconds):
        return NO_MEAN
    if seconds < NOBODY_WAITS:
        return NO_WAIT
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:#.3g}"


def modelled_table(found: Modelled) -> Table:
    """Return mean waits of the model beside those of the simulator: a row a rate, a block a number of servers."""
    blocks: list[str] = []
    rates: list[float] = []
    for one in found.agreements:
        blocks += [f"{one.n:.3g}, {one.servers}"] * len(found.rates)
        rates += found.rates
    names = [one.servers for one in found.agreements for _ in found.rates]
    rows = {(row["servers"], row["rate"], row["policy"]): row for row in found.points.iter_rows(named=True)}
    keys = list(zip(names, rates, strict=True))
    blank = ("",) * len(keys)
    columns = [Column("", "rho", "", tuple(f"{rows[*key, 'fcfs']['rho']:.2f}" for key in keys), blank)]
    for policy in POLICIES:
        for name, column in (("model", "model"), ("simulated", "simulated")):
            cells = tuple(wait_text(rows[*key, policy][column]) for key in keys)
            columns.append(Column(policy, name, "", cells, blank))
    texts = tuple(f"{load_text(rate)}/s" for rate in rates)
    return Table(
        "Mean waits of the model and of the simulator (s)",
        texts,
        tuple(columns),
        "rate",
        dict.fromkeys(texts, "transparent"),
        tuple(blocks),
        "servers",
    )


def modelled_plates(found: Modelled) -> list[Plate]:
    """Return a figure for each number of servers: waits over the rate, simulated solid with bands, modelled dashed."""
    return [_plate(found, one) for one in found.agreements]


def _plate(found: Modelled, one: Agreement) -> Plate:
    points = found.points.filter(pl.col("servers") == one.servers)
    simulated = points.select("policy", "rate", source=pl.lit("simulated"), wait="simulated", low="low", high="high")
    model = points.select(
        "policy",
        "rate",
        source=pl.lit("model"),
        wait=pl.when(pl.col("model").is_finite(), pl.col("model") >= NOBODY_WAITS).then("model"),
        low=pl.lit(None, dtype=pl.Float64),
        high=pl.lit(None, dtype=pl.Float64),
    )
    bands = " Bands are 95 % intervals over seeds." if points["low"].is_not_null().any() else ""
    caption = "Solid lines are simulated, dashed ones the model's."
    if one.unstable_from is not None:
        caption += f" These end where the model has no mean wait: rho ≥ 1 from {load_text(one.unstable_from)}/s."
    if (points["model"] < NOBODY_WAITS).any():
        caption += " The model is not drawn where it says that nobody waits: below a microsecond."
    return Plate(
        name=f"model-{one.servers}",
        title=f"{one.n:.3g} servers: {SOURCES[one.servers]}",
        caption=caption + bands,
        data=pl.concat([simulated, model]),
        x=Axis("rate", "Requests a second"),
        y=Axis("wait", "Mean wait (s, log scale)", log=True),
        series="policy",
        low="low",
        high="high",
        dash="source",
    )
