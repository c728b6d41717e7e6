"""The four tenants files run, and show what their comments say."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import polars as pl
import pytest

import headway as api
from headway.core.engine import preset
from tests.cli.conftest import Headway

EXAMPLES = Path(__file__).parents[2] / "examples"
NO_TENANTS = ("engine", "serve", "small-steps", "four-slots", "sweep")
ELSEWHERE = ("overload", "long-prompt-beside-a-stream", "urgent-behind-long", *NO_TENANTS)
FILES = sorted(path.name for path in EXAMPLES.glob("*.toml") if path.stem not in ELSEWHERE)
A100, H100 = preset("a100-llama3-8b"), preset("h100-llama3-8b")


def outcomes(name: str, engine: api.EngineProfile = A100, policy: str = "fcfs") -> pl.DataFrame:
    """A row a request, with the time to the first token."""
    trace = api.read_tenants(EXAMPLES / f"{name}.toml").draw()
    frame = api.simulate(trace, policy, engine, timeline=False).outcomes
    return frame.with_columns((pl.col("first_token") - pl.col("arrival")).alias("ttft"))


def of(frame: pl.DataFrame, tenant: str) -> pl.DataFrame:
    return frame.filter(pl.col("tenant") == tenant)


def kept(frame: pl.DataFrame) -> float:
    """Share of first tokens that came as promised."""
    return (frame["ttft"] <= frame["ttft_slo"]).mean()  # type: ignore[return-value]


def test_there_are_four():
    assert FILES == [
        "burst-of-long-prompts.toml",
        "interactive-and-batch.toml",
        "noisy-neighbour.toml",
        "returning-idle-tenant.toml",
    ]


@pytest.mark.parametrize("name", FILES)
def test_the_command_of_the_comment_runs(headway: Headway, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(EXAMPLES.parent)
    (command,) = (
        line.removeprefix("#").split() for line in (EXAMPLES / name).read_text().splitlines() if "  headway " in line
    )
    assert command[:4] == ["headway", "compare", "--tenants", f"examples/{name}"]
    data = headway(*command[1:], "--json", "-").json
    tenants = api.read_tenants(EXAMPLES / name).weights
    assert len(tenants) >= 2
    for entry in data["policies"]:
        assert entry["finished"] == entry["requests"] == data["settings"]["requests"] > 100
    assert {share["tenant"] for share in headway("trace", EXAMPLES / name, "--json", "-").json["tenants"]} == set(
        tenants
    )


def test_a_noisy_neighbour_makes_the_quiet_tenant_wait():
    frame = outcomes("noisy-neighbour")
    quiet, noisy = of(frame, "quiet"), of(frame, "noisy")
    assert 40 < len(noisy) / len(quiet) < 70
    assert quiet["ttft"].mean() > 20
    assert quiet["ttft"].max() > 60
    assert kept(quiet) < 0.3
    alone = api.read_tenants(EXAMPLES / "noisy-neighbour.toml").draw()
    alone = api.Trace.from_frame("quiet", alone.frame.filter(pl.col("tenant") == "quiet"))
    assert (api.request_frame(api.simulate(alone, "fcfs", A100))["wait"]).max() < 0.1


def test_interactive_and_batch_break_the_promise_to_chat_alone():
    frame = outcomes("interactive-and-batch", H100)
    assert [len(of(frame, name)) / len(frame) for name in ("chat", "reports", "index")] == pytest.approx(
        [1 / 3] * 3, abs=0.03
    )
    assert 0.05 < kept(of(frame, "chat")) < 0.2
    patient = frame.filter(pl.col("completion_slo").is_not_null())
    assert (patient["finish"] - patient["arrival"]).max() < 600
    assert of(frame, "chat")["largest_gap"].median() == pytest.approx(0.081, abs=0.002)
    half = outcomes("interactive-and-batch", dataclasses.replace(H100, token_budget=1024))
    assert of(half, "chat")["largest_gap"].max() < 0.05
    assert half["finish"].max() == pytest.approx(1.025 * frame["finish"].max(), rel=0.01)


def test_a_burst_of_long_prompts_stalls_the_stream():
    frame = of(outcomes("burst-of-long-prompts"), "stream")
    before = frame.filter(pl.col("arrival") < 8)
    each = (before["finish"] - before["first_token"]) / (before["output_tokens"] - 1)
    assert each.mean() == pytest.approx(0.012, abs=0.001)
    beside = pl.col("arrival").is_between(59, 70)
    assert frame.filter(beside)["largest_gap"].max() == pytest.approx(0.28, abs=0.01)
    assert frame.filter(pl.col("arrival") < 50)["ttft"].max() > 20
    for cap, gap, book in ((512, 0.120, 11.5), (128, 0.045, 14.9)):
        capped = outcomes("burst-of-long-prompts", dataclasses.replace(A100, chunk_cap=cap))
        assert of(capped, "stream").filter(beside)["largest_gap"].max() == pytest.approx(gap, abs=0.003)
        assert of(capped, "book")["ttft"].item() == pytest.approx(book, abs=0.1)


def test_the_long_prompt_is_65536_tokens():
    book = api.read_tenants(EXAMPLES / "burst-of-long-prompts.toml").draw().frame.filter(pl.col("tenant") == "book")
    assert book["prompt_tokens"].to_list() == [65_536]


def test_the_idle_tenant_returns_after_an_hour_and_both_are_backlogged():
    frame = outcomes("returning-idle-tenant")
    returning = of(frame, "returning")["arrival"]
    assert not returning.is_between(120, 3720).any()
    assert (returning < 120).sum() > 300
    late = frame.filter(pl.col("arrival") > 3800)
    for tenant in ("steady", "returning"):
        waits = of(late, tenant)
        assert (waits["start"] - waits["arrival"]).min() > 60
