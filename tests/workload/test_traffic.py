"""What one tenant sends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInput, InvalidWorkload
from headway.core.spec import Spec, parse_spec
from headway.workload import traffic as module
from headway.workload.arrivals import on_off
from headway.workload.named import workload
from headway.workload.seeds import LENGTHS, child
from headway.workload.traffic import Traffic

ARRIVALS = ("poisson(rate=5)", "gamma(rate=5, cv=3)", "constant(rate=5)", "on-off(rate=50, on=2, off=18)")


def traffic(arrivals: str = "poisson(rate=5)", **given: object) -> Traffic:
    """Traffic with short constant lengths, and whatever is given otherwise."""
    lengths = given.pop("lengths", (parse_spec("constant(tokens=10)"), parse_spec("constant(tokens=5)")))
    return Traffic(parse_spec(arrivals), lengths, **given)  # type: ignore[arg-type]


def pair(prompt: str, output: str) -> tuple[Spec, Spec]:
    return parse_spec(prompt), parse_spec(output)


@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_the_rate_is_what_was_asked_for(arrivals: str):
    times = traffic(arrivals, end=20_000).draw(1)["arrival"].to_numpy()
    assert len(times) == pytest.approx(100_000, rel=0.03)
    assert np.all(np.diff(times) >= 0)
    assert 0 <= times[0] < times[-1] < 20_000


@pytest.mark.parametrize("arrivals", ARRIVALS)
@given(
    seed=st.integers(0, 5),
    start=st.sampled_from([0.0, 7.5]),
    cut=st.floats(0.1, 30.0),
    most=st.none() | st.integers(1, 60),
)
def test_an_end_cuts_the_same_arrivals_off(arrivals: str, seed: int, start: float, cut: float, most: int | None):
    """However many draws it takes: what comes before the end is the start of any longer draw."""
    all_of_them = traffic(arrivals, requests=5000, start=start).draw(seed)
    some = traffic(arrivals, requests=most, start=start, end=start + cut).draw(seed)
    before = all_of_them.filter(all_of_them["arrival"] < start + cut)
    assert some.equals(before if most is None else before.head(most))
    assert traffic(arrivals, requests=most, start=start).draw(seed, duration=start + cut).equals(some)


def test_pauses_are_silent_and_bursts_are_poisson():
    times = traffic("on-off(rate=40, on=5, off=10)", end=30_000).draw(3)["arrival"].to_numpy()
    within = times % 15
    assert within.max() < 5
    counts = np.bincount((times // 15).astype(int), minlength=2000)
    assert counts.mean() == pytest.approx(200, rel=0.01)
    assert counts.var() == pytest.approx(200, rel=0.1)


@given(
    moments=st.lists(st.tuples(st.integers(0, 1000), st.floats(0.01, 0.99)), min_size=1, max_size=20),
    on=st.floats(0.1, 1000),
    off=st.floats(0, 1000),
)
def test_a_clock_that_pauses(moments: list[tuple[int, float]], on: float, off: float):
    running = np.array([(window + share) * on for window, share in moments])
    real = np.array([window * (on + off) + share * on for window, share in moments])
    np.testing.assert_allclose(on_off(running, on, off), real, rtol=1e-9)


def test_all_at_once():
    frame = traffic("at-once", requests=4, start=20.0).draw(0)
    assert frame.rows() == [(20.0, 10, 5)] * 4
    assert traffic("at-once", requests=4, start=20.0).draw(0, duration=20.0).is_empty()


def test_the_fewest_of_all_limits_holds():
    assert len(traffic(requests=30).draw(0, requests=20)) == 20
    assert len(traffic(requests=20).draw(0, requests=30)) == 20
    assert len(traffic().draw(0, requests=30)) == 30


def test_lengths_are_what_was_asked_for():
    many = {"requests": 100_000}
    frame = traffic(lengths=pair("uniform(low=5, high=9)", "lognormal(mean=50, cv=2, low=0, high=400)"), **many).draw(1)
    prompts, outputs = frame["prompt_tokens"].to_numpy(), frame["output_tokens"].to_numpy()
    assert set(prompts) == {5, 6, 7, 8, 9}
    assert (outputs.min(), outputs.max()) == (0, 400)
    assert np.median(outputs) == pytest.approx(50 / math.sqrt(5), rel=0.03)
    assert np.corrcoef(prompts, outputs)[0, 1] == pytest.approx(0, abs=0.01)
    wide = traffic(lengths=pair("lognormal(mean=500)", "constant(tokens=0)"), **many).draw(1)
    assert wide["prompt_tokens"].mean() == pytest.approx(500, rel=0.02)
    assert wide["output_tokens"].unique().to_list() == [0]


def test_the_output_does_not_change_with_the_prompt_nor_with_the_arrivals():
    one = traffic(requests=50, lengths=pair("uniform(low=5, high=9)", "uniform(low=5, high=900)")).draw(1)
    other = traffic("at-once", requests=50, lengths=pair("lognormal(mean=9)", "uniform(low=5, high=900)")).draw(1)
    assert one["output_tokens"].equals(other["output_tokens"])
    assert not one["prompt_tokens"].equals(other["prompt_tokens"])


def test_lengths_of_a_named_workload_stay_in_pairs():
    frame = traffic(requests=500, lengths=parse_spec("shift(before=d1, after=d3)")).draw(4)
    named = workload("shift(before=d1, after=d3)", child(4, LENGTHS), requests=500).frame
    assert frame.select("prompt_tokens", "output_tokens").equals(named.select("prompt_tokens", "output_tokens"))


def test_another_seed_draws_others():
    assert not traffic(requests=50).draw(1).equals(traffic(requests=50).draw(2))
    assert traffic(requests=50).draw(1).equals(traffic(requests=50).draw(1))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "nothing says how many requests there are; give requests, an end or a duration"),
        ({"arrivals": "at-once", "end": 5}, "nothing says how many requests there are; give requests"),
        ({"arrivals": "poisson(rate=1e12)", "end": 5}, "more than 100,000 requests before 5 s"),
        ({"lengths": parse_spec("concat(a=d1(n=5), b=d3(n=5))"), "requests": 11}, "has 10 requests, but 11 arrive"),
    ],
)
def test_a_draw_that_cannot_be(given: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LARGEST", 100_000)
    with pytest.raises(InvalidWorkload, match=said):
        traffic(**given).draw(0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"arrivals": "poison(rate=5)"}, "unknown arrivals 'poison'; did you mean 'poisson'?"),
        ({"arrivals": "poisson"}, "arrivals 'poisson' needs rate=..., as in poisson\\(rate=...\\)"),
        ({"arrivals": "poisson(rate=-1)"}, "arrivals 'poisson': rate must be in \\(0, inf\\), got -1"),
        ({"arrivals": "gamma(rate=1, cv=0)"}, "cv must be in \\[0.01, 100\\], got 0"),
        ({"arrivals": "on-off(rate=1, on=0, off=3)"}, "on must be in \\(0, inf\\), got 0"),
        ({"arrivals": "on-off(rate=1, on=1, off=-3)"}, "off must be in \\[0, inf\\), got -3"),
        ({"arrivals": "at-once(n=3)"}, "arrivals 'at-once' has no parameter 'n'; it takes none"),
        ({"lengths": pair("constant(tokens=0)", "constant(tokens=5)")}, "prompt 'constant': tokens must be in \\[1, "),
        ({"lengths": pair("constant(tokens=1)", "constant(tokens=-5)")}, "output 'constant': tokens must be in \\[0, "),
        (
            {"lengths": pair("uniform(low=9, high=3)", "constant(tokens=5)")},
            "high must be in \\[9, 1000000000\\], got 3",
        ),
        ({"lengths": pair("lognormal(mean=0)", "constant(tokens=5)")}, "mean must be in \\[1, 1e\\+07\\], got 0"),
        ({"lengths": pair("lognormal(mean=9, cv=-1)", "constant(tokens=5)")}, "cv must be in \\[0, 100\\], got -1"),
        ({"lengths": parse_spec("d9")}, "unknown workload 'd9'"),
        ({"lengths": parse_spec("d1(n=5)")}, "lengths 'd1\\(n=5\\)': the arrivals say its n; leave it out"),
        ({"lengths": parse_spec("d1(rate=5)")}, "the arrivals say its rate"),
        ({"start": 5.0, "end": 5.0}, "end must be after start \\(5\\), got 5"),
    ],
)
def test_traffic_that_cannot_be(given: dict[str, object], said: str):
    with pytest.raises(InvalidInput, match=said):
        traffic(**given)  # type: ignore[arg-type]
