"""The study of memory rules over their knobs: which settings are run, under which seeds, and what of them counts."""

from __future__ import annotations

import polars as pl
import pytest

from headway.core.cost import Steps
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.measure.frontier import Frontier
from headway.policies.policy import Policy
from headway.simulate.run import simulate
from headway.studies import frontier as study
from headway.studies.frontier import LEVELS, OVERCOMMITS, RESERVES, TOO_MANY, frontier
from headway.workload import Trace, workload

ENGINE = EngineProfile("small", 2048, 64, 3000, Steps(1.0), mode="prefill-first", max_new_tokens=400, cut_off=False)
WORKLOAD = "uniform(n=200, rate=1e9, prompt_low=10, prompt_high=300, output_low=100, output_high=400)"


def of(*memory: str, **given: object) -> Frontier:
    return frontier(WORKLOAD, memory, ENGINE, **({"steady_after": 50} | given))  # type: ignore[arg-type]


def values(found: Frontier) -> dict[str, list[float | None]]:
    return {curve.rule: [point.value for point in curve.points] for curve in found.curves}


def test_by_default_every_rule_is_turned_from_its_careful_end() -> None:
    found = frontier(WORKLOAD, engine=ENGINE, steady_after=50)
    assert list(values(found)) == ["past-future", "ema", "watermark", "conservative", "oracle"]
    assert [curve.knob for curve in found.curves] == ["reserve", "reserve", "level", "overcommit", None]
    assert values(found)["past-future"] == list(RESERVES)
    assert values(found)["watermark"] == list(LEVELS)[: len(values(found)["watermark"])]
    assert values(found)["oracle"] == [None]
    for curve in found.turned:
        uses = [point.used_mean for point in curve.points]
        assert uses[0] < uses[-1], curve.rule
    assert found.part == "steady"
    assert not found.partial


def test_a_point_is_what_a_run_says() -> None:
    found = of("watermark(level=0.9)", seeds=[3])
    (point,) = found.curves[0].points
    record = simulate(workload(WORKLOAD, 3), Policy.of("fcfs", "watermark(level=0.9)"), ENGINE, seed=3, steady_after=50)
    assert point.whole == (record.memory,)
    assert point.steady == (record.steady_memory,)
    assert record.steady_memory is not None
    assert point.used_mean == record.steady_memory.used_mean
    assert point.evictions_mean == record.steady_memory.eviction_events * 100 / 150
    assert point.requests == 150


def test_a_value_that_is_given_is_a_setting_and_several_are_one_curve() -> None:
    found = of("past-future(reserve=0.02, lists=1)", "ema(reserve=0)", "past-future(lists=1, reserve=0.3)", "ema")
    assert values(found) == {"past-future(lists=1)": [0.3, 0.02], "ema": list(RESERVES)}
    assert [point.memory for point in found.curves[0].points] == [
        "past-future(reserve=0.3, lists=1)",
        "past-future(reserve=0.02, lists=1)",
    ]


def test_no_bolder_value_is_tried_once_everybody_is_evicted() -> None:
    found = of("conservative")
    rates = [point.evictions_mean for point in found.curves[0].points]
    assert len(rates) < len(OVERCOMMITS)
    assert rates[-1] > TOO_MANY
    assert all(rate <= TOO_MANY for rate in rates[:-1])


def test_every_seed_has_the_same_settings() -> None:
    found = of("conservative", "oracle", seeds=range(3))
    assert {point.seeds for curve in found.curves for point in curve.points} == {(0, 1, 2)}
    assert found.curves[0].points[-1].requests == 450


def test_on_a_trace_only_rules_that_draw_are_repeated() -> None:
    found = frontier(workload(WORKLOAD), ["past-future(reserve=0)", "watermark(level=0.95)"], ENGINE, seeds=range(3))
    drawn, plain = (curve.points[0] for curve in found.curves)
    assert (drawn.seeds, plain.seeds) == ((0, 1, 2), (0,))
    assert drawn.used_interval is not None
    assert plain.used_interval is None


def test_whole_runs_count_where_nothing_is_left_after_the_start_up() -> None:
    found = of("watermark(level=0.9)", steady_after=1000)
    assert found.part == "whole"
    assert found.curves[0].points[0].requests == 200
    assert "before 1,000 requests had finished" in found.notes[-1]


def test_home_engine_and_settings() -> None:
    found = frontier("d1(n=40)", "oracle", policy="shortest-work", seeds=[5], command="headway frontier d1")
    assert found.settings["engine"] == "past-future-table1"
    assert found.settings["policy"] == "shortest-work"
    assert found.settings["seeds"] == [5]
    assert found.settings["memory"] == ["oracle"]
    assert found.settings["command"] == "headway frontier d1"


def test_progress_grows_to_one_at_most() -> None:
    shares: list[float] = []
    frontier("d1(n=2500)", ["conservative(overcommit=1)", "watermark(level=0.9)"], progress=shares.append)
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 1


class _Interrupting:
    """Stands in for `simulate`, and presses Ctrl-C in the n-th run."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, *given: object, **named: object) -> object:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return simulate(*given, **named)  # type: ignore[arg-type]


def interrupted_at(run: int, monkeypatch: pytest.MonkeyPatch, *memory: str, seeds: range = range(1)) -> Frontier:
    monkeypatch.setattr(study, "simulate", _Interrupting(run))
    return of(*memory, seeds=seeds)


def test_interrupted_in_the_first_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was run is there; a rule that was not reached is not."""
    found = interrupted_at(4, monkeypatch, "watermark", "oracle")
    assert found.partial
    assert values(found) == {"watermark": list(LEVELS[:3])}
    assert found.notes[-1] == f"Interrupted: 3 runs were complete, of {len(LEVELS) + 1} at most."


def test_interrupted_in_a_later_seed_only_whole_seeds_count(monkeypatch: pytest.MonkeyPatch) -> None:
    found = interrupted_at(8, monkeypatch, "watermark(level=0.8)", "watermark(level=0.9)", "oracle", seeds=range(5))
    assert {point.seeds for curve in found.curves for point in curve.points} == {(0, 1)}


def test_interrupted_before_anything_was_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted_at(1, monkeypatch, "oracle")


@pytest.mark.parametrize(
    ("memory", "given", "says"),
    [
        ((), {}, "name at least one memory rule"),
        (("watermark(level=2)",), {}, "level must be in (0, 1], got 2"),
        (("past-futur",), {}, "did you mean 'past-future'?"),
        (("ema",), {"steady_after": 0}, "steady_after must be >= 1, got 0"),
        (("ema",), {"policy": "fcf"}, "did you mean 'fcfs'?"),
        (("ema",), {"seeds": []}, "at least one seed"),
    ],
)
def test_bad_input_gets_one_line(memory: tuple[str, ...], given: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        of(*memory, **given)
    assert says in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_start_up_of_everybody_leaves_the_whole_run_to_count():
    frame = pl.DataFrame({"arrival": [0.0] * 3, "prompt_tokens": [10] * 3, "output_tokens": [0] * 3})
    found = frontier(Trace.from_frame("three", frame), ["watermark"], steady_after=3)
    assert found.part == "whole"
    assert all(point.requests == 3 for curve in found.curves for point in curve.points)
