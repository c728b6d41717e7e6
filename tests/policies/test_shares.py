"""The reservation: who is overdue goes first in a share of the iterations, whatever the order says."""

from __future__ import annotations

from fractions import Fraction

import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile, preset
from headway.core.errors import InvalidEngine, InvalidSpec
from headway.core.request import Request, Slo
from headway.core.sequence import Sequence
from headway.policies.policy import Policy
from headway.policies.shares import Reserve, Shares
from headway.simulate.engine import SimulatedEngine
from headway.testing.stepping import SteppingHost

ENGINE = EngineProfile("x", 10, 1, 1000, Piecewise(1.0, 0.0), memory="prompt-fit(safety=1)")


def starts(order: str, shares: Shares, predicted: list[str], arrivals: list[float]) -> list[float]:
    """When each request starts on an engine with one slot, where an answer takes four seconds."""
    requests = [Request(row, at, 5, None, kind) for row, (kind, at) in enumerate(zip(predicted, arrivals, strict=True))]
    scheduler = Policy.of(order, shares=shares).build(ENGINE)
    host = SteppingHost(scheduler, requests, [4] * len(requests), ENGINE.cost)
    return [row.seq.start for row in host.run()]


PREDICTED = ["short", "long", *["short"] * 20]
ARRIVALS = [0.0, 0.5, *[0.6 + 4 * place for place in range(20)]]


def test_without_a_reservation_the_long_request_starves() -> None:
    assert starts("psf", Shares(), PREDICTED, ARRIVALS)[1] == 84.0


def test_a_reservation_bounds_its_wait() -> None:
    assert starts("psf", Shares.of(reserve="share=0.1,after=10"), PREDICTED, ARRIVALS)[1] == 12.0
    # A turn takes 50 iterations to earn, one a second.
    assert starts("psf", Shares.of(reserve="share=0.02,after=10"), PREDICTED, ARRIVALS)[1] == 52.0


def test_turns_are_spent() -> None:
    """Three are overdue at once; with a twentieth of the iterations each waits for a turn of its own."""
    predicted = ["short", "long", "long", "long", *["short"] * 40]
    arrivals = [0.0, 0.5, 0.5, 0.5, *[0.6 + 4 * place for place in range(40)]]
    begin = starts("psf", Shares.of(reserve="share=0.05,after=0.1,window=20"), predicted, arrivals)[1:4]
    assert begin == sorted(begin)
    assert begin[0] == 20.0
    assert 16.0 <= begin[1] - begin[0] <= 24.0
    assert 16.0 <= begin[2] - begin[1] <= 24.0


def test_saved_turns_are_limited_by_the_window() -> None:
    """Thirty idle iterations save three turns; the first long request needs none, since nobody else is there."""
    predicted = ["short"] * 30 + ["long"] * 12 + ["short"] * 60
    arrivals = [4.0 * place for place in range(30)] + [120.0] * 12 + [120.1 + 4 * place for place in range(60)]
    begin = starts("psf", Shares.of(reserve="share=0.1,after=1,window=30"), predicted, arrivals)[30:42]
    assert begin[:4] == [120.0, 124.0, 128.0, 132.0]
    for place, start in enumerate(begin):
        assert place <= 3 + 0.1 * (start - 120.0)


@pytest.mark.parametrize("share", [0.07, 0.09, 0.11])
def test_a_turn_that_is_earned_between_two_admission_rounds_is_not_forgotten(share: float) -> None:
    """Request 2 fits once 0 is gone; request 1 fits at once, and goes first in the round after its turn is earned."""
    sizes = {"admission_interval": 5, "eviction": False, "memory": "prompt-fit(safety=1)"}
    engine = EngineProfile("x", 10, 4, 100, Piecewise(1.0, 0.0), **sizes)
    requests = [Request(0, 0.0, 5, None, "short"), Request(1, 0.5, 5, None, "long"), Request(2, 0.5, 95, None, "short")]
    outputs = [90, 1, 1]
    policy = Policy.of("psf", shares=Shares.of(reserve=f"share={share},after=0"))
    found = []
    for fast_forward in (True, False):
        host = SimulatedEngine(
            policy.build(engine), iter(requests), [0.0, 0.5, 0.5], outputs, engine.cost, fast_forward=fast_forward
        )
        assert host.run()
        found.append(list(host.outcomes.start))
    assert found[0] == found[1]
    assert found[0][1] < 25.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("share=2,after=5", "share must be in (0, 1], got 2"),
        ("share=0,after=5", "share must be in (0, 1], got 0"),
        ("share=0.1,after=-1", "after must be in [0, inf), got -1"),
        ("share=0.1,after=5,window=0", "window must be >= 1, got 0"),
        ("share=0.1,after=5,window=5", "share * window is below one iteration"),
        ("share=0.1", "after is missing"),
        ("share=0.1,after=5,share=0.2", "given twice"),
        ("share=0.1,aftr=5", "did you mean 'after'?"),
        ("0.1", "not of the form share=0.1"),
        ("share=x,after=5", "share = 'x'; expected a number"),
        ("share=nan,after=5", "share must be a number in (0, 1]"),
    ],
)
def test_a_reservation_that_cannot_be(text: str, words: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        Reserve.parse(text)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5, 0.001, float("nan")])
def test_a_prefill_share_that_cannot_be(share: float) -> None:
    with pytest.raises(InvalidSpec, match="prefill share must be"):
        Shares.of(share)


@pytest.mark.parametrize("share", [-0.1, 0.0, 1.0, 1.5, float("nan")])
def test_pools_that_cannot_be(share: float) -> None:
    with pytest.raises(InvalidSpec, match="pools must be"):
        Shares.of(pools=share)


def test_a_prefill_share_and_pools_exclude_each_other() -> None:
    with pytest.raises(InvalidSpec, match=r"prefill share 0\.1 and pools 0\.3 exclude each other"):
        Shares.of(0.1, pools=0.3)


def test_pools_need_room_for_a_decode_and_iterations_that_mix() -> None:
    with pytest.raises(InvalidEngine, match=r"pools = 0\.99; expected a smaller share"):
        Policy.of("fcfs", shares=Shares.of(pools=0.99)).build(preset("qba-paper"))
    with pytest.raises(InvalidEngine, match="expected none in mode prefill-first"):
        Policy.of("fcfs", shares=Shares.of(pools=0.3)).build(preset("past-future-table1"))


def test_a_reservation_leaves_the_slots_to_the_order_within() -> None:
    ready = dict.fromkeys(Sequence(Request(row, 0.0, 5, slo=slo), row) for row, slo in enumerate([None, Slo(ttft=1.0)]))
    order = Policy.of("least-slack", shares=Shares.of(reserve="share=0.1,after=5")).rules(ENGINE)[0]
    assert order.next_ready(ready).id == 1


def test_a_prefill_share_has_no_meaning_where_prompts_go_first() -> None:
    with pytest.raises(InvalidSpec, match="fills prompts first anyway"):
        Policy.of("fcfs", shares=Shares.of(0.1)).build(preset("past-future-table1"))


@pytest.mark.parametrize("given", [{"prefill": 2}, {"prefill": Fraction(2)}, {"prefill": Fraction(-1)}, {"pools": 0.5}])
def test_shares_are_judged_however_they_are_made(given):
    with pytest.raises(InvalidSpec):
        Shares(**given)
