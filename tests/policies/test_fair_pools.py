"""Fair share with pools: the prompts' pool is shared by who waits, the decode slots by who holds KV."""

from __future__ import annotations

import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.request import Request
from headway.policies.shares import Shares
from tests.service import metered

# Of 100 positions half are for prompts; decodes of 10 leave five slots.
ENGINE = Shares.of(0.0, None, 0.5).engine(
    EngineProfile("split", 100, 200, 100_000, Piecewise(1.0, 0.0, 0), decode_block=10)
)
Sent = list[tuple[str, int, int, int]]  # tenant, requests, prompt, output


def gaps(order: str, sent: Sent, until: float, charges: tuple[float, float]) -> tuple[float, float]:
    """By how much b was ahead and behind, at most, while all of this is under way; everybody comes at once."""
    rows = [(tenant, prompt, output) for tenant, count, prompt, output in sent for _ in range(count)]
    requests = [Request(row, 0.0, prompt, output, None, tenant) for row, (tenant, prompt, output) in enumerate(rows)]
    meter = metered(ENGINE, order, requests, [output for *_, output in rows], until=until, charges=charges)
    ahead = [units["b"] - units["a"] for _, units in meter.history]
    assert sum(meter.by_tenant.values()) > 10 * max(charges) * ENGINE.token_budget
    return max(ahead), -min(ahead)


PROMPTS: Sent = [("a", 20, 400, 5), ("b", 200, 40, 5)]


@pytest.mark.parametrize("inner", ["fcfs", "least-slack", "shortest-work()"])
def test_the_prompts_pool_is_fair_to_who_waits(inner: str) -> None:
    """Long prompts of one tenant, short ones of the other: nobody is further ahead than by one long prompt."""
    assert max(gaps(f"fair-share(inner={inner}, w_out=0)", PROMPTS, 250.0, (1.0, 0.0))) <= 400


def test_in_order_of_arrival_the_prompts_pool_is_not() -> None:
    assert gaps("fcfs", PROMPTS, 150.0, (1.0, 0.0))[1] > 15 * 400


ANSWERS: Sent = [("a", 60, 1, 300), ("b", 60, 1, 50)]


@pytest.mark.parametrize("inner", ["fcfs", "least-slack", "shortest-work()"])
def test_decode_slots_are_fair_to_who_holds_kv(inner: str) -> None:
    """All prompts are filled within three iterations; then everybody wants one of five slots, and keeps it."""
    bound = 2 * 5 * 300  # five slots full of long answers, on either side
    assert max(gaps(f"fair-share(inner={inner}, w_in=0, w_out=1)", ANSWERS, 130.0, (0.0, 1.0))) <= bound / 2


def test_in_order_of_arrival_decode_slots_are_not() -> None:
    assert gaps("fcfs", ANSWERS, 130.0, (0.0, 1.0))[1] > 2 * 5 * 300
