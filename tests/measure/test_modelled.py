from __future__ import annotations

import json
import math

import pytest

from headway.measure.intervals import Interval
from headway.measure.modelled import Excess, in_order
from tests.measure.modelled_by_hand import ORDERED, modelled, times

NEVER = (math.inf,) * 4


def test_agreement_of_each_number_of_servers() -> None:
    found = modelled(
        literal=[times(ORDERED, 0.01)] * 3,
        fitted=[times(ORDERED, 0.5), ORDERED, NEVER],
        simulated=[ORDERED, (4.0, 4.5, 2.5, 2.0), ORDERED],
    )
    literal, fitted = found.agreements
    assert literal.stable == found.rates == (20, 30, 40)
    assert literal.unstable_from is None
    assert literal.near == pytest.approx((100, 150))
    assert literal.far == pytest.approx((100, 100))
    assert fitted.stable == (20, 30)
    assert fitted.unstable_from == 40
    assert fitted.near == pytest.approx((1, 2))
    assert fitted.far is None
    assert fitted.ordered == (20, 30)
    assert fitted.simulated_ordered == (20,)


@pytest.mark.parametrize(
    ("means", "ordered"),
    [
        ((4, 3, 2, 1), True),
        ((4, 2, 2, 1), True),  # qba may be level with aa
        ((3, 3, 2, 1), False),
        ((4, 3, 3.5, 1), False),
        ((4, 3, 2, 2), False),
        ((1, 2, 3, 4), False),
    ],
)
def test_order(means: tuple[float, ...], ordered: bool) -> None:
    assert in_order(dict(zip(("fcfs", "aa", "qba", "psf"), means, strict=True))) is ordered


def test_an_excess_is_significant_beyond_its_interval_only() -> None:
    assert Excess(30, 0.5, Interval(0.1, 0.9)).significant
    assert not Excess(30, 0.5, Interval(-0.1, 1.1)).significant
    assert not Excess(30, 0.5, None).significant


def test_json_has_no_infinity() -> None:
    found = modelled([NEVER] * 3, [ORDERED] * 3, [ORDERED] * 3, [(0.1, Interval(0.05, 0.15)), (0.0, None)])
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["points"][0]["model"] is None
    assert data["aa_over_fcfs"][0] == {"rate": 20.0, "seconds": 0.1, "ci95": [0.05, pytest.approx(0.15)]}
    assert [one["servers"] for one in data["agreement"]] == ["literal", "fitted"]
