"""Memory rules: the peak against brute force, what each admits, and what it remembers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.engine import preset
from headway.core.errors import InvalidSpec
from headway.core.kv import KvLedger
from headway.core.request import Request
from headway.core.sequence import Sequence
from headway.core.spec import build, parse_spec
from headway.policies.memory import MEMORY_RULES
from headway.policies.memory.conservative import Conservative
from headway.policies.memory.ema import MovingAverage
from headway.policies.memory.past_future import PastFuture
from headway.policies.memory.peak import peaks
from headway.policies.memory.residents import ResidentTable
from headway.policies.memory.watermark import Watermark
from headway.policies.policy import Policy
from headway.simulate.run import simulate
from headway.testing.stepping import SteppingHost
from headway.workload import workload

ENGINE = preset("past-future-table1")


def occupancy(held: list[int], remaining: list[int], growth: int, step: int) -> int:
    """KV tokens in iteration `step` (1 is the next), by those who still need it."""
    return sum(tokens + growth * step for tokens, left in zip(held, remaining, strict=True) if left >= step)


def brute_force(held: list[int], remaining: list[int], growth: int) -> int:
    """The most at any future iteration, each tried; now counts too."""
    steps = range(1, max(remaining, default=0) + 1)
    return max([sum(held), *(occupancy(held, remaining, growth, step) for step in steps)])


def test_the_known_answer() -> None:
    held, remaining = zip((5, 4), (4, 3), (5, 3), (3, 2), (4, 2), strict=True)
    assert peaks(np.array(held), np.array([remaining])).tolist() == [31]


BATCHES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 40)), min_size=1, max_size=20)


@given(BATCHES, st.integers(1, 8))
def test_invariant_6_the_peak_is_that_of_every_future_step(batch: list[tuple[int, int]], growth: int) -> None:
    held, remaining = map(list, zip(*batch, strict=True))
    found = int(peaks(np.array(held), np.array([remaining]), growth)[0])
    assert found == brute_force(held, remaining, growth)
    assert found >= sum(held)


@given(BATCHES, st.integers(1, 8), st.integers(0, 30))
def test_slack_counts_for_everybody_at_every_step(batch: list[tuple[int, int]], growth: int, slack: int) -> None:
    held, remaining = map(list, zip(*batch, strict=True))
    found = int(peaks(np.array(held), np.array([remaining]), growth, slack)[0])
    assert found == brute_force([tokens + slack for tokens in held], remaining, growth)


@given(BATCHES, st.integers(1, 5))
def test_lists_are_looked_at_one_by_one(batch: list[tuple[int, int]], lists: int) -> None:
    held, remaining = (np.array(column) for column in zip(*batch, strict=True))
    rows = np.stack([np.roll(remaining, k) for k in range(lists)])
    assert peaks(held, rows).tolist() == [int(peaks(held, row[np.newaxis])[0]) for row in rows]


def test_an_empty_batch_needs_nothing() -> None:
    assert peaks(np.zeros(0, dtype=np.int64), np.zeros((2, 0), dtype=np.int64)).tolist() == [0, 0]


def test_the_table_grows() -> None:
    table = ResidentTable()
    for prompt in range(1, 201):
        table.add(Sequence(Request(prompt, 0.0, prompt), prompt))
    assert table.base().tolist() == list(range(1, 201))


@given(st.lists(st.sampled_from(["add", "decode", "remove"]), max_size=200), st.randoms(use_true_random=False))
def test_the_table_of_residents_is_a_dictionary_in_disguise(changes: list[str], random: object) -> None:
    table, model = ResidentTable(), {}
    for clock, change in enumerate(changes):
        if change == "add":
            seq = Sequence(Request(clock, 0.0, clock + 1), clock)
            table.add(seq)
            model[seq] = None
        elif model and change == "decode":
            seq = random.choice(sorted(model, key=lambda one: one.ticket))  # type: ignore[attr-defined]
            seq.generated = 3
            table.decode(seq, clock, 2)
            model[seq] = clock
        elif model:
            seq = random.choice(sorted(model, key=lambda one: one.ticket))  # type: ignore[attr-defined]
            table.remove(seq)
            del model[seq]
    now = len(changes)
    grown = dict(zip(table.sequences, table.grown(now).tolist(), strict=True))
    assert grown == {seq: 0 if since is None else 2 * (now - since) for seq, since in model.items()}
    assert dict(zip(table.sequences, table.base().tolist(), strict=True)) == {seq: seq.prompt for seq in model}


def ledger(used: int = 0, unfilled: int = 0, capacity: int = 100) -> KvLedger:
    made = KvLedger(capacity, 1)
    made.used, made.unfilled = used, unfilled
    return made


def request(prompt: int, limit: int = 10, ticket: int = 0) -> Sequence:
    return Sequence(Request(ticket, 0.0, prompt, limit), ticket)


def test_conservative_reserves_prompt_and_limit() -> None:
    rule = Conservative()
    first, second = request(40), request(41, ticket=1)
    assert rule.fits(first, ledger())
    rule.admitted(first, ledger())
    assert not rule.fits(second, ledger())
    assert rule.fits(request(40, ticket=2), ledger())
    assert Conservative(overcommit=1.01).fits(second, ledger())
    rule.left(first, ledger())
    assert rule.fits(request(90), ledger())


def test_watermark_charges_what_a_request_brings_back_or_its_prompt() -> None:
    returned = request(20)
    returned.prompt = 30  # ten tokens were generated before the eviction
    assert Watermark(level=0.9).fits(request(20), ledger(60, 10))
    assert not Watermark(level=0.9).fits(returned, ledger(60, 10))
    assert Watermark(level=0.9, charge="prompt").fits(returned, ledger(60, 10))


def test_past_future_starts_with_the_longest_answer_and_forgets_the_oldest() -> None:
    rule = PastFuture(window=3)
    rule.attach(ENGINE, np.random.default_rng(0))
    candidate = request(5, limit=10_000)
    assert rule.predict_candidate(candidate, 4).tolist() == [4096] * 4
    for length in (7, 8, 9):
        done = request(5, limit=10_000)
        done.generated = length
        rule.finished(done, ledger())
    assert set(rule.predict_candidate(candidate, 50).tolist()) == {7, 8, 9}


def test_past_future_can_leave_out_answers_that_were_cut_off() -> None:
    cut = request(5, limit=10)
    cut.generated = 10
    for natural, known in ((False, {10}), (True, {4096})):
        rule = PastFuture(window=1, natural=natural)
        rule.attach(ENGINE, np.random.default_rng(0))
        rule.finished(cut, ledger())
        assert set(rule.predict_candidate(request(5, limit=10_000), 9).tolist()) == known


@given(st.lists(st.integers(1, 500), min_size=1, max_size=30), st.lists(st.integers(0, 600), min_size=1, max_size=20))
def test_past_future_draws_above_what_is_generated_and_within_the_line(history: list[int], progress: list[int]) -> None:
    rule = PastFuture(window=len(history), seed_length=1, seed_count=1)
    rule.attach(ENGINE, np.random.default_rng(1))
    for length in history:
        done = request(1, limit=10_000)
        done.generated = length
        rule.finished(done, ledger())
    generated = np.array(progress)
    limit = np.full(generated.size, 550)
    drawn = rule.predict_residents(generated, limit)
    assert drawn.shape == (min(5, 200 // generated.size + 1), generated.size)
    assert (drawn > generated).all()
    assert (drawn <= np.maximum(np.maximum(limit, max(history)), generated) + 1).all()


class OnePoint:
    """A generator whose every draw is the same point of [0, 1)."""

    def __init__(self, point: float) -> None:
        self.point = point

    def random(self, shape: tuple[int, int]) -> np.ndarray:
        return np.full(shape, self.point)


@given(
    st.lists(st.integers(0, 500), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 600), st.integers(1, 700)), min_size=1, max_size=20),
    st.floats(0, 1, exclude_max=True),
)
def test_past_future_draws_a_point_of_each_line(history: list[int], batch: list[tuple[int, int]], point: float) -> None:
    """The line of a request: what it has generated, the recent lengths above that, and its limit or the longest."""
    rule = PastFuture(window=len(history), lists=1, seed_length=1, seed_count=1)
    rule.attach(ENGINE, OnePoint(point))  # type: ignore[arg-type]
    for length in history:
        done = request(1, limit=10_000)
        done.generated = length
        rule.finished(done, ledger())
    expected = []
    for generated, limit in batch:
        line = [generated, *sorted(length for length in history if length > generated)]
        line.append(max(limit, generated, *history))
        drawn = np.interp(point * (len(line) - 1), range(len(line)), line)
        expected.append(max(round(float(drawn)), generated + 1))
    generated, limit = (np.array(column) for column in zip(*batch, strict=True))
    assert rule.predict_residents(generated, limit)[0].tolist() == expected


def test_past_future_is_a_plain_conditional_draw_on_average() -> None:
    """Half of the recent lengths above 100 are 200, half 400; the line ends at the limit of 400."""
    rule = PastFuture(window=1000, lists=1000)
    rule.attach(ENGINE, np.random.default_rng(2))
    for k in range(1000):
        done = request(1, limit=400)
        done.generated = (50, 200, 400)[k % 3]
        rule.finished(done, ledger())
    drawn = rule.predict_residents(np.array([100]), np.array([400]))
    assert drawn.mean() == pytest.approx(300, rel=0.05)


def test_the_average_moves_and_never_falls_under_its_floor() -> None:
    rule = MovingAverage()
    done = request(1, limit=10_000)
    done.generated = 1000
    rule.finished(done, ledger())
    assert rule.average == pytest.approx(2048 + 0.5 * (1000 - 2048))
    done.generated = 1
    for _ in range(1000):
        rule.finished(done, ledger())
    assert rule.average == 64
    assert rule.predict_residents(np.array([10, 100]), np.array([4096, 105])).tolist() == [[64, 105]]


def test_the_oracle_needs_a_host_that_knows() -> None:
    policy = Policy.of("fcfs", "oracle")
    requests = [Request(0, 0.0, 5), Request(1, 0.0, 5)]
    host = SteppingHost(policy.build(ENGINE), requests, [3, 3], ENGINE.cost)
    with pytest.raises(InvalidSpec, match="only a simulation knows"):
        host.run()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("past-future(reserve=1)", "reserve must be in [0, 1), got 1"),
        ("past-future(reserve=-0.1)", "reserve must be in [0, 1), got -0.1"),
        ("past-future(window=0)", "window must be in [1, 1000000], got 0"),
        ("past-future(window=10, seed_count=11)", "seed_count must be in [1, 10], got 11"),
        ("past-future(aggregate=maxi)", "did you mean 'max'?"),
        ("watermark(level=0)", "level must be in (0, 1], got 0"),
        ("conservative(overcommit=0.5)", "overcommit must be in [1, 10], got 0.5"),
        ("ema(reserve=2)", "reserve must be in [0, 1), got 2"),
        ("oracle(reserve=0)", "it takes none"),
        ("past-futur", "did you mean 'past-future'?"),
    ],
)
def test_options_out_of_range_are_named(spec: str, words: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        build(parse_spec(spec), MEMORY_RULES, "memory rule")
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@given(st.integers(0, 10_000))
def test_invariant_6_the_oracle_never_evicts(seed: int) -> None:
    """With true lengths, prefill first, block 1 and decode block 1; in every draw of lengths and arrivals."""
    rng = np.random.default_rng(seed)
    low, high = sorted(rng.integers(1, 5000, 2).tolist())
    drawn = workload(
        f"uniform(n=60, rate={rng.choice([0.001, 0.01, 1e9])}, prompt_low=1, prompt_high={high}, output_low={low},"
        f" output_high={high})",
        seed,
    )
    record = simulate(drawn, Policy.of("fcfs", "oracle"), ENGINE)
    assert record.outcomes["evictions"].sum() == 0
    assert record.totals.kv_peak <= ENGINE.kv_tokens
