"""What a prefix cache is worth by its size: hits, time to first token, throughput; and what simulating it costs.

    python benchmarks/prefix_cache.py [TRACE] [--rate R]

TRACE is a file whose prompts have hashes (Mooncake, Alibaba, or our own with `blocks`). Without it, conversations are
drawn that are like Mooncake's in kind: a prompt begins with the text of one of 20 applications (a few are used a lot),
and every turn repeats the one before it, the answer included, before what the user adds. The engine is the preset
h100-llama3-8b; the orders are `fcfs`, and `least-slack(ties=cache)`, which without promises takes whoever has most of
its prompt cached among the 64 that came first.
"""

from __future__ import annotations

import argparse
import itertools
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from headway.core.engine import preset
from headway.measure.summary import summarise
from headway.simulate.run import simulate
from headway.workload import Trace, read_trace
from headway.workload.transform import rescale_rate

BLOCK = 512
LONGEST = 120_000  # tokens of a prompt
SIZES = (None, 50_000, 200_000, 1_000_000, 5_000_000)
POLICIES = ("fcfs", "least-slack(ties=cache)")


def conversations(requests: int, seed: int = 0) -> Trace:
    """Draw conversations; a request a second on average."""
    rng = np.random.default_rng(seed)
    names = itertools.count(1_000_000)
    applications = [int(tokens) for tokens in rng.integers(500, 6000, 20)]
    popular = 1.0 / np.arange(1, 21)
    rows: list[tuple[float, int, int, list[int]]] = []
    began = 0.0
    while len(rows) < requests:
        began += rng.exponential(4.0)
        application = int(rng.choice(20, p=popular / popular.sum()))
        length, at = applications[application], began
        blocks = [application * 1000 + place for place in range(length // BLOCK)]
        for _ in range(rng.geometric(0.25)):
            length += int(rng.lognormal(6.5, 1.2)) + 1
            if length > LONGEST:
                break
            answer = int(rng.lognormal(5.0, 0.9)) + 1
            blocks += itertools.islice(names, length // BLOCK - len(blocks))
            rows.append((at, length, answer, [*blocks, next(names)][: -(-length // BLOCK)]))
            length += answer
            at += 5.0 + rng.exponential(40.0)
    columns = ("arrival", "prompt_tokens", "output_tokens", "blocks")
    frame = pl.DataFrame(rows[:requests], schema=columns, orient="row").sort("arrival")
    return Trace.from_frame("conversations", frame.with_columns(block_tokens=pl.lit(BLOCK)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path)
    parser.add_argument("--rate", type=float, action="append", help="requests a second; may be given again")
    chosen = parser.parse_args()
    trace = conversations(20_000) if chosen.trace is None else read_trace(chosen.trace)
    if "blocks" not in trace.frame.columns:
        parser.error(f"{trace.name}: its prompts have no hashes")
    prompts, outputs = (trace.frame[name].mean() for name in ("prompt_tokens", "output_tokens"))
    print(f"{trace.name}: {len(trace):,} requests, prompts of {prompts:,.0f} and answers of {outputs:,.0f} tokens")
    engine = preset("h100-llama3-8b")
    for rate in chosen.rate or (3.0, 5.0):
        scaled = rescale_rate(trace, rate)
        print(f"\n{rate:g} requests/s")
        print(
            f"{'cache, tokens':>14s} {'order':24s} {'hit':>6s} {'TTFT mean':>10s} {'P99':>9s} {'output':>11s} {'':>11s}"
        )
        for size, policy in itertools.product(SIZES, POLICIES):
            if size is None and policy != "fcfs":
                continue
            began = time.process_time()
            record = simulate(scaled, policy, replace(engine, prefix_cache=size), timeline=False)
            took = time.process_time() - began
            summary = summarise(record)
            ttft, hit = summary.latency.ttft, summary.cache.hit_rate
            print(
                f"{'none' if size is None else f'{size:,}':>14s} {policy:24s} {(hit or 0) * 100:>4.1f} %"
                f" {ttft.mean or 0:>8.2f} s {ttft.p99 or 0:>7.2f} s {summary.output_tokens_per_s or 0:>6.0f} tok/s"
                f" {took / len(trace) * 1e6:>5.1f} us/req"
            )


if __name__ == "__main__":
    main()
