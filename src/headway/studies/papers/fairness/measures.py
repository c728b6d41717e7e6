"""What the set-ups keep of a run: service of tenants over time, promises, waits and tokens by class."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway.measure.charges import ServiceCurves
from headway.measure.fairness import bound, fairness
from headway.measure.latency import seconds
from headway.measure.outstanding import Rates, outstanding
from headway.measure.promises import kept, own_promises
from headway.measure.record import RunRecord
from headway.measure.sla import Sla

Row = dict[str, float | None]

_POINTS = 600  # of a curve of service


def service(record: RunRecord, _: Sla | None = None, *, since: float = 0.0, until: float, settled: float = 0.0) -> Row:
    """Return what two tenants were served between two times, and how the gap between them went.

    Units are charged ones over weight. `service.NAME` and `total`; `units.NAME`, not over weight; `waiting.NAME` at
    `until`, and `waited.NAME` at `since`; `gap`, the most by which the tenant that is first by name was ahead of or
    behind the other; `slope` and `straight`, pace (units/s) and correlation with time of that gap; `drift`, how far it
    moved at most after `settled`; `bound`, 2U.
    """
    if record.work is None:
        raise ValueError("the requests name no tenants")
    curves = ServiceCurves(record, record.work)
    times = np.linspace(since, until, _POINTS)
    served = [curves.at(row, times) - curves.at(row, np.array([since])) for row in range(len(curves.names))]
    gap = served[0] - served[-1]
    late = gap[times >= settled]
    row: Row = {f"service.{name}": float(units[-1]) for name, units in zip(curves.names, served, strict=True)}
    varied = float(gap.std()) > 0
    row |= {
        "total": float(sum(units[-1] for units in served)),
        "slope": float(np.polyfit(times, gap, 1)[0]),
        "straight": float(np.corrcoef(times, gap)[0, 1]) if varied else 0.0,
        "gap": float(np.abs(gap).max()),
        "drift": float(np.abs(late - late[0]).max()),
        "bound": bound(record),
    }
    waiting = record.outcomes.filter(pl.col("arrival") <= until, pl.col("start").is_null() | (pl.col("start") > until))
    before = record.outcomes.filter(pl.col("arrival") < since, pl.col("start") >= since)
    for name in curves.names:
        weight = record.outcomes.filter(pl.col("tenant") == name)["weight"][0]
        row[f"units.{name}"] = (row[f"service.{name}"] or 0.0) * float(weight)
        row[f"waiting.{name}"] = float((waiting["tenant"] == name).sum())
        row[f"waited.{name}"] = float((before["tenant"] == name).sum())
    return row


def promises(record: RunRecord, _: Sla | None = None) -> Row:
    """Return how promises were kept.

    `broken`, share of all requests; `served`, share of those that were let in whose promises were kept; `refused`;
    `at_once`, share of the refused that were told on arrival; `goodput`, tokens/s; `gap` and `bound` between tenants.
    """
    outcomes = record.outcomes
    promise = own_promises(outcomes)
    if promise is None:
        raise ValueError("nothing was promised")
    met = kept(record, promise)
    refused = (outcomes["outcome"] == "rejected").to_numpy()
    told = seconds(outcomes, "finish") - seconds(outcomes, "arrival")
    tokens = (outcomes["prompt_tokens"] + outcomes["output_tokens"]).to_numpy()
    shares = fairness(record)
    wait = seconds(outcomes, "start") - seconds(outcomes, "arrival")
    return {
        "broken": float(1 - met.mean()),
        "served": float(met[~refused].mean()),
        "refused": float(refused.mean()),
        "at_once": float((told[refused] <= 0).mean()) if refused.any() else None,
        "goodput": float(tokens[met].sum()) / record.totals.seconds,
        "wait": float(np.nanmean(wait)),
        "gap": shares and shares.max_gap,
        "bound": shares and shares.bound,
    }


def classes(record: RunRecord, _: Sla | None = None) -> Row:
    """Return waits and tokens, of all requests and by class: seconds; the makespan, and tokens/s."""
    outcomes = record.outcomes
    arrival, start, first, finish = (seconds(outcomes, name) for name in ("arrival", "start", "first_token", "finish"))
    tokens = outcomes["output_tokens"].to_numpy()
    itl = (finish - first) / np.maximum(tokens - 1, 1)
    row: Row = {
        "wait": float((start - arrival).mean()),
        "ttft": float((first - arrival).mean()),
        "e2e": float((finish - arrival).mean()),
        "itl": float(itl.mean()),
        "apart": float(np.abs((first - arrival) + itl * (tokens - 1) - (finish - arrival)).max()),
        "makespan": record.totals.seconds,
        "throughput": float((outcomes["prompt_tokens"].sum() + tokens.sum()) / record.totals.seconds),
    }
    for name in outcomes["class"].drop_nulls().unique().sort():
        of = (outcomes["class"] == name).fill_null(value=False).to_numpy()
        row |= {
            f"{name}.wait": float((start - arrival)[of].mean()),
            f"{name}.longest": float((start - arrival)[of].max()),
            f"{name}.ttft": float((first - arrival)[of].mean()),
            f"{name}.last": float((first - arrival)[of].max()),
            f"{name}.gap": float(np.nanmax(np.nan_to_num(seconds(outcomes, "largest_gap")[of]))),
        }
    return row


def signals(record: RunRecord, _: Sla | None = None, *, rates: Rates) -> Row:
    """Return the peaks of autoscaling signals, and how long the work took: `requests`, `seconds`, `drained`."""
    seen = outstanding(record, rates)
    peaks = {name: seen[name].max() for name in ("requests", "seconds")}
    return {**{name: float(peak) for name, peak in peaks.items()}, "drained": record.totals.seconds}  # type: ignore[arg-type]
