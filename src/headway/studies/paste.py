"""A setting as it is run: a command line for `headway compare`, and TOML for `headway serve`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from headway.measure.sla import Sla
from headway.studies.space import Setting


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


def serve_toml(setting: Setting, promises: str | None) -> str:
    """Return the lines of a configuration of `headway serve` that say the same.

    Args:
        setting: what to run.
        promises: the tenants file that has the requests' promises; None for none.
    """
    lines: list[str] = []
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
