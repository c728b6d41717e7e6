"""How many replicas? Ask the number of requests, or the work that they are.

Two bursts of 1,600 requests in four seconds, the second with ten times the tokens, both promised to be done within a
minute. One replica stands there when a burst comes; each signal is read at its peak and divided by what a replica may
hold of it. Run it: python examples/autoscaling.py
"""

from __future__ import annotations

import math

import polars as pl

import headway
from headway.core.engine import preset
from headway.measure.outstanding import Rates, outstanding
from headway.studies.replicas import rates_for, simulate_replicas
from headway.workload.transform import scale_lengths

ENGINE = preset("a100-llama3-8b")
PROMISED = 60.0  # seconds from arrival to the last token
TARGET = 45.0  # seconds of work that a replica may hold: less than promised, since estimates err and bursts last
BURST = "uniform(n=1600, rate=400, prompt_low=100, prompt_high=300, output_low=20, output_high=80)"


def bursts() -> dict[str, headway.Trace]:
    """The same arrivals twice, with tokens and with ten times as many."""
    drawn = headway.workload(BURST)
    promised = drawn.frame.with_columns(completion_slo=pl.lit(PROMISED))
    short = headway.Trace.from_frame("short", promised)
    return {"short": short, "long": scale_lengths(short, 10)}


def held_by_a_replica(trace: headway.Trace, rates: Rates) -> dict[str, float]:
    """What `TARGET` seconds of work are in each unit, as an operator who has seen this trace would set it."""
    prompt, output = (trace.frame[name].mean() for name in ("prompt_tokens", "output_tokens"))
    each = rates.seconds(prompt, output)  # of a request
    return {"requests": TARGET / each, "positions": TARGET / each * (prompt + output), "seconds": TARGET}


def main() -> None:
    """Print a line for each burst and signal."""
    traces = bursts()
    may_hold = held_by_a_replica(traces["short"], rates_for(traces["short"], ENGINE))
    print(f"{'burst':8}{'signal':12}{'peak':>10}{'a replica':>12}{'replicas':>10}{'kept':>8}")
    for name, trace in traces.items():
        seen = outstanding(headway.simulate(trace, "fcfs", ENGINE, timeline=False), rates_for(trace, ENGINE))
        for signal, most in may_hold.items():
            peak = float(seen[signal].max())
            replicas = math.ceil(peak / most)
            kept = simulate_replicas(trace, replicas, "fcfs", ENGINE).service().attainment
            print(f"{name:8}{signal:12}{peak:>10,.0f}{most:>12,.0f}{replicas:>10}{kept:>8.1%}")


if __name__ == "__main__":
    main()
