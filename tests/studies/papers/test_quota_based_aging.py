"""The evaluation as a whole: every run once, parts on their own, what is left out and what an interruption leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from headway.core.errors import InvalidInput, InvalidTrace
from headway.measure.reproduction import Reproduction
from headway.studies.cells import Cell
from headway.studies.papers import quota_based_aging
from headway.studies.papers.qba.grid import (
    ERRORS,
    LEVELS,
    LOADS,
    PARTS,
    POLICIES,
    QUOTAS,
    SIMULATED,
    Point,
    all_points,
    cells_of,
    points_of,
)
from headway.studies.papers.qba.measures import FIGURES, waits
from headway.studies.papers.qba.runs import ratio_of
from headway.studies.papers.qba.windows import LENGTHS, WINDOWS, window_sources
from headway.studies.papers.quota_based_aging import reproduce
from headway.studies.source import Source
from headway.workload import Trace, workload

REQUESTS = 120


def small(*parts: str, **given: Any) -> Reproduction:
    return reproduce(parts or SIMULATED, seeds=range(2), requests=REQUESTS, workers=1, **given)


@pytest.fixture(scope="module")
def whole() -> Reproduction:
    return small(*PARTS, trace=workload("lognormal(n=2000, rate=7)"))


def test_the_grid_has_every_run_once() -> None:
    points = all_points(PARTS)
    assert len(points) == len(set(points))
    sweeps = len(LOADS) * 4 + 2 + len(QUOTAS) + 2 * (len(LEVELS) - 1)
    assert len(points) == sweeps + 2 * 3 * (len(ERRORS) - 1)
    assert set(points) == {point for part in SIMULATED for point in points_of(part)}
    cells = cells_of(points, range(3), REQUESTS, lambda _: waits)
    assert [cell.seed for cell in cells] == sorted(cell.seed for cell in cells)
    sources = [id(cell.source) for cell in cells[: len(points)]]
    blocks = 1 + sum(a != b for a, b in pairwise(sources))
    assert blocks == len(set(sources)) == len(LOADS) + 1 + 2 * (len(ERRORS) - 1)  # each is drawn once a seed


def test_fcfs_looks_at_no_prediction() -> None:
    """So that its runs under errors are those without."""
    found = [
        Cell(Source("qba-paper", limit=300, epsilon_sl=sl, epsilon_ls=ls), 0, cell.policy, cell.engine, measure=waits)
        for cell in cells_of([Point("fcfs")], [0], REQUESTS, lambda _: waits)
        for sl, ls in ((0.0, 0.0), (0.4, 0.0), (0.0, 0.4))
    ]
    first, *others = (cell.run(cell.source.requests(0)) for cell in found)
    assert others == [first, first]


def test_every_part_has_its_figures_and_every_claim_its_verdict(whole: Reproduction) -> None:
    assert [part.name for part in whole.parts] == list(PARTS)
    assert all(part.plates or part.sheets for part in whole.parts)
    assert all(finding.verdict != "not run" for finding in whole.findings)
    assert all(finding.ours for finding in whole.findings)
    names = [plate.name for plate in whole.plates] + [sheet.name for sheet in whole.sheets]
    assert len(names) == len(set(names))
    assert not whole.partial
    assert whole.settings["runs"] == 2 * len(all_points(PARTS)) + WINDOWS * len(POLICIES)
    plane = next(plate for plate in whole.plates if plate.name == "fig3-plane")
    assert set(plane.data["path"]) >= {"qba over k", "qba over gamma", "aa over gamma", *POLICIES}


@pytest.mark.parametrize("part", SIMULATED)
def test_a_part_alone_is_what_it_is_in_the_whole(part: str, whole: Reproduction) -> None:
    alone = small(part)
    assert alone.settings["runs"] == 2 * len(points_of(part))
    (found,) = alone.parts
    (there,) = (one for one in whole.parts if one.name == part)
    for mine, other in zip(found.plates, there.plates, strict=True):
        assert mine.data.equals(other.data, null_equal=True), mine.name
    for finding in alone.findings:
        if finding.verdict != "not run":
            assert finding == whole.finding(finding.name)
    assert any(finding.verdict == "not run" for finding in alone.findings)
    assert any(finding.verdict != "not run" for finding in alone.findings)


def test_without_a_trace_table_2_is_left_out_and_said_so() -> None:
    found = small("fig5", "table2")
    assert [part.name for part in found.parts] == ["fig5"]
    assert any("--trace" in note for note in found.notes)
    assert found.finding("trace-no-oom").verdict == "not run"
    with pytest.raises(InvalidInput, match="--trace"):
        small("table2")


def test_parts_and_seeds_are_checked() -> None:
    with pytest.raises(InvalidInput, match="fig9"):
        small("fig9")
    with pytest.raises(InvalidInput, match="a seed"):
        reproduce(("fig2",), seeds=())


def test_windows_are_in_order_apart_and_scaled() -> None:
    trace = workload("lognormal(n=2050, rate=7)")
    sources = window_sources(trace)
    assert len(sources) == WINDOWS
    parts = [source.origin.frame for source in sources if isinstance(source.origin, Trace)]
    assert pl.concat(parts).equals(trace.frame.head(20 * WINDOWS))
    scaled = sources[3].requests(0)
    assert scaled.rate == pytest.approx(32)
    tokens = parts[3]["prompt_tokens"] * LENGTHS
    assert scaled.frame["prompt_tokens"].to_list() == [max(1, round(value)) for value in tokens]
    with pytest.raises(InvalidTrace, match="expected at least 2,000"):
        window_sources(workload("lognormal(n=1999, rate=7)"))


def test_a_trace_in_which_nobody_waits_and_all_are_alike_has_an_honest_table() -> None:
    """There is no share of a wait that is 0, and no tail of long requests where none is long."""
    alike = {"arrival": np.arange(2000) * 0.03, "prompt_tokens": 100, "output_tokens": 20}
    found = small("table2", trace=Trace.from_frame("alike", pl.DataFrame(alike)))
    (sheet,) = found.sheets
    assert sheet.data["mean wait (s)"].to_list() == [0.0] * 4
    assert sheet.data["against FCFS (%)"].to_list() == sheet.data["true-long P99 (s)"].to_list() == [None] * 4
    for name in ("trace-psf-mean", "trace-qba-mean", "trace-long-tails", "trace-mean-order", "trace-tail-order"):
        assert found.finding(name).verdict == "does not hold here"
        assert found.finding(name).why
    words = [text for one in found.findings for text in (one.ours, one.interval, one.why)]
    assert not any(bad in text for text in words for bad in ("nan", "inf "))


def interrupted_after(cells: int) -> Callable[..., None]:
    def run(given: Sequence[Cell], *, each: Callable[[int, Any], None], **_: Any) -> None:
        for place, cell in enumerate(given[:cells]):
            each(place, cell.run(cell.source.requests(cell.seed)))
        raise KeyboardInterrupt

    return run


def test_an_interruption_leaves_the_seeds_that_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    points = len(points_of("fig5"))
    monkeypatch.setattr(quota_based_aging, "run_cells", interrupted_after(2 * points + 3))
    found = reproduce(("fig5",), seeds=range(3), requests=60, workers=1)
    assert found.partial
    assert found.settings["seeds"] == 2
    assert "2 of 3 seeds: figures and verdicts are of these alone" in found.first
    assert found.first in found.to_dict()["notes"]
    assert small("fig5").first == ""
    monkeypatch.setattr(quota_based_aging, "run_cells", interrupted_after(points - 1))
    with pytest.raises(KeyboardInterrupt):
        reproduce(("fig5",), seeds=range(3), requests=60, workers=1)


def test_finished_runs_are_kept_and_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = small("fig5", keep=tmp_path / "cells")
    monkeypatch.setattr(Cell, "run", lambda *_: pytest.fail("it was run already"))
    again = small("fig5", keep=tmp_path / "cells")
    assert again.findings == first.findings == small_findings(monkeypatch)
    assert [plate.data.equals(other.data) for plate, other in zip(again.plates, first.plates, strict=True)] == [
        True
    ] * 3


def small_findings(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    monkeypatch.undo()
    return small("fig5").findings


def test_a_ratio_has_the_interval_of_paired_means() -> None:
    """Against a bootstrap over seeds."""
    random = np.random.default_rng(5)
    below = random.lognormal(0, 0.4, 100)
    above = below * random.normal(0.7, 0.1, 100)
    found = ratio_of(above, below)
    picks = random.integers(0, 100, (4000, 100))
    ratios = above[picks].mean(axis=1) / below[picks].mean(axis=1)
    assert found.value == pytest.approx(above.mean() / below.mean())
    assert found.interval is not None
    assert [found.interval.low, found.interval.high] == pytest.approx(np.quantile(ratios, [0.025, 0.975]), abs=0.006)


def test_what_is_kept_of_a_run_is_what_its_json_says() -> None:
    (cell,) = cells_of([Point("qba")], [1], REQUESTS, lambda _: waits)
    whole = Cell(cell.source, 1, cell.policy, cell.engine).run(cell.source.requests(1))
    assert cell.run(cell.source.requests(1)) == {path: whole[path] for path in FIGURES.values()}
