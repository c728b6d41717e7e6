"""The folder of a sweep: whatever ends it at any moment, no row is lost, and none is half there."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from headway.core.errors import InvalidInput
from headway.studies import result_store
from headway.studies.cells import Row
from headway.studies.grid import Plan, Planned, plan_of
from headway.studies.result_store import HEAD, PARTS, RESULTS, finished_keys, open_store

SIZE = 7


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of({"workload": "qba-paper(n=5)", "policy": "fcfs", "seeds": SIZE})


def row(number: int) -> Row:
    """Figures that tell whose they are; every third cell has one more, and one lacks what it has no value for."""
    base: Row = {"wait.mean": number / 3, "requests": 5.0, "tenants": None}
    return base | ({"classes.long.wait.p99": number * 1.1} if number % 3 == 0 else {})


def fill(folder: Path, cells: tuple[Planned, ...], plan: Plan) -> None:
    """Do what a sweep does: compute what is missing, then fold."""
    with open_store(folder) as store:
        for number, planned in enumerate(plan.cells):
            if planned in cells and planned.key not in store.known:
                store.add(planned, row(number))
        store.fold(plan.cells)


def table(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / RESULTS)


def test_rows_come_back_bit_by_bit_in_the_order_of_the_plan(plan: Plan, tmp_path: Path):
    with open_store(tmp_path) as store:
        for number in reversed(range(SIZE)):
            store.add(plan.cells[number], row(number))
        frame = store.fold(plan.cells)
    assert frame["key"].to_list() == [planned.key for planned in plan.cells]
    assert frame["seed"].to_list() == list(range(SIZE))
    assert frame["wait.mean"].to_list() == [number / 3 for number in range(SIZE)]
    assert frame["classes.long.wait.p99"].to_list() == [n * 1.1 if n % 3 == 0 else None for n in range(SIZE)]
    assert frame["tenants"].dtype == pl.String  # the setting, not the figure that there is none of
    assert table(tmp_path).drop("current").equals(frame)
    assert list((tmp_path / PARTS).iterdir()) == []


def test_rows_of_other_sweeps_stay_and_are_marked(plan: Plan, tmp_path: Path):
    fill(tmp_path, plan.cells, plan)
    smaller = Plan("smaller", plan.cells[2:4])
    with open_store(tmp_path) as store:
        frame = store.fold(smaller.cells)
    assert frame.height == 2
    assert table(tmp_path)["current"].to_list() == [True] * 2 + [False] * (SIZE - 2)
    assert set(table(tmp_path)["key"]) == {planned.key for planned in plan.cells}


def test_settings_are_called_as_they_are_called_now(plan: Plan, tmp_path: Path):
    fill(tmp_path, plan.cells, plan)
    renamed = [Planned(one.key, {**one.settings, "workload": "renamed"}, one.cell) for one in plan.cells]
    with open_store(tmp_path) as store:
        assert set(store.fold(renamed)["workload"]) == {"renamed"}
    assert set(table(tmp_path)["workload"]) == {"renamed"}


def test_parts_are_folded_now_and_then(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(result_store, "FOLD", 3)
    with open_store(tmp_path) as store:
        for number, planned in enumerate(plan.cells):
            store.add(planned, row(number))
        assert table(tmp_path).height == 6
        assert len(list((tmp_path / PARTS).iterdir())) == 1
        assert finished_keys(tmp_path) == {planned.key for planned in plan.cells}


class Ended(BaseException):
    """An end that nothing in the program can catch, as SIGKILL is."""


def ends_at(moment: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Let the world end before the file operation of that number, and half through a write."""
    count = 0

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def run(path: Path, *arguments: object, **named: object) -> object:
            nonlocal count
            count += 1
            if count == moment:
                if real is write and isinstance(arguments[0], bytes):
                    write(path, arguments[0][: len(arguments[0]) // 2])
                raise Ended
            if count > moment:
                raise Ended  # what is dead does not clean up
            return real(path, *arguments, **named)

        return run

    write = Path.write_bytes
    for name in ("write_bytes", "replace", "unlink"):
        monkeypatch.setattr(Path, name, counted(getattr(Path, name)))
    yield count
    yield count


@pytest.mark.parametrize("every", [2, 100])
def test_an_end_at_any_moment_loses_nothing_and_repeats_nothing(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
):
    """Exhaustive: before every write, rename and removal that a sweep makes, and half through every write."""
    monkeypatch.setattr(result_store, "FOLD", every)
    undisturbed = tmp_path / "undisturbed"
    fill(undisturbed, plan.cells, plan)
    expected = table(undisturbed)
    for moment in range(1, 200):
        folder = tmp_path / f"{moment}"
        (folder / PARTS).mkdir(parents=True)
        told: list[str] = []
        with monkeypatch.context() as patch:
            next(ends_at(moment, patch))
            try:
                with open_store(folder) as store:
                    for number, planned in enumerate(plan.cells):
                        store.add(planned, row(number))
                        told.append(planned.key)
                    store.fold(plan.cells)
                ended = False
            except Ended:
                ended = True
        kept = finished_keys(folder)
        assert kept >= set(told), moment  # nothing that was finished is lost
        with open_store(folder) as store:
            assert store.known == kept, moment
            assert not store.warnings, moment
            for number, planned in enumerate(plan.cells):
                if planned.key not in store.known:
                    store.add(planned, row(number))
            store.fold(plan.cells)
        assert table(folder).equals(expected), moment
        assert sorted(path.name for path in folder.iterdir() if path.name != ".lock") == [PARTS, RESULTS]
        assert list((folder / PARTS).iterdir()) == []
        if not ended:
            assert moment > 20
            return
    raise AssertionError("it never came to its end")


@pytest.mark.parametrize("damage", [b"", b"PAR1 nothing", None])
def test_a_damaged_part_is_set_aside_and_run_again(plan: Plan, tmp_path: Path, damage: bytes | None):
    with open_store(tmp_path) as store:
        for number in range(3):
            store.add(plan.cells[number], row(number))
    part = min((tmp_path / PARTS).iterdir())
    content = part.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    part.write_bytes(flipped if damage is None else damage)
    with open_store(tmp_path) as store:
        assert len(store.known) == 2
        (warning,) = store.warnings
        assert "is damaged" in warning
        assert "\n" not in warning
    assert part.with_name(part.name + ".damaged").exists()


def test_damaged_results_are_set_aside(plan: Plan, tmp_path: Path):
    fill(tmp_path, plan.cells, plan)
    content = (tmp_path / RESULTS).read_bytes()
    (tmp_path / RESULTS).write_bytes(content[: len(content) // 2])
    assert finished_keys(tmp_path) == set()
    with open_store(tmp_path) as store:
        assert not store.known
        assert len(store.warnings) == 1
    fill(tmp_path, plan.cells, plan)
    assert table(tmp_path).height == SIZE


@pytest.mark.parametrize(
    "other",
    [pl.DataFrame({"a": [1]}), pl.DataFrame({"key": [1]}), pl.DataFrame({"key": ["a"], "wait.mean": ["long"]})],
)
def test_results_of_something_else_are_not_written_over(plan: Plan, tmp_path: Path, other: pl.DataFrame):
    other.write_parquet(tmp_path / RESULTS)
    with pytest.raises(InvalidInput, match="not the results of a sweep"), open_store(tmp_path):
        pass
    assert table(tmp_path).equals(other)


def test_results_with_a_setting_less_are_those_of_an_older_version(plan: Plan, tmp_path: Path):
    fill(tmp_path, plan.cells, plan)
    table(tmp_path).drop("watch_future").write_parquet(tmp_path / RESULTS)
    with open_store(tmp_path) as store:
        assert len(store.known) == SIZE
        assert list(store.fold(plan.cells).columns)[: len(HEAD) - 1] == [name for name in HEAD if name != "current"]


def test_one_process_at_a_time(tmp_path: Path):
    with open_store(tmp_path), pytest.raises(InvalidInput, match="another sweep writes there"), open_store(tmp_path):
        pass


def test_a_full_disk_is_one_line_and_loses_nothing(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with open_store(tmp_path) as store:
        store.add(plan.cells[0], row(0))
        with monkeypatch.context() as patch:
            patch.setattr(result_store, "write_whole", full)
            with pytest.raises(InvalidInput, match=r"cannot write .*\.parquet: No space left on device"):
                store.add(plan.cells[1], row(1))
            with pytest.raises(InvalidInput, match="No space left"):
                store.fold(plan.cells)
    with open_store(tmp_path) as store:
        assert store.known == {plan.cells[0].key}
        assert store.fold(plan.cells).height == 1


def test_looking_changes_nothing(plan: Plan, tmp_path: Path):
    assert finished_keys(tmp_path / "nosuch") == set()
    assert not (tmp_path / "nosuch").exists()
