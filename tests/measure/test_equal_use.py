"""Memory rules at equal use: log-interpolation, bounds where nothing was seen, ratios and their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.measure.equal_use import (
    ENOUGH,
    Line,
    against_reference,
    equal_use,
    evictions_at,
    ratio_at,
    reference_of,
    setting_at,
    used_at,
)
from headway.measure.intervals import student_t
from tests.measure.curves_by_hand import PAST_FUTURE, REQUESTS, WATERMARK, curve, typical

FLOOR = 50 / REQUESTS


def test_between_two_settings_the_logarithm_of_the_rate_is_a_straight_line() -> None:
    line = Line.of(curve("watermark", (0.8, 1.0), (0.9, 100.0)))
    for used, rate in ((0.8, 1.0), (0.85, 10.0), (0.875, 10**1.5), (0.9, 100.0)):
        found = evictions_at(line, used)
        assert found is not None
        assert found.per_100 == pytest.approx(rate)
        assert not found.bound
    assert evictions_at(line, 0.7999) is None
    assert evictions_at(line, 0.9001) is None


def test_none_seen_is_below_half_an_eviction_and_marks_what_is_beside_it() -> None:
    line = Line.of(curve("ema", (0.7, 0.0), (0.8, 0.0), (0.9, 100 * FLOOR)))
    assert line.floor == FLOOR
    for used, rate, bound in ((0.75, FLOOR, True), (0.85, 10 * FLOOR, True), (0.9, 100 * FLOOR, False)):
        found = evictions_at(line, used)
        assert found is not None
        assert found.per_100 == pytest.approx(rate)
        assert found.bound is bound


def test_the_order_of_settings_does_not_matter_and_equal_uses_are_one() -> None:
    mixed = Line.of(curve("ema", (0.9, 8.0), (0.8, 1.0), (0.9, 12.0)))
    assert mixed.used.tolist() == [0.8, 0.9]
    assert mixed.evictions.tolist() == pytest.approx([1.0, 10.0])


RATES = st.lists(st.floats(0.1, 1000), min_size=2, max_size=6)


@given(RATES, st.floats(0, 1))
def test_interpolated_rates_lie_between_their_neighbours(rates: list[float], share: float) -> None:
    settings = [(0.5 + 0.05 * place, rate) for place, rate in enumerate(sorted(rates))]
    line = Line.of(curve("ema", *settings))
    used = line.used[0] + share * (line.used[-1] - line.used[0])
    found = evictions_at(line, used)
    assert found is not None
    left = int(np.searchsorted(line.used, used, side="right")) - 1
    right = min(left + 1, len(rates) - 1)
    assert line.evictions[left] * (1 - 1e-9) <= found.per_100 <= line.evictions[right] * (1 + 1e-9)


@given(RATES, st.floats(0.2, 900))
def test_the_use_at_a_rate_has_that_rate(rates: list[float], rate: float) -> None:
    line = Line.of(curve("ema", *((0.5 + 0.05 * place, one) for place, one in enumerate(sorted(set(rates))))))
    used = used_at(line, rate)
    if rate < line.evictions[0]:
        assert used is None
    elif rate >= line.evictions[-1]:
        assert used == line.used[-1]
    else:
        assert used is not None
        found = evictions_at(line, used)
        assert found is not None
        assert found.per_100 == pytest.approx(rate, rel=1e-6)


def test_the_use_at_a_rate_ends_where_it_is_first_exceeded() -> None:
    line = Line.of(curve("ema", (0.7, 0.5), (0.8, 2.0), (0.9, 0.5)))
    assert used_at(line, 1.0) == pytest.approx(0.75)


def test_the_setting_at_a_use_lies_between_those_beside_it() -> None:
    one = curve("ema", (0.7, 0.5), (0.8, 2.0), (0.9, 5.0))
    assert setting_at(one, 0.75) == pytest.approx(1.5)
    assert setting_at(one, 0.9) == 3.0
    assert setting_at(curve("ema", (0.7, 0.0), (0.7, 0.0)), 0.7) == 1.0  # the careful one of those that are the same


def test_ratios_at_equal_use() -> None:
    one, other = curve("past-future", *PAST_FUTURE), curve("watermark", *WATERMARK)
    ratio = ratio_at(one, other, 0.90)
    assert ratio is not None
    reference = math.exp(math.log(6) + 5 / 7 * math.log(10 / 6))
    assert ratio.times == pytest.approx(reference / 1.0)
    assert (ratio.verdict, ratio.at_least, ratio.ci95) == ("fewer", False, None)
    assert ratio_at(one, other, 0.95) is None  # past-future does not reach it
    bounded = ratio_at(one, other, 0.82)
    assert bounded is not None
    assert bounded.at_least
    assert bounded.verdict == "fewer"


def test_verdicts_come_in_stretches() -> None:
    found = equal_use(curve("past-future", *PAST_FUTURE), curve("watermark", *WATERMARK))
    assert [ratio.used for ratio in found.ratios] == pytest.approx([0.8 + 0.005 * step for step in range(29)])
    assert [stretch.verdict for stretch in found.stretches] == ["fewer", "level"]
    fewer, level = found.stretches
    assert fewer.low == 0.8
    assert level.high == 0.94
    assert fewer.ratios[-1].times >= 2 > level.ratios[0].times
    turned = equal_use(curve("watermark", *WATERMARK), curve("past-future", *PAST_FUTURE))
    assert [stretch.verdict for stretch in turned.stretches] == ["more", "level"]
    for ratio, other in zip(found.ratios, turned.ratios, strict=True):
        assert ratio.times == pytest.approx(1 / other.times)


def test_too_few_evictions_say_nothing() -> None:
    """Of 1000 requests, 2 per 100 are 20 evictions: fewer than it takes."""
    assert REQUESTS * 2 / 100 < ENOUGH < REQUESTS * 4 / 100
    for rate, verdict in ((2.0, "unknown"), (4.0, "fewer")):
        one, other = curve("ema", (0.8, 0.5), (0.9, 0.5)), curve("watermark", (0.8, rate), (0.9, rate))
        found = ratio_at(one, other, 0.85)
        assert found is not None
        assert found.verdict == verdict


def test_bounds_on_the_wrong_side_say_nothing() -> None:
    busy, quiet = curve("ema", (0.8, 0.0), (0.9, 90.0)), curve("watermark", (0.8, 4.0), (0.9, 4.0))
    for used, verdict in ((0.82, "fewer"), (0.85, "unknown"), (0.88, "unknown"), (0.9, "more")):
        found = ratio_at(busy, quiet, used)
        assert found is not None
        assert found.verdict == verdict, used
    neither = ratio_at(curve("ema", (0.8, 0.0), (0.9, 90.0)), curve("watermark", (0.8, 0.0), (0.9, 90.0)), 0.85)
    assert neither is not None
    assert neither.verdict == "unknown"


def test_the_interval_is_the_jackknife_over_seeds() -> None:
    """At a setting of both, the jackknife of the logarithm of a ratio of means can be told directly."""
    one = curve("past-future", (0.8, 1.0), (0.9, 4.0), seeds=5, spread=0.5)
    other = curve("watermark", (0.8, 8.0), (0.9, 20.0), seeds=5, spread=0.1)
    found = ratio_at(one, other, 0.9)
    assert found is not None
    assert found.ci95 is not None
    a, b = one.points[1].evictions, other.points[1].evictions
    left_out = [math.log(np.delete(b, k).mean() / np.delete(a, k).mean()) for k in range(5)]
    error = math.sqrt(4 / 5 * sum((value - np.mean(left_out)) ** 2 for value in left_out))
    assert math.log(found.ci95.high / found.times) == pytest.approx(student_t(4) * error)
    assert found.ci95.low * found.ci95.high == pytest.approx(found.times**2)


def test_a_rule_that_draws_nothing_has_one_seed_and_no_share_in_the_interval() -> None:
    """On a trace the watermark is run once, Past-Future under every seed."""
    one = curve("past-future", (0.8, 1.0), (0.9, 4.0), seeds=5, spread=0.5)
    alone = ratio_at(one, curve("watermark", (0.8, 8.0), (0.9, 20.0)), 0.9)
    assert alone is not None
    assert alone.ci95 is not None
    assert alone.ci95.low < alone.times < alone.ci95.high


def test_no_interval_from_a_bound() -> None:
    one = curve("past-future", (0.8, 0.0), (0.9, 4.0), seeds=3, spread=0.5)
    found = ratio_at(one, curve("watermark", (0.8, 8.0), (0.9, 20.0), seeds=3), 0.85)
    assert found is not None
    assert found.ci95 is None


def test_the_reference_is_the_plain_watermark_or_the_last_rule() -> None:
    curves = typical().turned
    assert [one.rule for one in curves] == ["past-future", "watermark"]
    assert reference_of(curves) is curves[1]
    assert reference_of(curves[::-1]) is curves[1]
    others = [curve("ema", *PAST_FUTURE), curve("watermark(charge=prompt)", *WATERMARK)]
    assert reference_of(others) is others[1]
    assert reference_of(others[:1]) is None
    assert against_reference(others[:1]) == []
    assert [pair.rule for pair in against_reference(curves)] == ["past-future"]
