"""An own order in ten lines, compared with the built-in ones.

Run it with `python examples/own_order.py`, or on the command line from this folder:
`headway compare qba-paper --policy fcfs --policy own_order:FewestTokens`
"""

from __future__ import annotations

import headway


class FewestTokens(headway.Order):
    """Whose prompt is smallest? A second of waiting is worth `aging` tokens, so that nobody waits for ever."""

    def __init__(self, aging: float = 100.0) -> None:
        super().__init__()
        self.aging = aging

    def key(self, seq: headway.Sequence) -> float:
        """Return the rank of a request: the smallest goes first."""
        return seq.request.prompt_tokens + self.aging * seq.arrival


def main() -> None:
    """Compare it on the same requests, three seeds."""
    comparison = headway.compare("qba-paper(n=2000)", policies=["fcfs", "qba", FewestTokens], seeds=range(3))
    figures = headway.policy_frame(comparison)
    print(figures.select("policy", "wait.mean", "wait.p99", "classes.short.wait.p99", "classes.long.wait.p99"))
    for pair in comparison.paired:
        if pair.difference is not None and pair.ci95 is not None:
            bounds = f"95 % interval {pair.ci95.low:+.2f} to {pair.ci95.high:+.2f} s"
            print(f"{pair.a} against {pair.b}: {pair.difference:+.2f} s in mean wait, {bounds}")


if __name__ == "__main__":
    main()
