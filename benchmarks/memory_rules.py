"""What a memory rule costs: microseconds a check, at 10 to 1000 running requests.

    python benchmarks/memory_rules.py

A check is one candidate in a round of its own, looking ahead over all residents included; a further check is one more
candidate in the same round. Beside it stands the share of one iteration of Llama-3-8B on an A100 (preset
a100-llama3-8b) with as many residents of 1000 tokens.
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
from headway.policies.memory.oracle import Oracle

RULES = ("prompt-fit", "conservative", "watermark", "past-future", "past-future(lists=1)", "ema", "oracle")
SIZES = (10, 50, 100, 300, 1000)
BATCHES, CHECKS = 100, 30


def check_cost(spec: str, residents: int, *, further: bool = False) -> float:
    """Microseconds of one check, in the best batch: others use this machine too."""
    rng = np.random.default_rng(0)
    engine = preset("past-future-table1")
    rule = build(parse_spec(spec), MEMORY_RULES, "memory rule")
    rule.attach(engine, rng)
    if isinstance(rule, Oracle):
        rule.reveal([4096] * (residents + 1))
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
    rule.fits(candidate, ledger)
    for _ in range(BATCHES):
        began = time.perf_counter()
        for _ in range(CHECKS):
            if not further:
                rule.round_begins(ledger)
            rule.fits(candidate, ledger)
        best = min(best, time.perf_counter() - began)
    return best / CHECKS * 1e6


def main() -> None:
    cost = preset("a100-llama3-8b").cost
    print(f"{'us a check at':22s}" + "".join(f"{size:>14,d}" for size in SIZES))
    for spec, further in [(spec, False) for spec in RULES] + [("past-future", True)]:
        cells = ""
        for size in SIZES:
            micro = check_cost(spec, size, further=further)
            share = micro * 1e-6 / cost.seconds(0, size, size * 1000) * 100
            cells += f"{micro:>7.1f} {share:>4.2f} %"
        print(f"{spec + (', further' if further else ''):22s}{cells}")


if __name__ == "__main__":
    main()
