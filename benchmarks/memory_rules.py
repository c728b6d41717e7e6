"""What a memory rule costs: microseconds a check, at 10 to 1000 running requests.

    python benchmarks/memory_rules.py

A check is one candidate in a round of its own, looking ahead over all residents included. Beside it stands the time of
one iteration of Llama-3-8B on an A100 (preset a100-llama3-8b) with as many residents of 1000 tokens.
"""

from __future__ import annotations

import time

import numpy as np

from headway.core.engine import preset
from headway.core.kv import KvLedger
from headway.core.request import Request
from headway.core.sequence import Sequence
from headway.core.spec import build, parse_spec
from headway.policies.memory import MEMORY_RULES

RULES = ("prompt-fit", "conservative", "watermark", "past-future", "past-future(lists=1)", "ema")
SIZES = (10, 50, 100, 300, 1000)
CHECKS = 2000


def check_cost(spec: str, residents: int) -> float:
    """Microseconds of one check, the best of five batches."""
    rng = np.random.default_rng(0)
    engine = preset("past-future-table1")
    rule = build(parse_spec(spec), MEMORY_RULES, "memory rule")
    rule.attach(engine, rng)
    ledger = KvLedger(10**9, 1)
    for row in range(residents):
        seq = Sequence(Request(row, 0.0, int(rng.integers(32, 4096)), 4096), row)
        rule.admitted(seq, ledger)
        rule.joined(seq, ledger)
    for length in rng.integers(32, 4096, 1000):
        done = Sequence(Request(0, 0.0, 1, 4096), 0)
        done.generated = int(length)
        rule.finished(done, ledger)
    ledger.clock = 500
    candidate = Sequence(Request(residents, 0.0, 500, 4096), residents)
    best = np.inf
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(CHECKS // 5):
            rule.round_begins(ledger)
            rule.fits(candidate, ledger)
        best = min(best, time.perf_counter() - began)
    return best / (CHECKS // 5) * 1e6


def main() -> None:
    cost = preset("a100-llama3-8b").cost
    print(f"{'us a check at':22s}" + "".join(f"{size:>14,d}" for size in SIZES))
    for spec in RULES:
        cells = ""
        for size in SIZES:
            micro = check_cost(spec, size)
            share = micro * 1e-6 / cost.seconds(0, size, size * 1000) * 100
            cells += f"{micro:>7.1f} {share:>4.2f} %"
        print(f"{spec:22s}{cells}")


if __name__ == "__main__":
    main()
