"""How well does a window of finished answers tell the length of one that is running?

Drawn by the rule itself: it has seen the first thousand answers of a workload, and says how long those after them will
get, given what each has generated.
"""

from __future__ import annotations

from collections.abc import Sequence as Items

import numpy as np
import polars as pl

from headway.core.engine import preset
from headway.core.kv import KvLedger
from headway.core.request import Request
from headway.core.sequence import Sequence
from headway.policies.memory.past_future import PastFuture
from headway.studies.papers.past_future.grid import D1, ENGINE, O1
from headway.workload import workload

GENERATED = (0, 2500, 3000, 3500)
SEEN = 1000
SCHEMA = {
    "workload": pl.String,
    "seed": pl.Int64,
    "generated": pl.Int64,
    "requests": pl.Int64,
    "error": pl.Float64,
    "bias": pl.Float64,
}


def forecast(seeds: Items[int]) -> pl.DataFrame:
    """Return for each workload, seed and progress the mean error and bias of a predicted length, in tokens."""
    rows = [row for name in (D1, O1) for seed in seeds for row in _errors(name, seed)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _errors(name: str, seed: int) -> list[tuple[str, int, int, int, float, float]]:
    outputs = workload(name, seed).frame["output_tokens"].to_numpy()
    rule = _after(outputs[:SEEN], seed)
    rows: list[tuple[str, int, int, int, float, float]] = []
    for generated in GENERATED:
        rest = outputs[SEEN:]
        true = rest[rest > generated]
        limit = np.full(true.size, preset(ENGINE).longest_answer, dtype=np.int64)
        wrong = rule.predict_residents(np.full(true.size, generated, dtype=np.int64), limit)[0] - true
        rows.append((name, seed, generated, true.size, float(np.abs(wrong).mean()), float(wrong.mean())))
    return rows


def _after(outputs: np.ndarray, seed: int) -> PastFuture:
    """Return a rule that has seen so many answers finish."""
    rule, ledger = PastFuture(window=SEEN, lists=1), KvLedger(1, 1)
    rule.attach(preset(ENGINE), np.random.default_rng(seed))
    for length in outputs:
        done = Sequence(Request(0, 0.0, 1, None), 0)
        done.generated = int(length)
        rule.finished(done, ledger)
    return rule
