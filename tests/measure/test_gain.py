"""The rule that decides: chance is not called a gain, a gain is found, the simplest of equals is taken."""

from __future__ import annotations

import numpy as np
import pytest

from headway.measure.gain import CLOSE, Gain, choose, gain
from headway.measure.intervals import Interval

STRETCHES, SETTINGS, REPEATED = 12, 25, 400


def figures(rng: np.random.Generator, effect: float = 0.0) -> np.ndarray:
    """Return a figure of each setting in each stretch [settings, stretches]: what is hard for one is hard for all.

    Setting 0 is the baseline; setting 7 has the effect, as a share.
    """
    hard = rng.lognormal(0.0, 0.5, STRETCHES)
    values = 100 * hard * rng.normal(1.0, 0.05, (SETTINGS, STRETCHES))
    values[7] *= 1 + effect
    return values


def decided(rng: np.random.Generator, effect: float = 0.0) -> tuple[int, Gain]:
    """Choose on some stretches and judge on others."""
    training, held_out = figures(rng, effect), figures(rng, effect)
    scores = {str(i): training[i].tolist() for i in range(1, SETTINGS)}
    chosen = int(choose(scores, sorted(scores)))
    return chosen, gain(held_out[chosen], held_out[0], lower_is_better=False)


def test_where_all_are_equal_it_says_so_but_for_one_time_in_twenty():
    rng = np.random.default_rng(1)
    said = [decided(rng)[1].judgement for _ in range(REPEATED)]
    assert sum(verdict in ("better", "worse") for verdict in said) / REPEATED < 0.075
    assert sum(verdict == "better" for verdict in said) / REPEATED < 0.045


def test_who_judges_on_what_was_searched_is_fooled():
    """What the rule is for: the best of many looks better by chance alone."""
    rng = np.random.default_rng(2)
    fooled = 0
    for _ in range(REPEATED):
        values = figures(rng)
        best = values[1:].mean(axis=1).argmax() + 1
        fooled += gain(values[best], values[0], lower_is_better=False).judgement == "better"
    assert fooled / REPEATED > 0.12


def test_a_planted_difference_is_found():
    rng = np.random.default_rng(3)
    found = [decided(rng, 0.2) for _ in range(100)]
    assert sum(chosen == 7 and judged.judgement == "better" for chosen, judged in found) >= 95


def test_an_interval_holds_the_planted_difference_as_often_as_it_says():
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(REPEATED):
        values = figures(rng, 0.2)
        interval = gain(values[7], values[0], lower_is_better=False).ci95
        assert interval is not None
        held += interval.low <= 20 * np.exp(0.125) <= interval.high
    assert 0.89 < held / REPEATED < 0.99


@pytest.mark.parametrize(("lower", "verdict"), [(True, "better"), (False, "worse")])
def test_less_is_better_of_times_and_worse_of_rates(lower: bool, verdict: str):
    found = gain([1.0, 1.1, 0.9], [2.0, 2.1, 2.0], lower_is_better=lower)
    assert found.judgement == verdict
    assert abs(found.mean) == pytest.approx(31 / 30)
    assert abs(found.relative or 0) == pytest.approx(3.1 / 6.1)


def test_what_is_sure_but_tiny_does_not_matter():
    base = np.linspace(50, 150, 12)
    assert gain(base * 1.005, base, lower_is_better=False).judgement == "too small to matter"
    assert gain(base, base, lower_is_better=False).judgement == "no significant difference"


def test_one_stretch_is_no_evidence():
    found = gain([9.0], [1.0], lower_is_better=False)
    assert found.ci95 is None
    assert found.judgement == "no significant difference"
    assert not found.differs


def test_nothing_is_a_share_of_nothing():
    assert gain([1.0, 2.0], [0.0, 0.0], lower_is_better=True).relative is None
    assert Gain(1.0, Interval(0.5, 1.5), None, 3).judgement == "better"


def test_of_equals_the_simplest_is_taken():
    noise = np.random.default_rng(5).normal(0, 1, (3, 12))
    scores = {"simple": (100 + noise[0]).tolist(), "odd": (100.2 + noise[1]).tolist(), "bad": (90 + noise[2]).tolist()}
    assert choose(scores, ["simple", "odd", "bad"]) == "simple"
    assert choose(scores, ["bad", "odd", "simple"]) == "odd"


def test_what_seems_to_lose_much_is_no_equal_though_nobody_is_sure():
    """Four stretches that scatter widely: the difference is not significant, and large."""
    wild = {"simple": [50.0, 10.0, 90.0, 10.0], "best": [100.0, 90.0, 40.0, 80.0]}
    assert not gain(wild["simple"], wild["best"], lower_is_better=False).differs
    assert choose(wild, ["simple", "best"]) == "best"
    assert abs(gain(wild["simple"], wild["best"], lower_is_better=False).relative or 0) > CLOSE
