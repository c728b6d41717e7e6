"""Side by side with sched-sim, the fastest token-level peer on the Python registry: whole processes, CPU seconds.

    pip install sched-sim==0.2.1
    python benchmarks/against_sched_sim.py TRACE [--copies N] [--runs N]

Both read the same requests from a file, run them first come first served through an engine with a token budget of 512
and at most 32 sequences (sched-sim's fixed limit), and write their results; Headway also writes a row a request.
`--copies` puts the trace N times behind itself, to tell start-up from steady state. The usual limit of 256 sequences is
shown beside. The two are run in turns; quoted are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

from headway.workload import Trace, read_trace, write_trace

ENGINE = """
token_budget = {budget}
max_sequences = {sequences}
kv_tokens = 450000
[cost]
kind = "roofline"
gpu = "a100"
model = "llama3-8b"
"""


def repeated(trace: Trace, copies: int) -> pl.DataFrame:
    """The trace's requests, `copies` times one behind the other."""
    span = trace.span + 1 / trace.rate
    parts = [trace.frame.with_columns(pl.col("arrival") + span * copy) for copy in range(copies)]
    return (
        pl.concat(parts).select("arrival", "prompt_tokens", "output_tokens").with_row_index("id").cast({"id": pl.Int64})
    )


def cpu_seconds(command: list[str]) -> float:
    """User and system time of a whole process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    bin_ = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        frame = repeated(read_trace(chosen.trace), chosen.copies)
        write_trace(Trace.from_frame("benchmark", frame), here / "trace.csv")
        rows = frame.rename({"arrival": "timestamp"}).with_columns(pl.col("id").cast(pl.String)).to_dicts()
        (here / "trace.json").write_text(json.dumps(rows))
        (here / "e32.toml").write_text(ENGINE.format(budget=512, sequences=32))
        (here / "e256.toml").write_text(ENGINE.format(budget=2048, sequences=256))
        ours = [str(bin_ / "headway"), "simulate", str(here / "trace.csv"), "--requests", str(here / "rows.csv")]
        peer = [str(bin_ / "sched-sim"), "trace", str(here / "trace.json"), "-s", "chunked", "-h", "a100", "--no-gantt"]
        commands = {
            "sched-sim 0.2.1, 32 sequences": peer,
            "headway, 32 sequences": [*ours, "--engine", str(here / "e32.toml")],
            "headway, 256 sequences": [*ours, "--engine", str(here / "e256.toml")],
            "headway, one request (start-up)": [*ours, "--engine", str(here / "e32.toml"), "--limit", "1"],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(chosen.runs):
            for name, command in commands.items():
                seconds[name].append(cpu_seconds(command))
    base = statistics.median(seconds["sched-sim 0.2.1, 32 sequences"])
    print(f"{len(rows):,} requests, whole processes, median of {chosen.runs} runs in turns")
    for name, runs in seconds.items():
        middle = statistics.median(runs)
        print(f"{name:34s} {middle:8.2f} CPU s {len(rows) / middle:>10,.0f} requests/CPU s {base / middle:6.1f} x")


if __name__ == "__main__":
    main()
