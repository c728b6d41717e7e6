"""The charts are drawn by the real Vega, and what is drawn is looked at."""

import re
from typing import Any

import pytest
import vl_convert

from headway.measure.comparison import Comparison, ComparisonBuilder
from headway.report.charts import BUCKETS, figures
from headway.report.drawing import Figure, lines
from headway.report.theme import CONFIG
from tests.measure.fake_runs import REJECTED, outcome, record, residence, timeline, waiting_run
from tests.report.comparisons import of_waits, typical


def drawn(comparison: Comparison) -> dict[str, Figure]:
    return {figure.key: figure for figure in figures(comparison)}


def rows(figure: Figure, chart: int = 0) -> list[dict[str, Any]]:
    spec = figure.charts[chart].to_dict()
    return spec["data"]["values"]


def svg(figure: Figure, chart: int = 0) -> str:
    return vl_convert.vegalite_to_svg(figure.charts[chart].properties(width=400).to_dict())


@pytest.mark.parametrize("seeds", [1, 3])
def test_every_chart_is_one_that_vega_can_draw(seeds: int):
    found = drawn(typical(seeds))
    assert list(found) == ["waits", "means", "tails", "queue", "kv"]
    assert [len(figure.charts) for figure in found.values()] == [1, 1, 1, 1, 3]
    for figure in found.values():
        for chart in range(len(figure.charts)):
            picture = svg(figure, chart)
            assert "NaN" not in picture
            assert "<path" in picture


def test_axes_have_units():
    found = drawn(typical())
    assert "Wait until scheduled (log scale)" in svg(found["waits"])
    assert "P99 wait (s)" in svg(found["tails"])
    assert "Mean wait (s)" in svg(found["means"])
    assert "Time since the first arrival (s)" in svg(found["queue"])
    assert "Time since the first arrival (s)" in svg(found["kv"], 2)
    assert "100%" in svg(found["kv"])


def test_waits_of_zero_have_a_place_on_the_logarithmic_axis():
    figure = drawn(of_waits({"a": [0.0] * 50 + [0.5] * 50, "b": [0.02] * 100}))["waits"]
    of_a = [(row["wait"], row["share"]) for row in rows(figure) if row["policy"] == "a"]
    assert of_a[0] == (0.01, 0.5)
    assert of_a[-1] == (0.5, 1.0)
    assert "≤ 10 ms" in svg(figure)


@pytest.mark.parametrize("waits", [[1.0] * 10, [1000.0] * 3, [1e-9, 1e4], [0.0, 1.0]])
def test_an_axis_has_room_whatever_the_waits(waits: list[float]):
    figure = drawn(of_waits({"a": waits}))["waits"]
    low, high = figure.charts[0].to_dict()["encoding"]["x"]["scale"]["domain"]
    assert 0 < low < high == max(waits)
    assert high / low <= 1e6
    svg(figure)


def test_without_any_wait_there_is_no_cdf():
    assert "waits" not in drawn(of_waits({"a": [0.0, 0.0]}))


def test_tails_are_by_true_class_and_intervals_come_with_seeds():
    one, several = drawn(typical(1))["tails"], drawn(typical(3))["tails"]
    assert {row["group"] for row in rows(one)} == {"short", "long"}
    assert all("low" not in row for row in rows(one))
    assert all(0 <= row["low"] <= row["value"] <= row["high"] for row in rows(several))
    assert "95 % intervals" in several.caption


def test_without_classes_the_tail_is_of_all():
    run = record([outcome(0, true_class=None)])
    figure = drawn(Comparison.of({}, {"fcfs": [run]}))["tails"]
    assert figure.title == "P99 wait"
    assert [row["group"] for row in rows(figure)] == ["all"]


def test_time_is_thinned_and_in_a_handy_unit():
    long = timeline(*((t * 10.0, t % 7, 1, 5) for t in range(5000)))
    figure = drawn(Comparison.of({}, {"fcfs": [waiting_run("fcfs", [1.0], timeline=long)]}))["queue"]
    assert len(rows(figure)) == BUCKETS
    assert max(row["value"] for row in rows(figure)) == 6
    assert "Time since the first arrival (h)" in svg(figure)


def test_policies_have_the_same_colour_in_every_chart():
    found = drawn(typical())
    spec = found["waits"].charts[0].to_dict()["encoding"]["color"]["scale"]
    colours = dict(zip(spec["domain"], spec["range"], strict=True))
    assert list(colours) == ["fcfs", "psf", "qba"]
    strips = [chart.to_dict()["mark"]["color"] for chart in found["kv"].charts]
    assert strips == list(colours.values())


def test_nothing_to_draw():
    assert figures(ComparisonBuilder({}).build()) == []
    run = record([outcome(0, **REJECTED)], residence=residence(), timeline=timeline())
    assert figures(Comparison.of({}, {"fcfs": [run]})) == []


def test_several_seeds_say_of_which_a_curve_is():
    assert drawn(typical(3))["waits"].caption.startswith("Of seed 0.")
    assert not drawn(typical(1))["waits"].caption.startswith("Of seed")


ORDERS = ("fcfs", "psf", "fair-share", "least-slack")
MANY = [f"{order} + {shed}" for order in ORDERS for shed in ("keep", "reject", "demote")]
LONG = [f"qba(k={k}, gamma=0.9) + past-future(reserve=0.05, lists={k})" for k in range(1, 5)]


@pytest.mark.parametrize("names", [MANY, LONG, ["fcfs", "psf", "aa", "qba"]], ids=["many", "long", "usual"])
def test_a_legend_names_every_policy_within_the_width_of_the_chart(names: list[str]):
    found = drawn(of_waits({name: [1.0 + k] * 40 for k, name in enumerate(names)}))
    for key in ("waits", "tails"):
        chart = found[key].charts[0].properties(width=400).configure(**CONFIG)
        legend = vl_convert.vegalite_to_svg(chart.to_dict()).split('role-legend"')[1]
        assert all(f">{line}<" in legend for name in names for line in lines(name))
        assert "…" not in legend
        width = re.search(r'class="background" aria-hidden="true" d="M0,0h([\d.]+)v', legend)
        assert width is not None
        assert float(width[1]) <= 400
    means = vl_convert.vegalite_to_svg(found["means"].charts[0].properties(width=400).configure(**CONFIG).to_dict())
    assert all(f">{line}<" in means for name in names for line in lines(name))


def test_a_long_name_is_broken_before_each_rule_that_is_joined_to_it():
    assert lines("fcfs + reject") == ["fcfs + reject"]
    assert lines(LONG[0]) == ["qba(k=1, gamma=0.9)", "+ past-future(reserve=0.05, lists=1)"]
