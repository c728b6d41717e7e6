"""The queueing model's answer to numbers, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.report.columns import NO_VALUE
from headway.report.modelled_tables import NO_MEAN
from headway.report.numbers import percent_text, seconds_text


def formula_question(answer: Mapping[str, Any]) -> str:
    """Return what was asked."""
    return f"How long do requests wait at {answer['rate_per_s']:g} a second, if the engine is {_servers(answer)}?"


def formula_answer(answer: Mapping[str, Any]) -> str:
    """Say how busy the servers are, whether waits settle, and how far to trust the figures."""
    rho, limit = answer["rho"], answer["highest_rate_per_s"]
    if not answer["stable"]:
        return (
            f"More comes than can be done: rho = {rho:.3g}, and only up to {limit:.3g} requests a second does a mean "
            f"wait exist. {_waits_on(answer)}"
        ).strip()
    return (
        f"A server is busy {rho * 100:.3g} % of the time (rho), {percent_text(answer['erlang_c'])} of the requests "
        f"wait (Erlang C), and waits settle below {limit:.3g} requests a second. {_trust(answer)}"
    )


def formula_rows(answer: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heads and rows of the table: policy, mean wait, waits by class, and whether the formula is exact."""
    heads = ("policy", "mean wait", "short", "long", "formula")
    rows = [
        (
            row["policy"],
            *(_wait(row[name]) for name in ("mean", "short", "long")),
            "exact" if row["exact"] else "approximation",
        )
        for row in answer["policies"]
    ]
    return heads, rows


def _servers(answer: Mapping[str, Any]) -> str:
    servers = answer["servers"]
    return "one server" if servers == 1 else f"{servers:.4g} servers"


def _waits_on(answer: Mapping[str, Any]) -> str:
    first = [row["policy"] for row in answer["policies"] if row["short"] is not None and _wait(row["short"]) != NO_MEAN]
    return f"Who goes first still has one, under {' and '.join(first)}." if first else ""


def _trust(answer: Mapping[str, Any]) -> str:
    exact = [row["policy"] for row in answer["policies"] if row["exact"]]
    if len(exact) == len(answer["policies"]):
        return "The formulas are exact for Poisson arrivals."
    if not exact:
        return "The formulas are approximations."
    return f"For Poisson arrivals the formula of {' and '.join(exact)} is exact; others are approximations."


def _wait(seconds: float | None) -> str:
    if seconds is None:
        return NO_VALUE
    return NO_MEAN if seconds == float("inf") else seconds_text(seconds)
