"""The examples run as their comments say."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from headway.core.cost import Linear
from headway.core.engine import EngineProfile, engine_from_toml
from tests.cli.conftest import Headway

EXAMPLES = Path(__file__).parents[2] / "examples"
ENGINE = EXAMPLES / "engine.toml"


def test_own_order_runs_as_a_script(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "own_order.py"],
        cwd=tmp_path,
        env=os.environ | {"POLARS_FMT_MAX_COLS": "10"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "FewestTokens" in done.stdout
    assert (
        len(re.findall(r"^\S+ against \S+: [+-]\d+\.\d\d s in mean wait, 95 % interval", done.stdout, re.MULTILINE))
        == 3
    )


def test_own_order_puts_small_prompts_first_and_ages(headway: Headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(EXAMPLES)
    asked = ["--limit", 300, "--rate", 40, "--policy", "own_order:FewestTokens(aging=0)"]
    asked += ["--policy", "own_order:FewestTokens(aging=1e9)", "--policy", "fcfs"]
    data = headway("compare", "qba-paper", *asked, "--json", "-").json
    smallest, patient, fcfs = (entry["wait"] for entry in data["policies"])
    assert smallest["mean"] < fcfs["mean"]
    assert patient == fcfs


def test_the_engine_file_is_an_engine():
    engine = engine_from_toml(ENGINE.read_text(), "unnamed")
    assert engine.name == "my-engine"
    assert isinstance(engine.cost, Linear)
    assert engine.cost.context == 6.4e-8


def test_the_engine_file_shows_every_key_and_its_default():
    text = ENGINE.read_text()
    every = tomllib.loads(re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE))
    del every["cost"]
    assert set(every) == {field.name for field in dataclasses.fields(EngineProfile)} - {"cost"}
    defaults = {field.name: field.default for field in dataclasses.fields(EngineProfile)}
    for key in re.findall(r"^# (\w+) = ", text, re.MULTILINE):
        if defaults[key] is not None:
            assert every[key] == defaults[key], key


def test_the_engine_file_runs(headway: Headway):
    data = headway("simulate", "qba-paper", "--limit", 50, "--engine", ENGINE, "--json", "-").json
    assert data["settings"]["engine"] == "my-engine"
    assert data["policies"][0]["finished"] == 50
