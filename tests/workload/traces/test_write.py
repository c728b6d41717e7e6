from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.core.errors import InvalidInput
from headway.workload.labels import label
from headway.workload.named import workload
from headway.workload.trace import Trace
from headway.workload.traces import read_trace, write_trace

SUFFIXES = pytest.mark.parametrize("suffix", [".csv", ".parquet"])

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
LABELS = st.sampled_from(["short", "long"])
SECONDS = st.floats(1e-9, 1e9)
OPTIONAL = {
    "tenant": WORDS,
    "class": WORDS,
    "predicted": LABELS,
    "true_class": LABELS,
    "ttft_slo": SECONDS,
    "itl_slo": SECONDS,
    "completion_slo": SECONDS,
    "priority": st.integers(-5, 5),
    "weight": SECONDS,
    "blocks": st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4),
    "block_tokens": st.integers(1, 10**9),
}


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(st.integers(1, 6))

    def column(cells: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(cells, min_size=rows, max_size=rows))

    columns = {
        "arrival": column(st.floats(0, 1e9)),
        "prompt_tokens": column(st.integers(1, 10**9)),
        "output_tokens": column(st.integers(0, 10**9)),
    }
    for name, cells in OPTIONAL.items():
        if draw(st.booleans()):
            columns[name] = column(st.none() | cells)
    return pl.DataFrame(columns)


@SUFFIXES
@given(table=tables())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_written_is_read_again(tmp_path: Path, suffix: str, table: pl.DataFrame):
    trace = Trace.from_frame("random", table)
    path = tmp_path / f"trace{suffix}"
    write_trace(trace, path)
    again = read_trace(path)
    assert again.frame.equals(trace.frame)
    assert again.frame.schema == trace.frame.schema
    assert again.notes == ()


@SUFFIXES
@pytest.mark.parametrize("predicted", [[10, 0], [10.5, 3.0], [7.0, 8.0], ["short", None]])
def test_predictions_are_read_again(tmp_path: Path, suffix: str, predicted: list[object]):
    base = {"arrival": [0.0, 1.0], "prompt_tokens": [1, 2], "output_tokens": [3, 4], "id": ["b", "a"]}
    trace = Trace.from_frame("mine", pl.DataFrame(base | {"predicted": predicted}))
    write_trace(trace, tmp_path / f"trace{suffix}")
    assert read_trace(tmp_path / f"trace{suffix}").frame.equals(trace.frame)


@SUFFIXES
def test_a_whole_workload_is_read_again_bit_by_bit(tmp_path: Path, suffix: str):
    trace = label(workload("qba-paper", 1))
    write_trace(trace, str(tmp_path / f"trace{suffix}"))
    assert read_trace(tmp_path / f"trace{suffix}").frame.equals(trace.frame)


TRACE = workload("uniform", 1, requests=3)


def test_another_suffix_is_refused(tmp_path: Path):
    with pytest.raises(InvalidInput, match=r"its name must end in \.csv or \.parquet"):
        write_trace(TRACE, tmp_path / "trace.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_cannot_be_written(tmp_path: Path):
    (tmp_path / "file").touch()
    (tmp_path / "directory.csv").mkdir()
    for path in ("nowhere/trace.csv", "file/trace.csv", "directory.csv", f"{'x' * 300}.csv"):
        with pytest.raises(InvalidInput) as caught:
            write_trace(TRACE, tmp_path / path)
        assert str(caught.value).startswith(f"cannot write {tmp_path / path}: ")
        assert len(str(caught.value).splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["directory.csv", "file"]


@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_unfinished_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: BaseException):
    def interrupted(self: Path, content: bytes) -> None:
        with self.open("wb") as file:
            file.write(bytes(content)[:5])
        raise stop

    path = tmp_path / "trace.csv"
    path.write_text("old")
    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises((InvalidInput, KeyboardInterrupt)):
        write_trace(TRACE, path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("trace.csv", "old")]


def test_an_old_file_is_replaced_and_never_half_overwritten(tmp_path: Path):
    path, same_file = tmp_path / "trace.csv", tmp_path / "link"
    path.write_text("old")
    same_file.hardlink_to(path)
    write_trace(TRACE, path)
    assert same_file.read_text() == "old"
    assert read_trace(path).frame.equals(TRACE.frame)
