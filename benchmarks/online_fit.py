"""What the iteration model costs and how far it is off.

    python benchmarks/online_fit.py

Microseconds for an iteration learned and for a question; then the mean relative error after 200 varied iterations, for
each engine preset and priors that are wrong by up to 2.7 times in every term, without and with 5 % noise; and that of
one line where the engine has a knee that is not known.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from headway.core.batch import Batch
from headway.core.cost import CostModel, Linear, Piecewise, Roofline
from headway.core.engine import PRESETS, EngineProfile, preset
from headway.core.request import Request
from headway.core.sequence import Sequence
from headway.policies.fit import OnlineFit

SOMEBODY = Sequence(Request(0, 0.0, 1), 0)
LINEAR = replace(preset("a100-llama3-8b"), name="linear", cost=Linear(0.008, 1e-4, 3e-4, 6.4e-8))
RUNS = 40


class Unknown(CostModel):
    """A cost model that does not say what it is."""

    def __init__(self, inner: CostModel) -> None:
        self.seconds = inner.seconds  # type: ignore[method-assign]


def varied(engine: EngineProfile, count: int, rng: np.random.Generator) -> list[Batch]:
    """Iterations of all sizes."""
    batches: list[Batch] = []
    while len(batches) < count:
        batch = Batch()
        batch.joined.append(SOMEBODY)
        batch.decode_positions = int(rng.integers(0, engine.slots + 1)) * engine.decode_block
        room = engine.token_budget - batch.decode_positions
        batch.prefill_positions = int(rng.integers(0, room + 1)) if rng.random() < 0.7 else 0
        batch.context = int(rng.uniform(0.01, 1.0) * engine.kv_tokens)
        if batch.positions:
            batches.append(batch)
    return batches


def wrong(cost: CostModel, rng: np.random.Generator) -> CostModel:
    """The same kind of model with other coefficients."""
    common = math.exp(rng.uniform(-0.5, 0.5))

    def off(value: float) -> float:
        return value * common * math.exp(rng.uniform(-0.5, 0.5))

    if isinstance(cost, Linear):
        return Linear(off(cost.c0), off(cost.prefill), off(cost.decode), off(cost.context))
    if isinstance(cost, Piecewise):
        return Piecewise(off(cost.c0), off(cost.a), cost.b0)
    assert isinstance(cost, Roofline)
    rates = {name: off(getattr(cost, name)) for name in ("memory", "prefill_flops", "decode_flops", "c0")}
    return replace(cost, **rates)


def errors(engine: EngineProfile, prior: Callable[[np.random.Generator], CostModel], noise: float) -> np.ndarray:
    """Mean relative error of each run."""
    found: list[float] = []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        fit = OnlineFit(engine, cost=prior(rng))
        for batch in varied(engine, 200, rng):
            taken = engine.cost.seconds(batch.prefill_positions, batch.decode_positions, batch.context)
            fit.learn(batch, taken * rng.lognormal(-0.5 * noise**2, noise))
        off = [
            fit.seconds(b.prefill_positions, b.decode_positions / engine.decode_block, b.context)
            / engine.cost.seconds(b.prefill_positions, b.decode_positions, b.context)
            - 1.0
            for b in varied(engine, 200, rng)
        ]
        found.append(float(np.mean(np.abs(off))))
    return np.array(found)


def micros(work: Callable[[], object], times: int) -> float:
    """Microseconds of one of so many turns, the best of seven."""
    best = math.inf
    for _ in range(7):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best / times * 1e6


def main() -> None:
    engine = preset("a100-llama3-8b")
    rng = np.random.default_rng(0)
    fit, given = OnlineFit(engine), OnlineFit.from_cost(engine)
    batches = varied(engine, 2000, rng)
    spans = [engine.cost.seconds(b.prefill_positions, b.decode_positions, b.context) * 1.1 for b in batches]
    print(f"an iteration learned      {micros(lambda: list(map(fit.learn, batches, spans)), 2000):.1f} us")
    for name, model in (("fitted", fit), ("given", given)):
        each = micros(lambda m=model: [m.seconds(900, 90, 9e4) for _ in batches], 2000)
        print(f"an iteration's time       {each:.1f} us, {name}")
        each = micros(lambda m=model: [m.prefill_seconds(5000, 1900, 90, 9e4) for _ in batches], 2000)
        print(f"a prompt of three chunks  {each:.1f} us, {name}")
    print(
        f"\n{'mean relative error after 200':30s}{'no noise':>18s}{'5 % noise':>18s}   (mean, and 90 % of runs below)"
    )
    for known in (LINEAR, *(one for one in PRESETS.values() if isinstance(one.cost, Piecewise | Roofline))):
        for label, prior in (
            (known.name, lambda rng, cost=known.cost: wrong(cost, rng)),
            ("  its knee not known", lambda rng, cost=known.cost: Unknown(wrong(cost, rng))),
        ):
            if isinstance(known.cost, Linear) and label != known.name:
                continue
            cells = [errors(known, prior, noise) * 100 for noise in (0.0, 0.05)]
            print(f"{label:30s}" + "".join(f"{c.mean():>9.2f} {np.quantile(c, 0.9):>6.2f} %" for c in cells))


if __name__ == "__main__":
    main()
