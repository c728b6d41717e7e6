"""Points and curves of memory rules as data."""

from __future__ import annotations

import json

import pytest

from headway.measure.intervals import mean_interval
from headway.measure.memory_curve import Point
from tests.measure.curves_by_hand import point, typical, use


def test_a_point_averages_its_seeds() -> None:
    made = point("ema", 0.1, (0.8, 1.0), (0.9, 3.0))
    assert (made.used_mean, made.evictions_mean, made.requests) == (pytest.approx(0.85), 2.0, 2000)
    assert made.used_interval == mean_interval([0.8, 0.9])
    assert made.evictions_interval is not None
    assert made.evictions_interval.low == 0.0  # no rate is below none
    assert made.shown.recomputed_tokens == pytest.approx((10 + 30) / 2 * 2000)


def test_one_seed_has_no_interval() -> None:
    made = point("ema", 0.1, (0.8, 1.0))
    assert (made.used_interval, made.evictions_interval) == (None, None)


def test_whole_runs_count_where_there_is_no_steady_part() -> None:
    made = Point.of("ema", 0.1, [0], [use(0.7, 40)], [], 2000)
    assert (made.used_mean, made.evictions_mean) == (pytest.approx(0.7), 2.0)
    assert made.to_dict()["steady"] is None
    assert made.to_dict()["whole"]["evictions"] == {"events": 40.0, "requests": 40.0, "recomputed_tokens": 80_000.0}


def test_nothing_ran() -> None:
    """A run in which no iteration took place uses nothing."""
    nothing = Point.of("ema", 0.1, [0], [use(0.0, 0)], [], 10)
    assert (nothing.used_mean, nothing.evictions_mean) == (0.0, 0.0)


def test_the_object_is_plain_data() -> None:
    found = typical(3, partial=True)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["partial"] is True
    assert data["headway"] == "1.2.3"
    assert [curve["rule"] for curve in data["curves"]] == ["past-future", "watermark", "oracle"]
    assert [curve["knob"] for curve in data["curves"]] == ["reserve", "level", None]
    first = data["curves"][0]["points"][1]
    assert first["used"] == pytest.approx(0.86)
    assert first["evictions_per_100_ci95"][0] < first["evictions_per_100"] == pytest.approx(0.1)
    (pair,) = data["equal_use"]
    assert (pair["rule"], pair["reference"]) == ("past-future", "watermark")
    assert {ratio["verdict"] for ratio in pair["ratios"]} == {"fewer", "level"}


def test_limit_and_seeds() -> None:
    found = typical(2)
    assert found.limit is not None
    assert found.limit.memory == "oracle"
    assert found.seeds == (0, 1)
    assert [curve.rule for curve in found.turned] == ["past-future", "watermark"]
