"""Who gives way: the victim that each rule names, against a look at everybody."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.core.engine import preset
from headway.core.kv import KvLedger
from headway.core.request import Request
from headway.core.sequence import DECODING, FILLING, Sequence
from headway.policies.eviction import EVICTION_RULES
from headway.policies.policy import Policy

LEDGER = KvLedger(1000, 2)
LEDGER.clock = 10


def resident(row: int, prompt: int, joined: int, predicted: float | None = None, limit: int | None = None) -> Sequence:
    """A sequence that decodes since clock `joined`, or still fills its prompt where that is -1."""
    seq = Sequence(Request(row, 0.0, prompt, limit, predicted), row)
    seq.filled, seq.joined = prompt, joined
    seq.state = FILLING if joined < 0 else DECODING
    return seq


def named(rule: str, *residents: Sequence) -> int:
    return EVICTION_RULES[rule]().victim(dict.fromkeys(residents), LEDGER).id


def test_last_admitted_takes_the_youngest() -> None:
    assert named("last-admitted", resident(3, 1, 1), resident(1, 9, 9), resident(2, 5, 5)) == 2


def test_least_computed_counts_what_is_decoded() -> None:
    # held: 30, 5 + 2 * 10 = 25, 24 + 2 = 26
    assert named("least-computed", resident(0, 30, 10), resident(1, 5, 0), resident(2, 24, 9)) == 1


def test_least_computed_counts_a_prompt_as_far_as_it_is_filled() -> None:
    half = resident(1, 40, -1)
    half.filled = 7
    assert named("least-computed", resident(0, 8, 10), half, resident(2, 9, 10)) == 1


def test_of_equals_the_last_admitted_goes() -> None:
    assert named("least-computed", resident(0, 8, 10), resident(1, 8, 10)) == 1
    assert named("longest-remaining", resident(0, 8, 10), resident(1, 8, 10)) == 1


def test_longest_remaining_reads_the_prediction() -> None:
    # 50 - 2 * 10 = 30 and 25 - 0 = 25 to come
    assert named("longest-remaining", resident(0, 8, 0, predicted=50.0), resident(1, 8, 10, predicted=25)) == 0


def test_an_answer_that_outgrew_its_prediction_may_go_on_to_its_limit() -> None:
    # generated 20 of a predicted 15, so up to 100 - 20 = 80; the other one has 60 to come
    outgrown = resident(0, 8, 0, predicted=15, limit=100)
    assert named("longest-remaining", outgrown, resident(1, 8, 10, predicted=60)) == 0
    assert named("longest-remaining", outgrown, resident(1, 8, 10, predicted=90)) == 1


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 10), st.none() | st.integers(1, 60)), min_size=2))
def test_nobody_holds_less_and_nobody_has_more_to_come(rows: list[tuple[int, int, int | None]]) -> None:
    residents = [resident(row, prompt, joined, None, limit) for row, (prompt, joined, limit) in enumerate(rows)]
    held = [prompt + 2 * (10 - joined) for prompt, joined, _ in rows]
    rest = [(limit or 4096) - 2 * (10 - joined) for _, joined, limit in rows]
    assert held[named("least-computed", *residents)] == min(held)
    assert rest[named("longest-remaining", *residents)] == max(rest)


def test_a_policy_brings_its_eviction_rule() -> None:
    rule = Policy.of("fcfs", eviction="least-computed").rules(preset("qba-paper"))[3]
    assert type(rule) is EVICTION_RULES["least-computed"]
