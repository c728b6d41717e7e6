"""Figures and tables of the reproduction, a part each."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from headway.measure.reproduction import Axis, Part, Plate, Sheet
from headway.studies.papers.fairness.grid import HORIZONS, ORDERS
from headway.studies.papers.fairness.runs import Runs

_LOAD_TEXT = (
    "Three classes, a third of the requests each: first tokens within 6 s and 50 ms between tokens; answers within 600 "
    "s; and within 1800 s. Bursty arrivals (gamma, coefficient of variation 2), known lengths, an engine whose "
    "iterations keep 50 ms between tokens. A request that is refused or late is a broken promise."
)
_NAMES = {
    "fcfs": "fcfs",
    "edf": "earliest deadline",
    "edf-demote": "earliest deadline, demote",
    "slack": "least slack",
    "slack-demote": "least slack, demote",
    "hybrid-demote": "hybrid key, demote",
}


def deadlines_part(runs: Runs) -> Part:
    """Return the load sweep: broken promises and goodput over the rate."""
    rows = [
        (_NAMES[name], rate, *_figure(runs, f"{name}@{rate:g}", "broken", 100), runs.of(f"{name}@{rate:g}", "goodput"))
        for name in _NAMES
        for rate in runs.rates
    ]
    data = pl.DataFrame(rows, schema=["policy", "rate", "broken", "low", "high", "goodput"], orient="row")
    x = Axis("rate", "Requests a second")
    plates = (
        Plate(
            "broken",
            "Broken promises over the load",
            "Earliest deadline breaks nearly none, and then falls off a cliff; demotion makes it a slope.",
            data,
            x,
            Axis("broken", "Broken promises (%)", zero=True),
            series="policy",
            low="low",
            high="high",
        ),
        Plate(
            "goodput",
            "Goodput over the load",
            "Tokens a second of requests that were served as promised.",
            data,
            x,
            Axis("goodput", "Goodput (tokens/s)", zero=True),
            series="policy",
        ),
    )
    last = runs.rates[-1]
    table = _sheet(
        runs,
        "shedding",
        f"Admit anyway, demote or reject, at {last:g} requests/s",
        {f"{order} + {shed}": f"{name}@{last:g}" for name, (order, shed) in ORDERS.items()},
        {
            "broken %": ("broken", 100),
            "in time, of those let in %": ("served", 100),
            "refused %": ("refused", 100),
            "goodput, tokens/s": ("goodput", 1),
        },
        "order and shedding",
    )
    return Part("deadlines", "Deadlines under load", (_LOAD_TEXT,), plates, (table,))


def other_parts(runs: Runs, parts: Sequence[str]) -> list[Part]:
    """Return the parts that are tables."""
    makers = {
        "charges": lambda: _service_part(
            runs,
            "charges",
            "What is charged, and idle time",
            ("charge-iteration", "charge-admission", "lift-active", "lift-waiting"),
            "In steps of a second: 400 requests of 100 in and 1000 out against 4000 of 100 in and 50 out, for 4000 s; "
            "and a tenant that returns after 6002 s while the other one only runs. Service in units: a prompt position "
            "one, a decode position two.",
        ),
        "shares": lambda: _service_part(
            runs,
            "shares",
            "Two tenants in overload",
            ("gap-fcfs", "gap-fair", "gap-pools", "gap-weighted"),
            "1.5 and 3 requests a second of 256 in and 256 out for ten minutes, on an engine that serves two a second. "
            "The gap is the difference of service; with weights 2 : 1 service is over weight.",
        ),
        "nesting": lambda: Part(
            "nesting",
            "Slack first or tenant first",
            ("Two tenants in bursts, one with three times the requests, each with 2, 10 or 40 s to its first token.",),
            sheets=(
                _sheet(
                    runs,
                    "nesting",
                    "Promises against the bound",
                    {
                        name: name
                        for name in ("tenant-first", "slack-first-inf", "slack-first-2", "slack-first-0", "pure-slack")
                    },
                    {
                        "broken %": ("broken", 100),
                        "gap, units": ("gap", 1),
                        "2U": ("bound", 1),
                        "mean wait, s": ("wait", 1),
                    },
                    "nesting",
                ),
            ),
        ),
        "mix": lambda: _classes_part(
            runs,
            "mix",
            "Long and short requests of one tenant",
            ("mix-fcfs", "mix-fair", "mix-slack", "mix-combined", "mix-shortest"),
            {
                "short: first token, s": "short.ttft",
                "long: first token, s": "long.ttft",
                "mean wait, s": "wait",
                "tokens/s": "throughput",
            },
            "Ten prompts of 150 tokens a second beside 0.3 of 12,000, all promised a first token within 5 s.",
        ),
        "starvation": lambda: _classes_part(
            runs,
            "starvation",
            "Bursts and starvation",
            tuple(f"starve-{name}-{HORIZONS[1]}" for name in ("fcfs", "shortest", "aged", "reserved")),
            {
                "long: longest wait, s": "long.longest",
                "short: mean wait, s": "short.wait",
                "mean wait, s": "wait",
                "tokens/s": "throughput",
            },
            f"Ten prompts of 4,000 tokens, and for {HORIZONS[1]} s more prompts of 200 than the engine serves.",
        ),
        "tokens": lambda: _classes_part(
            runs,
            "tokens",
            "What clients observe",
            ("cap-none", "cap-512", "cap-128", "share-0", "share-0.25", "share-0.5"),
            {"stream: largest gap, s": "stream.gap", "prompt: first token, s": "book.ttft", "tokens/s": "throughput"},
            "240 streams that decode at full speed beside one prompt of 65,536 tokens: caps on chunks, and (on an "
            "engine with a budget of 256 positions) shares for prompts.",
        ),
        "signals": lambda: _classes_part(
            runs,
            "signals",
            "Signals for autoscaling",
            ("small-burst", "large-burst"),
            {"peak: requests": "requests", "peak: work, s": "seconds", "drained after, s": "drained"},
            "1,600 requests in four seconds; and as many with ten times the tokens.",
        ),
    }
    return [makers[part]() for part in parts if part in makers]


def _service_part(runs: Runs, name: str, title: str, names: Sequence[str], text: str) -> Part:
    rows: list[tuple[object, ...]] = []
    for one in names:
        tenants = [figure for figure in runs.rows[one][0] if figure.startswith("service.")]
        served = ", ".join(f"{figure.partition('.')[2]} {runs.of(one, figure):,.0f}" for figure in tenants)
        rows.append((one, served, *(runs.of(one, figure) for figure in ("gap", "bound", "slope"))))
    data = pl.DataFrame(
        rows, schema=["set-up", "service, units", "largest gap", "2U", "gap grows, units/s"], orient="row"
    )
    return Part(name, title, (text,), sheets=(Sheet(name, "Service", "Means over seeds.", data, 1),))


def _classes_part(runs: Runs, name: str, title: str, names: Sequence[str], figures: dict[str, str], text: str) -> Part:
    columns = {head: (figure, 1.0) for head, figure in figures.items()}
    table = _sheet(runs, name, "Figures", {one: one for one in names}, columns, "set-up")
    return Part(name, title, (text,), sheets=(table,))


def _sheet(
    runs: Runs, name: str, title: str, rows: dict[str, str], figures: dict[str, tuple[str, float]], head: str
) -> Sheet:
    data = pl.DataFrame(
        [(shown, *(runs.of(one, figure) * scale for figure, scale in figures.values())) for shown, one in rows.items()],
        schema=[head, *figures],
        orient="row",
    )
    return Sheet(name, title, "Means over seeds.", data, 2)


def _figure(runs: Runs, name: str, figure: str, scale: float) -> tuple[float, float | None, float | None]:
    interval = runs.interval(name, figure)
    low, high = (None, None) if interval is None else (max(interval.low, 0.0) * scale, interval.high * scale)
    return runs.of(name, figure) * scale, low, high
