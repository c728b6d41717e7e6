"""A setting as it is run: a command line for `headway compare`, and TOML for `headway serve`."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from headway.core.engine import LOCAL_TOKEN_BUDGET, EngineProfile
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.studies.space import Setting

_WIDTH = 100
"""Columns of a comment."""


def compare_command(
    words: Sequence[str], setting: Setting, baseline: Setting, sla: Sla | None, promises: str | None
) -> str:
    """Return a command line that runs a setting beside the order of the baseline.

    Args:
        words: the source and its options, as they were typed.
        setting: what to run.
        baseline: what it was compared with.
        sla: the agreement.
        promises: the tenants file that has the requests' promises; None for none.
    """
    parts = ["headway", "compare", *words]
    for order in dict.fromkeys((baseline.order, setting.order)):
        parts += ["--policy", order]
    parts += ["--memory", setting.memory]
    if setting.shed != "keep":
        parts += ["--shed", setting.shed]
    if setting.prefill_share:
        parts += ["--prefill-share", f"{setting.prefill_share:g}"]
    if setting.reserve:
        parts += ["--reserve", setting.reserve]
    if sla is not None:
        parts += ["--sla", str(sla)]
    if promises is not None:
        parts += ["--tenants", promises]
    return shlex.join(parts)


def baseline_command(
    words: Sequence[str], setting: Setting, baseline: Setting, sla: Sla | None, promises: str | None
) -> str | None:
    """Return a command line that runs the baseline by its own rules; None where `compare_command` does that too.

    There, rules and shares that are not part of an order hold for every order. Arguments are the same.
    """
    if replace(setting, order=baseline.order) == baseline:
        return None
    return compare_command(words, baseline, baseline, sla, promises)


def for_engine(engine: EngineProfile) -> str:
    """Say which engine a setting was chosen for: a server has another one unless it is told so."""
    return (
        f"Chosen for {engine.name} (token_budget {engine.token_budget:,}); another engine needs another tune, with its "
        "--engine."
    )


def caps_nothing(setting: Setting) -> str | None:
    """Say that a setting's cap on chunks caps nothing on the engine that `headway serve` has by default; None if not.

    Args:
        setting: what to run.
    """
    cap = Policy.of(setting.order).order().chunk_cap
    if cap is None or cap < LOCAL_TOKEN_BUDGET:
        return None
    return (
        f"headway serve has token_budget {LOCAL_TOKEN_BUDGET} unless its [engine] says otherwise: there a chunk of "
        f"{cap} caps nothing."
    )


def serve_toml(setting: Setting, engine: EngineProfile, promises: str | None) -> str:
    """Return the lines of a configuration of `headway serve` that say the same.

    Args:
        setting: what to run.
        engine: what it was chosen for.
        promises: the tenants file that has the requests' promises; None for none.
    """
    told = " ".join(text for text in (for_engine(engine), caps_nothing(setting)) if text)
    lines = [*textwrap.wrap(told, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False), ""]
    if promises is not None:
        lines += [
            f"tenants = {json.dumps(promises)}",
            "auth = false  # on this machine only; with keys, see headway key",
            "",
        ]
    lines += ["[policy]", f"order = {json.dumps(setting.order)}", f"memory = {json.dumps(setting.memory)}"]
    if setting.shed != "keep":
        lines.append(f"shed = {json.dumps(setting.shed)}")
    if setting.prefill_share:
        lines.append(f"prefill_share = {setting.prefill_share:g}")
    if setting.reserve:
        lines.append(f"reserve = {json.dumps(setting.reserve)}")
    return "\n".join(lines) + "\n"


def promises_toml(promised: dict[str, float]) -> str:
    """Return the lines of a tenants file that promise the same to everybody, seconds by column."""
    return "[default]\n" + "".join(f"{column} = {value:g}\n" for column, value in promised.items())
