"""Where requests come from: what a seed changes, and what it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

import headway
from headway.studies.source import Source
from headway.workload import SeededTrace


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    (tmp_path / "chunk-0-trace.csv").write_text("0,0.2,1,Exponential,1,1\n")
    (tmp_path / "chunk-0-dataset.json").write_text(
        '{"0": {"input_tokens": "{9: 0.5, 90: 0.5}", "output_tokens": "{4: 1}"}}'
    )
    return tmp_path


def test_a_seeded_trace_is_drawn_anew_for_every_seed(clients: Path):
    source = Source(SeededTrace(clients), limit=50, length_factor=2)
    assert source.seeded
    first, second = source.requests(1), source.requests(2)
    assert len(first) == 50
    assert set(first.frame["prompt_tokens"]) == {18, 180}
    assert first.frame.equals(source.requests(1).frame)
    assert not first.frame["arrival"].equals(second.frame["arrival"])


def test_a_comparison_draws_it_for_every_seed_and_all_policies_get_the_same(clients: Path):
    rows: dict[tuple[str, int], list[float]] = {}

    def keep(record: headway.RunRecord) -> None:
        rows[record.policy, record.seed] = record.outcomes["arrival"].to_list()

    comparison = headway.compare(SeededTrace(clients), ["fcfs", "qba"], seeds=[0, 4], each=keep)
    assert comparison.settings["seeds"] == [0, 4]
    assert comparison.settings["workload"] == clients.name
    assert rows["fcfs", 0] == rows["qba", 0] == headway.read_trace(clients).frame["arrival"].to_list()
    assert rows["fcfs", 4] == rows["qba", 4] == headway.read_trace(clients, seed=4).frame["arrival"].to_list()
    assert rows["fcfs", 0] != rows["fcfs", 4]


def test_a_plain_trace_is_the_same_under_every_seed():
    trace = headway.workload("qba-paper(n=20)")
    assert not Source(trace).seeded
    assert Source(trace).requests(1).frame.equals(Source(trace).requests(2).frame)


def test_a_trace_is_run_for_every_seed_only_where_something_is_drawn():
    trace = headway.workload("uniform(n=40, rate=1e9, prompt_low=2000, prompt_high=4000, output_low=500)")

    def seeds(memory: str) -> list[int]:
        comparison = headway.compare(trace, "fcfs", "a100-llama2-7b", memory=memory, seeds=range(3))
        once = [note for note in comparison.notes if "every seed gives the same" in note]
        assert len(once) == (len(comparison.settings["seeds"]) == 1)
        return comparison.settings["seeds"]

    assert seeds("past-future") == [0, 1, 2]
    assert seeds("ema") == [0]
