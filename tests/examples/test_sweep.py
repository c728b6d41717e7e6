"""The sweep of the examples runs as its comment says."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Headway

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_command_of_the_comment_runs(headway: Headway, folder: Path, monkeypatch: pytest.MonkeyPatch):
    (command,) = (text for text in (EXAMPLES / "sweep.toml").read_text().split("`") if text.startswith("headway "))
    (folder / "examples").symlink_to(EXAMPLES)
    result = headway(*command.split()[1:], "--workers", 1, "--json", "-")
    groups = result.json["groups"]
    assert len(groups) == 8
    frame = pl.read_parquet("sweep/results.parquet")
    assert frame.height == 40
    waits = frame.group_by("rate", "policy", maintain_order=True).agg(pl.mean("wait.mean"))
    for rate in (28, 32):  # what the sweep is there to show: predicted short first waits least, and k lies between
        psf, eight, three, fcfs = (
            waits.filter(rate=rate, policy=policy)["wait.mean"].item()
            for policy in ("psf", "qba(k=8)", "qba(k=3)", "fcfs")
        )
        assert psf < eight < three < fcfs
