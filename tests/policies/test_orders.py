"""Every order against its brute-force model, over random lives of a queue."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway.core.errors import InvalidSpec
from headway.core.request import Request
from headway.core.rules import Order
from headway.core.sequence import CANCELLED, FILLING, WAITING, Sequence
from headway.policies.order import ORDERS
from headway.policies.order.aging import AggressiveAging
from headway.policies.order.quota_aging import QuotaAging
from headway.policies.order.short_first import ShortFirst
from headway.policies.order.shortest_work import ShortestWork
from headway.policies.policy import Policy
from tests.policies.models import MODELS, Model, QuotaAgingModel

GAMMAS = st.sampled_from([1.0, 0.95, 0.8, 0.55, 0.5, 0.3, 0.07, 1e-6])

# Times are multiples of 1/64, which floats hold exactly: the models may then compute a wait as they like.
Move = tuple[Any, ...]
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.sampled_from(["short", "short", "long", None]), st.integers(1, 40)),
        st.tuples(st.just("round"), st.lists(st.booleans(), max_size=4)),
        st.tuples(st.just("round"), st.just([True])),
        st.tuples(st.just("prefill"), st.integers(0, 5)),
        st.tuples(st.just("evict"), st.integers(0, 5)),
        st.tuples(st.just("leave"), st.integers(0, 20)),
        st.tuples(st.just("wait"), st.integers(1, 100)),
    ),
    max_size=60,
)


@dataclass
class Queue:
    """Tells an order and its model the same events, and compares what they answer."""

    order: Order
    model: Model
    now: float = 0.0
    pushed: int = 0
    asked: float = 0.0  # when the last round was
    refused: bool = False  # the last round ended with "nobody", and nobody left since
    running: list[Sequence] = field(default_factory=list)
    filling: list[Sequence] = field(default_factory=list)
    waiting: list[Sequence] = field(default_factory=list)

    def play(self, moves: list[Move]) -> None:
        for name, *arguments in moves:
            getattr(self, name)(*arguments)

    def push(self, predicted: str | None, prompt: int) -> None:
        seq = Sequence(Request(self.pushed, self.now, prompt, None, predicted), self.pushed)
        self.pushed += 1
        self.waiting.append(seq)
        answers = self.model.answers(self.now)
        stands = not self.order.push(seq, self.now)
        self.model.push(seq, self.now)
        if not stands:
            self.refused = False
        elif self.refused and self.now <= self.order.steady_until(self.asked):
            assert self.model.answers(self.now) == answers
            self.check_steady()

    def wait(self, ticks: int) -> None:
        self.now += ticks / 64

    def round(self, accepts: list[bool]) -> None:
        """One admission round: memory accepts or refuses as told, and refuses at the end."""
        refused: Sequence | None = None
        answers = iter(accepts)
        while True:
            seq = self.order.next(self.now, 1, refused)
            assert seq is self.model.next(self.now, 1, refused)
            if seq is None:
                break
            refused = None if next(answers, False) else seq
            if refused is None:
                self.start(seq)
        self.refused = True
        self.asked = self.now
        self.check_steady()

    def start(self, seq: Sequence) -> None:
        seq.state = FILLING
        self.waiting.remove(seq)
        self.filling.append(seq)
        self.running.append(seq)
        self.order.admitted(seq, self.now)
        self.model.admitted(seq, self.now)

    def check_steady(self) -> None:
        """Until the order's own word for it, time alone changes no answer of the last round."""
        until = self.order.steady_until(self.asked)
        answers = self.model.answers(self.now)
        last = self.now + 1000 if until == math.inf else until
        for part in (0.001, 0.5, 0.999):
            moment = self.now + part * (last - self.now)
            if self.now < moment < until:
                assert self.model.answers(moment) == answers

    def prefill(self, index: int) -> None:
        if self.filling:
            seq = self.filling.pop(index % len(self.filling))
            self.refused = False
            self.order.prefilled(seq, self.now)
            self.model.prefilled(seq, self.now)

    def evict(self, index: int) -> None:
        if self.running:
            seq = self.running.pop(index % len(self.running))
            self.refused = False
            if seq in self.filling:
                self.filling.remove(seq)
            seq.state = WAITING
            seq.evictions += 1
            self.waiting.append(seq)
            self.order.back(seq, self.now)
            self.model.back(seq, self.now)

    def leave(self, index: int) -> None:
        if self.waiting:
            seq = self.waiting.pop(index % len(self.waiting))
            self.refused = False
            seq.state = CANCELLED
            self.order.remove(seq)
            self.model.remove(seq)

    def finish(self) -> None:
        """Admit everybody that is left: nobody was forgotten on the way."""
        for _ in range(len(self.waiting)):
            self.round([True])
            self.wait(7)
        assert not self.waiting


def compare(name: str, options: dict[str, Any], moves: list[Move]) -> Queue:
    queue = Queue(ORDERS[name](**options), MODELS[name](**options))
    queue.play(moves)
    queue.finish()
    return queue


@given(MOVES)
def test_fcfs_equals_its_model(moves: list[Move]) -> None:
    compare("fcfs", {}, moves)


@given(MOVES)
def test_psf_equals_its_model(moves: list[Move]) -> None:
    compare("psf", {}, moves)


@given(MOVES, st.sampled_from([0, 1, 16, 50]))
def test_shortest_work_equals_its_model(moves: list[Move], aging: int) -> None:
    compare("shortest-work", {"aging": aging}, moves)


@st.composite
def references(draw: st.DrawFn) -> dict[str, Any]:
    options: dict[str, Any] = {"gamma": draw(GAMMAS), "reference": draw(st.sampled_from(["history", "queue"]))}
    if options["reference"] == "history":
        options["window"] = draw(st.none() | st.integers(1, 6))
    return options


@given(MOVES, references())
def test_aa_equals_its_model(moves: list[Move], options: dict[str, Any]) -> None:
    compare("aa", options, moves)


@given(MOVES, references(), st.integers(1, 4), st.sampled_from(["fall-through", "stop", "oldest-that-fits"]))
@example(  # the candidate of a promotion that memory refused starts later, without being aged any more
    [
        ("push", "short", 1),
        ("round", [True]),
        ("prefill", 0),
        ("push", "long", 1),
        ("wait", 50),
        ("push", "short", 1),
        ("push", "short", 1),
        ("push", "short", 1),
        ("wait", 1),
        ("round", [False, False]),
        ("leave", 1),
        ("leave", 1),
        ("leave", 1),
        ("round", [True]),
    ],
    {"gamma": 0.5, "reference": "queue"},
    1,
    "fall-through",
)
@example(  # a request that was tried in vain while a debt stood
    [
        ("push", "short", 1),
        ("push", "long", 1),
        ("push", "long", 1),
        ("round", [True]),
        ("prefill", 0),
        ("wait", 1),
        ("round", [False, True]),
    ],
    {"gamma": 0.1},
    1,
    "oldest-that-fits",
)
@settings(max_examples=300)
def test_qba_equals_its_model(moves: list[Move], options: dict[str, Any], k: int, refused: str) -> None:
    queue = compare("qba", {**options, "k": k, "refused": refused}, moves)
    order, model = queue.order, queue.model
    assert isinstance(order, QuotaAging)
    assert isinstance(model, QuotaAgingModel)
    assert (order.count, int(order.debt), order.promoted) == (model.count, model.debt, model.promoted)


def waiting(ticket: int, arrival: float = 0.0, prompt: int = 1, predicted: str | float | None = "short") -> Sequence:
    return Sequence(Request(ticket, arrival, prompt, None, predicted), ticket)


def started(order: Order, seq: Sequence, now: float) -> None:
    seq.state = FILLING
    order.admitted(seq, now)


@pytest.mark.parametrize("name", ["psf", "aa", "qba"])
def test_numbers_are_predictions_where_a_threshold_says_what_is_long(name: str) -> None:
    order = ORDERS[name](threshold=400)
    long_, edge = waiting(0, predicted=401), waiting(1, predicted=400.0)
    order.push(long_, 0.0)
    order.push(edge, 0.0)
    assert order.next(0.0, 1, None) is edge  # above the threshold is long, at it is short
    with pytest.raises(InvalidSpec, match=r"request 2 has a predicted length of 17 tokens.*psf\(threshold=400\)"):
        ORDERS[name]().push(waiting(2, predicted=17), 0.0)


def test_a_request_without_prediction_counts_as_short() -> None:
    order = ShortFirst()
    for seq in (waiting(0, predicted="long"), unknown := waiting(1, predicted=None)):
        order.push(seq, 0.0)
    assert order.next(0.0, 1, None) is unknown


def test_waits_above_gamma_1_are_above_every_wait_so_far() -> None:
    order = AggressiveAging(gamma=1.0)
    for ticket, wait in enumerate([3.0, 1.0]):
        started(order, waiting(ticket), wait)
    order.push(long_ := waiting(2, predicted="long"), 0.0)
    order.push(short := waiting(3), 0.0)
    assert order.next(3.0, 1, None) is short  # aged means above, not at, the threshold
    assert order.steady_until(2.0) == pytest.approx(3.0, rel=1e-8)
    assert order.next(3.0001, 1, None) is long_


def test_nothing_is_aged_while_the_sample_is_empty() -> None:
    order = AggressiveAging(gamma=0.01)
    order.push(long_ := waiting(0, predicted="long"), 0.0)
    assert not order.is_aged(long_, 1e9)
    assert order.steady_until(1e9) == math.inf


def test_shortest_work_counts_prompt_and_predicted_tokens_less_what_waiting_is_worth() -> None:
    order = ShortestWork(aging=10)
    old, predicted, word = waiting(0, 0.0, 100), waiting(1, 5.0, 30, 15.0), waiting(2, 5.0, 46, "long")
    for seq in (old, predicted, word):
        order.push(seq, seq.arrival)
    # At 5 s: 100 - 50, 45 and 46 positions.
    for seq in (predicted, word, old):
        assert order.next(5.0, 1, None) is seq
        assert order.next(5.0, 1, seq) is None  # refused: it blocks
        started(order, seq, 5.0)
    assert order.next(5.0, 1, None) is None


def test_oldest_that_fits_tries_every_aged_request_and_then_a_short_one() -> None:
    order = QuotaAging(k=1, gamma=0.5, refused="oldest-that-fits")
    started(order, first := waiting(0), 2.0)  # the threshold is 2 s
    order.prefilled(first, 2.0)
    longs = [waiting(ticket, arrival, predicted="long") for ticket, arrival in ((1, 0.0), (2, 1.0), (3, 3.0))]
    for seq in (*longs, short := waiting(4, 3.0)):
        order.push(seq, seq.arrival)
    assert order.next(4.0, 1, None) is longs[0]
    assert order.next(4.0, 1, longs[0]) is longs[1]
    assert order.next(4.0, 1, longs[1]) is short  # the third has waited for 1 s
    assert order.next(4.0, 1, short) is None
    assert order.steady_until(4.0) == pytest.approx(5.0, rel=1e-8)  # then the third is aged
    assert order.next(5.5, 1, None) is longs[0]
    assert order.next(5.5, 1, longs[0]) is longs[1]
    assert order.next(5.5, 1, longs[1]) is longs[2]
    started(order, longs[2], 5.5)
    assert (order.promoted, order.debt) == (1, False)
    assert order.next(5.5, 1, None) is short


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("aa(gamma=0)", r"gamma must be in \(0, 1\], got 0"),
        ("aa(gamma=1.5)", "got 1.5"),
        ("aa(gamma=high)", "got high"),
        ("aa(reference=histroy)", "did you mean 'history'"),
        ("aa(window=0)", "window must be >= 1, got 0"),
        ("aa(reference=queue, window=3)", "window goes with reference=history"),
        ("qba(k=0)", "k must be >= 1, got 0"),
        ("qba(k=2.5)", "k must be a whole number >= 1, got 2.5"),
        ("qba(k=inf)", "got inf"),
        ("qba(refused=wait)", "unknown value wait"),
        ("psf(threshold=-1)", "threshold must be in"),
        ("shortest-work(aging=inf)", "aging must be in"),
        ("shortest-work(aging=true)", "got true"),
    ],
)
def test_options_out_of_range_are_named(spec: str, message: str) -> None:
    with pytest.raises(InvalidSpec, match=message) as caught:
        Policy.of(spec)
    assert "\n" not in str(caught.value)
