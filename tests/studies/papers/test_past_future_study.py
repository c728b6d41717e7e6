"""The street of Past-Future: cells to rows, parts to figures, what a trace tells, and what Ctrl-C leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import polars as pl
import pytest

from headway.core.engine import preset
from headway.core.errors import InvalidInput
from headway.policies.policy import Policy
from headway.simulate.run import simulate
from headway.studies.cells import Cell, Row, run_cells
from headway.studies.papers.past_future import study
from headway.studies.papers.past_future.grid import ENGINE, FULL, QUICK
from headway.studies.papers.past_future.plan import PARTS, cells
from headway.studies.papers.past_future.rows import LABELS, frame_of, labels
from headway.studies.papers.past_future.study import CLAIMS, DRAWN, OUTSIDE, reproduce
from headway.studies.source import Source
from headway.workload.trace import Trace
from tests.studies.papers.past_future_by_hand import drifting, runs_by_hand

SMALL = "d1(n=120)"


def small(memory: str, seed: int = 0, steady_after: int = 40) -> Cell:
    engine = preset(ENGINE)
    return Cell(Source(SMALL), seed, Policy.of("fcfs", memory), engine, steady_after=steady_after, watch_future=True)


def trace(requests: int) -> Trace:
    outputs = drifting(requests)
    columns = {"arrival": [0.1 * row for row in range(requests)], "prompt_tokens": [100] * requests}
    return Trace.from_frame("mine", pl.DataFrame({**columns, "output_tokens": outputs}))


def test_cells_are_distinct_and_what_two_parts_need_is_run_once() -> None:
    for size in (QUICK, FULL):
        planned = [labels(cell) for cell in cells(size, PARTS)]
        assert len(set(planned)) == len(planned)
        assert len(planned) < sum(len(cells(size, [part])) for part in PARTS)
        for part in PARTS:
            assert {labels(cell) for cell in cells(size, [part])} <= set(planned)


def test_the_controlled_comparison_is_watched_whoever_else_needs_its_cells() -> None:
    watched = {labels(cell) for cell in cells(QUICK, ["shift", "table", "ablations"]) if cell.watch_future}
    assert {(known[0], known[-1]) for known in watched} == {(workload, 0) for workload in QUICK.watched}
    assert watched == {labels(cell) for cell in cells(QUICK, ["table"]) if cell.watch_future}


def test_a_row_has_the_figures_of_its_run_whole_steady_and_before() -> None:
    planned = [small("past-future(reserve=0.02, seed_length=512, seed_count=500)"), small("oracle"), small("oracle", 1)]
    rows: dict[int, Row] = {}
    run_cells(planned, workers=1, each=rows.__setitem__)
    frame = frame_of(planned, rows)
    assert frame.select(LABELS).row(0) == labels(planned[0])
    record = simulate(
        Source(SMALL).requests(0), planned[0].policy, ENGINE, timeline=False, watch_future=True, steady_after=40
    )
    whole, late = record.memory, record.steady_memory
    assert whole is not None
    assert late is not None
    row = frame.row(0, named=True)
    assert row["used"] == pytest.approx((whole.used_mean or 0) * 100)
    assert row["required"] == pytest.approx((whole.future_required_mean or 0) * 100)
    assert row["events"] == pytest.approx(whole.eviction_events / 1.2)
    assert whole.eviction_events > 0
    assert row["evicted"] == pytest.approx(whole.evicted_requests / 1.2)
    assert row["recomputed"] == pytest.approx(whole.recomputed_tokens / 120)
    assert row["steady_events"] == pytest.approx(late.eviction_events / 0.8)
    assert row["start_events"] == pytest.approx((whole.eviction_events - late.eviction_events) / 0.4)
    share = late.decode_steps / whole.decode_steps
    assert row["start_used"] * (1 - share) + row["steady_used"] * share == pytest.approx(row["used"])


def test_a_run_that_never_becomes_steady_has_no_figures_of_it() -> None:
    planned = [small("oracle", steady_after=1000)]
    rows: dict[int, Row] = {}
    run_cells(planned, workers=1, each=rows.__setitem__)
    row = frame_of(planned, rows).row(0, named=True)
    assert row["used"] > 0
    assert [row[name] for name in ("steady_used", "steady_events", "start_used", "start_events")] == [None] * 4


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_drawn_and_listed(part: str) -> None:
    found = DRAWN[part](runs_by_hand())
    assert found.name == part
    assert found.plates
    for plate in found.plates:
        columns = [plate.x.column, plate.y.column, plate.series, plate.low, plate.high, plate.text]
        assert {column for column in columns if column} <= set(plate.data.columns)
        assert plate.data.height > 1
        assert plate.kind == "heat" or plate.data[plate.y.column].null_count() == 0
    assert all(sheet.data.height > 1 for sheet in found.sheets)


def test_figures_and_tables_have_names_of_their_own() -> None:
    parts = [DRAWN[part](runs_by_hand()) for part in PARTS]
    for names in ([plate.name for part in parts for plate in part.plates], [s.name for p in parts for s in p.sheets]):
        assert len(set(names)) == len(names)


def test_what_needs_no_runs_is_computed_and_the_rest_is_not_run() -> None:
    found = reproduce(("forecast", "stability"), quick=True, trace=trace(4000))
    assert [part.name for part in found.parts] == ["forecast", "stability"]
    verdicts = {finding.name: finding.verdict for finding in found.findings}
    judged = {claim.name for claim in CLAIMS if claim.needs <= {"forecast", "stability"}}
    assert {name for name, verdict in verdicts.items() if verdict != "not run"} == judged
    assert verdicts["windows-alike"] == "holds"
    assert verdicts["conditioning-sharpens"] == "holds in part"
    assert {finding.name for finding in OUTSIDE} <= verdicts.keys() - judged
    assert not found.partial


def test_without_a_trace_its_part_is_left_out_with_a_line_that_says_so() -> None:
    found = reproduce(("forecast", "stability"), quick=True)
    assert [part.name for part in found.parts] == ["forecast"]
    assert any("--trace" in note for note in found.notes)


def test_a_trace_of_less_than_two_windows_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"'mine' has 1999 requests.*2,000"):
        reproduce(("stability",), trace=trace(1999))


def stopped_after(
    done: Sequence[str],
    planned: Sequence[Cell],
    *,
    workers: int | None,
    progress: Callable[[float], None] | None,
    each: Callable[[int, Row], None],
) -> None:
    """Give the rows of the cells that some parts need, then be interrupted."""
    complete = {labels(cell) for cell in cells(QUICK, done)}
    row = run_cells([small("oracle")], workers=1).row(0, named=True)
    for place, cell in enumerate(planned):
        if labels(cell) in complete:
            each(place, row)
    raise KeyboardInterrupt


def test_after_ctrl_c_the_parts_that_are_complete_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "run_cells", partial(stopped_after, ["start-up"]))
    found = reproduce(("start-up", "shift"), quick=True)
    assert found.partial
    assert [part.name for part in found.parts] == ["start-up"]
    assert {finding.name for finding in found.findings if finding.verdict != "not run"} == {
        claim.name for claim in CLAIMS if claim.needs <= {"start-up"}
    }
    assert any("shift" in note for note in found.notes)
    assert found.settings["parts"] == ["start-up"]


def test_ctrl_c_before_any_part_is_complete_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "run_cells", partial(stopped_after, []))
    with pytest.raises(KeyboardInterrupt):
        reproduce(("start-up",), quick=True)
