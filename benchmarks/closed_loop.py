"""How much goodput does each memory rule give in a closed loop, by the number of clients?

    python benchmarks/closed_loop.py [--requests N] [--seeds N] [--clients 10 20 ...]

The set-up of Past-Future's evaluation on a simulated engine: o1-like requests, Llama-2-7B on one A100, first tokens
within 10 s and gaps within 1.5 s. A client leaves after 60 s without a token. Every line is a mean over the seeds; the
figures are those of `headway compare o1-like --clients N --patience 60 --sla ttft=10,mtpot=1.5 ...`.
"""

from __future__ import annotations

import argparse

import headway
from headway.measure.sla import Sla

ENGINE = "a100-llama2-7b"
RULES = ("conservative", "watermark(level=0.99)", "past-future", "past-future(seed_length=2048)", "oracle")


def show(clients: int, requests: int, seeds: int) -> None:
    comparison = headway.compare(
        f"o1-like(n={requests})",
        ["fcfs"],
        ENGINE,
        memory=RULES,
        sla=Sla(ttft=10, mtpot=1.5),
        clients=clients,
        patience=60,
        seeds=range(seeds),
    )
    for rule, one in zip(RULES, comparison.policies, strict=True):
        assert one.sla is not None
        assert one.memory is not None
        print(
            f"{clients:>7} {rule:<30} {one.sla.goodput_tokens_per_s:>8,.0f} {one.throughput_tokens_per_s:>8,.0f}"
            f" {(one.sla.attainment or 0) * 100:>7.1f} {one.memory.eviction_events:>9,.0f}"
            f" {one.cancelled:>9,.0f} {one.wasted_tokens:>9,.0f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--clients", type=int, nargs="+", default=range(10, 101, 10))
    chosen = parser.parse_args()
    print("clients rule                            goodput  all tok/s   met %  evictions cancelled    wasted")
    for clients in chosen.clients:
        show(clients, chosen.requests, chosen.seeds)


if __name__ == "__main__":
    main()
