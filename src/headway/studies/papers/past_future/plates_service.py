"""What is drawn and listed of the closed loop, of forecasts, and of the trace."""

from __future__ import annotations

import math

import polars as pl

from headway.measure.reproduction import Axis, Part, Plate, Sheet
from headway.measure.stability import Stability
from headway.studies.papers.past_future.grid import (
    AS_IN_THE_TEXT,
    CONSERVATIVE,
    NEAREST,
    ORACLE,
    PROFILES,
    named,
    watermark,
)
from headway.studies.papers.past_future.plates import marks
from headway.studies.papers.past_future.rows import Runs

RULES = {
    "oracle": ORACLE,
    "past-future": NEAREST,
    "past-future (from start-up)": AS_IN_THE_TEXT,
    "watermark (95 %)": watermark(0.95),
    "conservative": CONSERVATIVE,
}


def goodput(runs: Runs) -> Part:
    """Return goodput and latency of the closed loop, by clients."""
    plates = [plate for name in PROFILES for plate in (_goodput(runs, name), _attainment(runs, name))]
    return Part(
        "goodput",
        "Goodput in the closed loop",
        (
            (
                "Clients send reasoning requests (o1-like), each its next one when the last one has ended. Goodput is "
                "of requests whose first token came in time and none of whose gaps was too long: 10 s and 1.5 s with "
                "7B and 13B, 15 s and 5 s with 70B. The window of Past-Future begins with 500 lengths of 2048, near "
                "what these answers have; beside it, from start-up, full of the longest answer as in the text."
            ),
        ),
        tuple(plates),
        (
            Sheet(
                "goodput",
                "Goodput and latency",
                "Means over seeds; P99 of the first token, and of the largest gap of each request.",
                _listing(runs),
            ),
        ),
    )


def _goodput(runs: Runs, name: str) -> Plate:
    return Plate(
        f"goodput-{name.lower()}",
        f"Goodput: {name}",
        f"Agreement: {PROFILES[name].sla}.",
        _by_clients(runs, name, "goodput"),
        Axis("clients", "Clients"),
        Axis("goodput", "Goodput (tokens/s)", zero=True),
        series="rule",
        low="low",
        high="high",
    )


def _attainment(runs: Runs, name: str) -> Plate:
    return Plate(
        f"attainment-{name.lower()}",
        f"Requests served as agreed: {name}",
        "The share of requests that met both limits.",
        _by_clients(runs, name, "attainment"),
        Axis("clients", "Clients"),
        Axis("attainment", "Share of requests", zero=True),
        series="rule",
        low="low",
        high="high",
    )


def _by_clients(runs: Runs, name: str, figure: str) -> pl.DataFrame:
    places = [(rule, clients) for rule in RULES for clients in runs.clients(name)]
    return marks(
        [{"rule": rule, "clients": float(clients)} for rule, clients in places],
        [runs.service(figure, name, clients, RULES[rule]) for rule, clients in places],
        figure,
    )


def _listing(runs: Runs) -> pl.DataFrame:
    rows: list[dict[str, object]] = []
    for name in PROFILES:
        for clients in runs.clients(name):
            for rule, memory in RULES.items():
                got = {
                    figure: runs.service(figure, name, clients, memory)
                    for figure in ("goodput", "throughput", "attainment", "ttft_p99", "mtpot_p99", "used", "events")
                }
                rows.append(
                    {
                        "model": name,
                        "clients": clients,
                        "rule": rule,
                        "goodput tokens/s": got["goodput"].mean,
                        "± goodput": got["goodput"].half,
                        "throughput tokens/s": got["throughput"].mean,
                        "met %": got["attainment"].mean * 100,
                        "first token s": got["ttft_p99"].mean,
                        "largest gap s": got["mtpot_p99"].mean,
                        "used %": got["used"].mean,
                        "evictions": got["events"].mean,
                    }
                )
    return pl.DataFrame(rows)


def forecasts(runs: Runs) -> Part:
    """Return how well a window tells the length of a running answer."""
    told = runs.forecast.group_by("workload", "generated", maintain_order=True).agg(
        pl.col("requests").sum(), pl.col("error").mean(), pl.col("bias").mean()
    )
    shown = told.with_columns(
        pl.col("workload").map_elements(named, return_dtype=pl.String), pl.col("generated").cast(pl.Float64)
    )
    generated = Axis("generated", "Tokens generated so far")
    return Part(
        "forecast",
        "What a window tells of one answer",
        (
            (
                "A window of a thousand finished answers, and the next two thousand: their final length drawn as the "
                "rule does, given what each has generated. A single draw stays far off; what counts is the batch."
            ),
        ),
        (
            Plate(
                "forecast-error",
                "Error of a drawn length",
                "Mean distance between the drawn and the true length.",
                shown,
                generated,
                Axis("error", "Mean error (tokens)", zero=True),
                series="workload",
            ),
            Plate(
                "forecast-bias",
                "Bias of a drawn length",
                "Above 0 the draw is too long.",
                shown,
                generated,
                Axis("bias", "Drawn less true length (tokens)", zero=True),
                series="workload",
            ),
        ),
    )


def similarity(runs: Runs) -> Part:
    """Return how alike the windows of the trace are."""
    found = runs.similar
    if found is None:
        return Part("stability", "Stability of output lengths")
    return Part(
        "stability",
        "Stability of output lengths",
        (
            (
                f"Cosine similarity of histograms of output lengths (50 bins of {found.bin_width} tokens, the last one "
                "open). Windows of few requests look less alike than they are, from chance alone."
            ),
        ),
        (
            _heat(found, "adjacent", "Neighbouring windows", "Each window and the requests right before it."),
            _heat(found, "everywhere", "Windows of the whole trace", "Each window and every other one."),
        ),
    )


def _heat(found: Stability, kind: str, title: str, caption: str) -> Plate:
    values = getattr(found, kind)
    rows = [
        {"historical": f"{before:,}", "running": f"{now:,}", "similarity": float(values[i, j])}
        for i, before in enumerate(found.sizes)
        for j, now in enumerate(found.sizes)
        if not math.isnan(values[i, j])
    ]
    return Plate(
        f"stability-{kind}",
        title,
        caption,
        pl.DataFrame(rows),
        Axis("running", "Running window (requests)"),
        Axis("historical", "Historical window (requests)"),
        "heat",
        value=Axis("similarity", "Cosine similarity"),
    )
