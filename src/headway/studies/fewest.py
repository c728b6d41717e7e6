"""How many replicas hold a load? Independent engines, each request to the one with the least outstanding work."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.measure.capacity import Replicas
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.studies.replicas import MOST_REPLICAS, simulate_replicas
from headway.studies.samples import Sample


def fewest_replicas(
    stretches: Sequence[Sample],
    policy: Policy,
    engine: EngineProfile,
    sla: Sla,
    bound: float,
    *,
    rate: float,
    computed: float,
    guess: int,
) -> Replicas:
    """Return the fewest replicas that hold, verified: so many hold, and one less does not.

    Args:
        stretches: what arrives, at the rate that is asked for.
        policy: what each replica runs.
        engine: what each is.
        sla: the agreement.
        bound: share of the requests whose agreement must be kept.
        rate: requests/s, to be told.
        computed: requests/s that a busy engine computes, to be told.
        guess: where to begin.

    Raises:
        InvalidInput: more replicas than can be simulated would be needed.
    """
    traces = [(stretch.trace(), stretch.seed) for stretch in stretches]
    tried: dict[int, tuple[float, ...]] = {}

    def holds(count: int) -> bool:
        if count > MOST_REPLICAS:
            raise InvalidInput(
                f"--rate {rate:g}: more than {MOST_REPLICAS:,} replicas would be needed; give a lower --rate"
            )
        fleets = [simulate_replicas(trace, count, policy, engine, seed=seed) for trace, seed in traces]
        tried[count] = tuple(fleet.service(sla.promise).attainment or 0.0 for fleet in fleets)
        return math.fsum(tried[count]) / len(traces) >= bound

    seconds = sum(len(trace) for trace, _ in traces) / len(traces) / rate
    return Replicas(rate, fewest(holds, guess), tried, computed, seconds)


def fewest(holds: Callable[[int], bool], guess: int) -> int:
    """Return the least count that holds, if every larger one holds too; it was asked for, and so was one less.

    Args:
        holds: asked for counts from 1 on; some count must hold.
        guess: the first one that is asked for; the closer, the fewer are.
    """
    fails, count, step = 0, max(guess, 1), 1
    while not holds(count):
        fails, count, step = count, count + step, 2 * step
    holding, step = count, 1
    while holding - fails > 1:
        count = max(fails + 1, holding - step)
        if holds(count):
            holding, step = count, 2 * step
        else:
            fails, step = count, max(1, (holding - count) // 2)
    return holding
