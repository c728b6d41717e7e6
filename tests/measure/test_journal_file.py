"""Journal files: what is written is read, and what is damaged is told."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.errors import InvalidInput
from headway.measure.journal import RunJournal
from headway.measure.journal_file import FILE_SCHEMA, journal_file, journal_frame, read_journals
from headway.measure.why import why
from headway.policies.policy import Policy
from headway.policies.shares import Shares
from headway.simulate.run import simulate
from headway.workload import workload


def run(policy: str | Policy, seed: int = 0) -> RunJournal:
    record = simulate(workload("qba-paper(n=40)", seed), policy, "qba-paper", seed=seed, journal=True)
    assert record.journal is not None
    return record.journal


@pytest.fixture(scope="module")
def runs() -> list[RunJournal]:
    pools = Policy.of("qba", shares=Shares.of(pools=0.5, reserve="share=0.1,after=1"))
    return [run("fcfs"), run(pools), run("fcfs", 1)]


@pytest.fixture(scope="module")
def content(runs: list[RunJournal]) -> bytes:
    return journal_file(map(journal_frame, runs))


def test_what_is_written_is_read(runs: list[RunJournal], content: bytes, tmp_path: Path):
    (tmp_path / "j.parquet").write_bytes(content)
    read = read_journals(tmp_path / "j.parquet")
    assert [(one.policy, one.seed, one.rules) for one in read] == [(one.policy, one.seed, one.rules) for one in runs]
    for one, other in zip(runs, read, strict=True):
        assert one.requests.equals(other.requests)
        assert all(one.notes[kind].equals(other.notes[kind]) for kind in one.notes)
        assert [why(one, str(row)) for row in range(40)] == [why(other, str(row)) for row in range(40)]


def test_rules_name_reservation_and_pools(runs: list[RunJournal]):
    rules = runs[1].rules
    assert rules.order == "qba, reserve share=0.1,after=1,window=200"
    assert rules.prompt_limit == "64 of 128 positions (pools)"
    assert runs[0].rules.prompt_limit == "token_budget = 128"


def test_no_file_and_no_journal(tmp_path: Path):
    with pytest.raises(InvalidInput, match=r"cannot read .*nope"):
        read_journals(tmp_path / "nope")
    with pytest.raises(InvalidInput, match="cannot read"):
        read_journals(tmp_path)
    other = tmp_path / "other"
    other.write_text('{"policies": []}')
    with pytest.raises(InvalidInput, match=r"was written without a journal; make one with .* --journal FILE"):
        read_journals(other)
    other.write_text("arrival,prompt_tokens\n")
    with pytest.raises(InvalidInput, match="is no journal"):
        read_journals(other)
    pl.DataFrame({"a": [1]}).write_parquet(other)
    with pytest.raises(InvalidInput, match="is a table without a journal"):
        read_journals(other)


@settings(max_examples=60)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_file_that_was_cut_is_refused(share: float, content: bytes, tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.getbasetemp() / "cut.parquet"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InvalidInput):
        read_journals(path)


@pytest.mark.parametrize(
    "change",
    [
        pl.when(pl.col("kind") == "barrier").then(99_999).otherwise("request").alias("request"),
        pl.when(pl.col("kind") == "barrier").then(pl.lit("nonsense")).otherwise("what").alias("what"),
        pl.when(pl.col("kind") == "barrier").then(-pl.col("time")).otherwise("time").alias("time"),
        pl.when(pl.col("kind") == "request").then(None).otherwise("tenant").alias("tenant"),
        pl.when(pl.col("kind") == "request").then(None).otherwise("finish").alias("finish"),
        pl.when(pl.col("kind") == "run").then(pl.lit("{}")).otherwise("what").alias("what"),
        pl.when(pl.col("kind") == "run").then(pl.lit("{")).otherwise("what").alias("what"),
    ],
)
def test_values_that_cannot_be_are_refused(content: bytes, change: pl.Expr, tmp_path: Path):
    frame = pl.read_parquet(io.BytesIO(content)).with_columns(change).select(*FILE_SCHEMA)
    frame = frame.cast(pl.Schema(FILE_SCHEMA))
    frame.write_parquet(tmp_path / "j.parquet")
    with pytest.raises(InvalidInput, match="the journal is damaged"):
        read_journals(tmp_path / "j.parquet")


def test_a_table_without_rows_is_damaged(content: bytes, tmp_path: Path):
    pl.read_parquet(io.BytesIO(content)).clear().write_parquet(tmp_path / "j.parquet")
    with pytest.raises(InvalidInput, match="the journal is damaged"):
        read_journals(tmp_path / "j.parquet")
