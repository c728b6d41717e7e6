"""A setting as it is run: for which engine it was chosen, and the baseline by its own rules."""

from __future__ import annotations

import shlex
import tomllib

import pytest

from headway.core.engine import PRESETS
from headway.measure.sla import Sla
from headway.serve.config import Config
from headway.studies.paste import baseline_command, caps_nothing, compare_command, serve_toml
from headway.studies.space import Setting

A100 = PRESETS["a100-llama3-8b"]
BASE = Setting("fcfs", "prompt-fit(safety=0.9)")
SLA = Sla.parse("ttft=1")


def options(command: str) -> dict[str, str]:
    words = shlex.split(command)
    return dict(zip(words[3::2], words[4::2], strict=True))


def test_the_baseline_has_a_line_of_its_own_where_the_setting_changes_more_than_the_order():
    setting = Setting("psf", "prompt-fit(safety=0.9)", "reject(safety=1.2)", 0.1)
    assert options(compare_command(["t.csv"], setting, BASE, SLA, "p.toml"))["--shed"] == "reject(safety=1.2)"
    alone = baseline_command(["t.csv"], setting, BASE, SLA, "p.toml")
    assert alone is not None
    assert options(alone) == {
        "--policy": "fcfs",
        "--memory": "prompt-fit(safety=0.9)",
        "--sla": "ttft=1",
        "--tenants": "p.toml",
    }
    assert baseline_command(["t.csv"], Setting("psf", BASE.memory), BASE, SLA, None) is None
    assert baseline_command(["t.csv"], BASE, BASE, SLA, None) is None


@pytest.mark.parametrize(
    ("order", "caps"),
    [("fcfs", True), ("combined(chunk=127)", True), ("combined(chunk=128)", False), ("combined", False)],
)
def test_a_configuration_says_for_which_engine_it_is_and_whether_its_cap_caps(order: str, caps: bool):
    setting = Setting(order, BASE.memory)
    text = serve_toml(setting, A100, None)
    comment = " ".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("#"))
    assert comment.startswith("Chosen for a100-llama3-8b (token_budget 2,048); another engine needs another tune")
    assert ("caps nothing" in comment) is not caps
    assert tomllib.loads(text) == {"policy": {"order": order, "memory": BASE.memory}}
    told = caps_nothing(setting)
    assert (told is None) is caps
    assert told is None or f"token_budget {Config().token_budget} unless" in told
