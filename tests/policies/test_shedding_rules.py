"""Reject, demote and queue-cap: who is named, when, why, and what the client is told."""

from __future__ import annotations

import dataclasses
import math

import pytest

from headway.core.cost import Linear
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidSpec
from headway.core.request import Request, Slo
from headway.core.scheduler import Scheduler
from headway.core.sequence import DEMOTED, FILLING, REJECTED, WAITING, Sequence
from headway.policies.order import ORDERS
from headway.policies.order.fcfs import Fcfs
from headway.policies.policy import Policy

# A prompt position takes 0.01 s, whatever else there is; 10 of them an iteration.
ENGINE = EngineProfile("x", 10, 8, 10_000, Linear(0.0, 0.01, 0.0, 0.0), memory="prompt-fit(safety=1)")
SLOW_DECODES = dataclasses.replace(ENGINE, cost=Linear(0.0, 0.01, 0.02, 0.0))


def scheduler(shedding: str, order: str = "fcfs", engine: EngineProfile = ENGINE) -> Scheduler:
    return Policy.of(order, shedding=shedding).build(engine)


class Asked:
    """Submits requests one after the other, each with a row of its own."""

    def __init__(self, made: Scheduler) -> None:
        self.made = made
        self.rows = 0

    def __call__(
        self,
        prompt: int,
        *,
        now: float = 0.0,
        ttft: float | None = None,
        completion: float | None = None,
        predicted: float | str | None = None,
    ) -> Sequence:
        slo = Slo(ttft, None, completion)
        request = Request(self.rows, now, prompt, None, predicted, slo=slo if any(slo) else None)
        self.rows += 1
        return self.made.submit(request, now)


def test_a_promise_that_an_idle_engine_cannot_keep() -> None:
    """100 positions take 1 s."""
    ask = Asked(scheduler("reject(safety=1)"))
    seq = ask(100, ttft=0.99)
    assert (seq.state, seq.reason, seq.retry_after) == (REJECTED, "unreachable", None)
    assert ask(100, ttft=1.01).state == WAITING


def test_the_safety_factor_multiplies_what_is_estimated() -> None:
    ask = Asked(scheduler("reject(safety=1.2)"))
    assert ask(100, ttft=1.19).state == REJECTED
    assert ask(100, ttft=1.21).state == WAITING
    ask = Asked(scheduler("reject(safety=0.5)"))
    assert ask(100, ttft=0.49).state == REJECTED
    assert ask(100, ttft=0.51).state == WAITING


def test_the_walk_adds_the_work_ahead() -> None:
    """In order of arrival everybody who waits is ahead: 200 positions, 2 s, and 1 s for itself."""
    ask = Asked(scheduler("reject(safety=1)"))
    ask(100, ttft=100.0)
    ask(100)  # without a promise it is ahead all the same
    late = ask(100, ttft=2.5)
    assert (late.state, late.reason) == (REJECTED, "deadline")
    assert late.retry_after == pytest.approx(0.5)
    assert ask(100, ttft=3.01).state == WAITING


def test_the_walk_follows_deadlines_where_the_order_is_another() -> None:
    """Whoever may start later, or was promised nothing, can let this one pass."""
    ask = Asked(scheduler("reject(safety=1)", "shortest-work"))
    ask(100, ttft=100.0)
    ask(100)
    assert ask(100, ttft=2.5).state == WAITING
    late = ask(100, ttft=1.5)  # it may start later than the one before it: at 0.5, not at 1.5
    assert late.state == WAITING
    assert ask(100, ttft=2.9).state == REJECTED  # both of these go first
    assert ask(100, ttft=200.0).state == WAITING


def test_what_was_begun_is_ahead_too() -> None:
    made = scheduler("reject(safety=1)")
    ask = Asked(made)
    ask(100)
    batch = made.plan(0.0)
    assert batch.prefill_positions == 10
    made.complete(batch, 0.1)
    assert ask(10, now=0.1, ttft=0.99).state == REJECTED  # 0.9 + 0.1
    assert ask(10, now=0.1, ttft=1.01).state == WAITING


def test_decodes_beside_the_prompt_slow_it_down() -> None:
    """Four decodes of 0.02 s leave 6 positions an iteration: 60 take 10 of 0.14 s, on an empty engine 0.6 s."""
    made = scheduler("reject(safety=1)", engine=SLOW_DECODES)
    ask = Asked(made)
    for _ in range(4):
        ask(1)
    made.complete(made.plan(0.0), 0.04)
    assert made.decodes == 4
    late = ask(60, now=0.1, ttft=1.39)
    assert (late.state, late.reason) == (REJECTED, "deadline")
    assert late.retry_after is None  # it is not the queue that makes it late
    assert ask(60, now=0.1, ttft=1.41).state == WAITING
    assert ask(60, now=0.1, ttft=0.59).reason == "unreachable"


def test_a_latest_start_that_has_passed() -> None:
    """Memory is full for long, so that the head of the queue waits; it must start by 4."""
    engine = dataclasses.replace(ENGINE, kv_tokens=120, cost=Linear(0.0, 0.01, 0.3, 0.0))
    made = scheduler("reject(safety=1)", engine=engine)
    ask = Asked(made)
    ask(90)
    seq = ask(50, ttft=4.5)
    now, batch = 0.0, made.plan(0.0)
    while seq.state == WAITING:
        assert now <= 4.0
        now += engine.cost.seconds(batch.prefill_positions, batch.decode_positions, batch.context)
        made.complete(batch, now)
        batch = made.plan(now)
    assert now == pytest.approx(4.2)
    assert (seq.state, seq.reason, batch.ended) == (REJECTED, "deadline", [seq])
    assert seq.retry_after == pytest.approx(0.0)  # nobody is ahead of the same request, if it came again
    assert made.shedding.steady_until() == math.inf


def test_until_when_nobody_is_due() -> None:
    made = scheduler("reject(safety=1)")
    ask = Asked(made)
    assert made.shedding.steady_until() == math.inf
    ask(10, ttft=50.0)
    ask(10, ttft=30.0)
    ask(10)
    assert made.shedding.steady_until() == pytest.approx(29.9)
    made.complete(made.plan(0.0), 0.1)  # the first one starts
    assert made.shedding.steady_until() == pytest.approx(29.9)
    made.complete(made.plan(0.1), 0.2)
    assert made.shedding.steady_until() == math.inf


def test_a_promise_of_the_last_token_reckons_with_a_predicted_length() -> None:
    """100 positions in 1 s, and 49 decodes of 0.1 s after the token that prefill emits."""
    engine = dataclasses.replace(ENGINE, cost=Linear(0.09, 0.001, 0.01, 0.0))
    ask = Asked(scheduler("reject(safety=1)", engine=engine))
    assert ask(100, completion=5.89, predicted=50).reason == "unreachable"
    assert ask(100, completion=1.01).state == WAITING  # without a number, the prompt alone
    assert ask(100, completion=1.01, predicted="long").state == REJECTED  # behind the one before
    ask = Asked(scheduler("reject(safety=1)", engine=engine))
    assert ask(100, completion=5.91, predicted=50).state == WAITING


def test_prompts_behind_slow_the_decodes_down() -> None:
    """1 s for the prompt, and 49 decodes of 0.109 s beside 9 positions of the others."""
    engine = dataclasses.replace(ENGINE, cost=Linear(0.09, 0.001, 0.01, 0.0))
    for completion, state in ((6.33, REJECTED), (6.35, WAITING)):
        ask = Asked(scheduler("reject(safety=1)", "shortest-work", engine))
        ask(1000)
        assert ask(100, completion=completion, predicted=50).state == state


def test_a_paused_decode_waits_for_the_prompts_behind() -> None:
    """In mode prefill-first 1000 positions go before the second token."""
    engine = dataclasses.replace(ENGINE, mode="prefill-first")
    ask = Asked(scheduler("reject(safety=1)", "shortest-work", engine))
    ask(1000)
    assert ask(100, completion=10.9, predicted=50).state == REJECTED
    assert ask(100, completion=10.9, predicted=1).state == WAITING
    assert ask(100, completion=100.0, predicted=50).state == WAITING


def test_the_first_token_may_take_a_decode() -> None:
    engine = dataclasses.replace(ENGINE, cost=Linear(0.0, 0.01, 0.5, 0.0), first_token="decode")
    ask = Asked(scheduler("reject(safety=1)", engine=engine))
    assert ask(100, ttft=1.49).state == REJECTED
    assert ask(100, ttft=1.51).state == WAITING


def test_demoted_on_arrival_they_wait_behind_all_others() -> None:
    made = scheduler("demote(safety=1)")
    ask = Asked(made)
    hopeless, other = ask(100, ttft=0.5), ask(20)
    assert (hopeless.state, hopeless.reason) == (WAITING, "unreachable")
    assert made.shedding.steady_until() == -math.inf
    batch = made.plan(0.0)
    assert (hopeless.state, batch.admitted, made.demotions) == (DEMOTED, [other], 1)
    assert made.shedding.steady_until() == math.inf
    late = ask(100, ttft=1.25)  # 10 positions are ahead, not 110
    assert late.state == WAITING
    now = 0.1
    while hopeless.state == DEMOTED:
        made.complete(batch, now)
        batch = made.plan(now)
        now += 0.1
    assert late.filled == late.prompt


def test_demoted_while_they_wait() -> None:
    made = scheduler("demote(safety=1)", engine=dataclasses.replace(ENGINE, kv_tokens=120))
    ask = Asked(made)
    ask(90)
    seq, other = ask(50, ttft=4.5), ask(50)
    made.plan(4.1)
    assert (seq.state, seq.reason, other.state) == (DEMOTED, "deadline", WAITING)


def test_a_demoted_one_may_be_cancelled_before_it_is() -> None:
    made = scheduler("demote(safety=1)")
    ask = Asked(made)
    hopeless = ask(100, ttft=0.5)
    made.cancel(hopeless, 0.0)
    made.plan(0.0)
    assert made.demotions == 0
    assert ask(100, ttft=1.01).state == WAITING


@pytest.mark.parametrize("rule", ["reject", "demote"])
def test_who_was_promised_nothing_is_left_alone(rule: str) -> None:
    made = scheduler(rule)
    ask = Asked(made)
    seqs = [ask(1000, predicted=4000.0) for _ in range(5)]
    made.plan(1e6)
    assert {seq.state for seq in seqs} <= {WAITING, FILLING}


def test_a_queue_of_so_many_requests_is_full() -> None:
    made = scheduler("queue-cap(requests=2)")
    ask = Asked(made)
    seqs = [ask(30), ask(50), ask(10)]
    assert [seq.state for seq in seqs] == [WAITING, WAITING, REJECTED]
    assert seqs[2].reason == "queue_full"
    assert seqs[2].retry_after == pytest.approx(0.4)  # one of two with 80 positions must go
    made.complete(made.plan(0.0), 0.1)
    assert ask(10, now=0.1).state == WAITING


def test_a_queue_of_so_many_tokens_is_full() -> None:
    ask = Asked(scheduler("queue-cap(tokens=100)"))
    assert ask(500).state == WAITING  # an empty queue takes anybody
    refused = ask(1)
    assert (refused.state, refused.retry_after) == (REJECTED, pytest.approx(4.01))
    ask = Asked(scheduler("queue-cap(tokens=100, requests=10)"))
    assert [ask(99).state, ask(1).state, ask(1).state] == [WAITING, WAITING, REJECTED]
    ask = Asked(scheduler("queue-cap(tokens=100, requests=1)"))
    assert [ask(5).state, ask(5).state] == [WAITING, REJECTED]


def test_nobody_knows_when_a_queue_that_takes_no_time_drains() -> None:
    ask = Asked(scheduler("queue-cap(requests=1)", engine=dataclasses.replace(ENGINE, cost=Linear(0, 0, 0, 0))))
    ask(5)
    assert ask(5).retry_after is None


def test_an_evicted_request_is_left_alone() -> None:
    """It has held KV; its deadline passes while it waits to come back."""
    made = scheduler("reject(safety=1)", engine=dataclasses.replace(ENGINE, kv_tokens=24))
    ask = Asked(made)
    first, second = ask(9, ttft=5.0), ask(9, ttft=5.0)
    now = 0.0
    while not second.evictions:
        made.complete(made.plan(now), now + 0.1)
        now += 0.1
    made.complete(made.plan(now), 100.0)
    made.plan(100.0)
    assert (first.evictions, second.state) == (0, WAITING)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("reject(safety=0)", "shedding rule 'reject': safety must be in (0, 100], got 0"),
        ("demote(safety=none)", "shedding rule 'demote': safety must be a number in (0, 100], got none"),
        (
            "queue-cap",
            "shedding rule 'queue-cap': give requests=..., tokens=... or both, as in queue-cap(requests=100)",
        ),
        ("queue-cap(requests=0)", "shedding rule 'queue-cap': requests must be >= 1, got 0"),
        ("queue-cap(tokens=1.5)", "shedding rule 'queue-cap': tokens must be a whole number >= 1, got 1.5"),
        ("rejct", "unknown shedding rule 'rejct'; did you mean 'reject'?"),
    ],
)
def test_wrong_values_are_refused(spec: str, said: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        Policy.of("fcfs", shedding=spec)
    assert str(caught.value).startswith(said)


def test_fcfs_alone_says_that_it_serves_by_arrival() -> None:
    assert {name for name, make in ORDERS.items() if make().by_arrival} == {"fcfs"}
    assert Fcfs.by_arrival
