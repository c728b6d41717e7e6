"""Many runs: what is taken in, how far it came, and which seeds are worth a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from headway.core.errors import InvalidInput
from headway.measure.record import RunRecord
from headway.studies.runs import Made, Run, run_all, useful_seeds
from tests.measure.fake_runs import outcome, record


def run_of(seed: int, *, partial: bool = False) -> Run:
    def run(*, progress: Callable[[int], None] | None) -> RunRecord:
        if progress is not None:
            progress(5)
        return record([outcome(0)], seed=seed, partial=partial)

    return run


def interrupted(*, progress: Callable[[int], None] | None) -> RunRecord:
    raise KeyboardInterrupt


def made(*runs: Run) -> tuple[Made, list[int], list[float]]:
    seeds: list[int] = []
    shares: list[float] = []
    how = run_all(runs, lambda one: seeds.append(one.seed), total=4, requests=10, progress=shares.append)
    return how, seeds, shares


def test_all_of_them() -> None:
    assert made(run_of(0), run_of(1), run_of(2)) == (Made(3, interrupted=False), [0, 1, 2], [0.125, 0.375, 0.625])


def test_a_run_that_was_ended_early_is_taken_and_is_the_last() -> None:
    assert made(run_of(0), run_of(1, partial=True), run_of(2)) == (Made(1, interrupted=True), [0, 1], [0.125, 0.375])


def test_interrupted_in_between() -> None:
    assert made(run_of(0), interrupted, run_of(2))[:2] == (Made(1, interrupted=True), [0])


def test_interrupted_while_the_next_one_is_prepared() -> None:
    def prepared() -> Iterator[Run]:
        yield run_of(0)
        raise KeyboardInterrupt

    assert run_all(prepared(), lambda _: None, total=2, requests=10) == Made(1, interrupted=True)


def test_interrupted_before_anything() -> None:
    with pytest.raises(KeyboardInterrupt):
        made(interrupted)


def test_seeds_are_run_where_something_is_drawn() -> None:
    assert useful_seeds(range(3, 6), drawn=True) == ([3, 4, 5], [])
    seeds, notes = useful_seeds(range(3, 6), drawn=False)
    assert seeds == [3]
    assert notes == ["Nothing is drawn here, so every seed gives the same: it was run once."]


def test_one_seed_needs_no_note() -> None:
    assert useful_seeds([7], drawn=False) == ([7], [])
    with pytest.raises(InvalidInput, match="at least one seed"):
        useful_seeds([], drawn=False)
