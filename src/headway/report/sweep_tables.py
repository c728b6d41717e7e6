"""A sweep as a table: for each workload and engine, what every policy does to the waits and to the agreement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headway.measure.swept import POLICY, Group, Mean, Overview
from headway.report.columns import NO_VALUE, Column, Table, durations, plain

MOST_ROWS = 60
"""A longer table is no overview."""

_SAME = (("of", "workload"), ("on", "engine"))


def sweep_table(overview: Overview) -> Table | None:
    """Return waits, agreement and seeds of every group; of many, the first ones. None where no cell is finished."""
    shown = overview.groups[:MOST_ROWS]
    if not shown:
        return None
    varied = _varied(overview.groups)
    blocks = tuple(_block(group, varied) for group in shown) if varied - set(POLICY) else ()
    columns = durations("Wait", [(name.title(), [one.wait for one in shown], name) for name in ("mean", "p99")], blocks)
    if any(group.attainment.value is not None for group in shown):
        columns.append(_means("Agreement", "Met", "%", shown, lambda group: group.attainment, 100.0, 1))
        columns.append(_means("Goodput", "All tokens", "tokens/s", shown, lambda group: group.goodput, 1.0, 0))
    columns.append(plain("Runs", "Seeds", "", [len(group.seeds) for group in shown]))
    names = tuple(_policy(group, varied) for group in shown)
    same = [f"{word} {shown[0].settings[name]}" for word, name in _SAME if name not in varied]
    return Table(" ".join(["Sweep", *same]), names, tuple(columns), blocks=blocks, block_head="on")


def left_out(overview: Overview) -> int:
    """Return how many groups the table does not show."""
    return max(0, len(overview.groups) - MOST_ROWS)


def _varied(groups: Sequence[Group]) -> set[str]:
    """Return the settings that are not the same in all groups."""
    return {name for name in groups[0].settings if len({group.settings[name] for group in groups}) > 1}


def _block(group: Group, varied: set[str]) -> str:
    """Return what a policy is compared on, as far as it varies."""
    plain_names = {"workload": "", "engine": ""}
    others = [name for name in group.settings if name in varied - set(POLICY)]
    return ", ".join(f"{plain_names.get(name, f'{name} ')}{_text(group.settings[name])}" for name in others)


def _policy(group: Group, varied: set[str]) -> str:
    """Return the order, and what else of the policy varies."""
    rules = [group.settings[name] for name in ("memory", "evict", "shed") if name in varied]
    shares = [f"{name} {_text(group.settings[name])}" for name in POLICY[4:] if name in varied]
    return " + ".join([group.settings["policy"], *rules, *shares])


def _text(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _means(
    head: str, name: str, unit: str, groups: Sequence[Group], of: Callable[[Group], Mean], factor: float, places: int
) -> Column:
    means = [of(group) for group in groups]

    def text(value: float) -> str:
        return f"{value * factor:,.{places}f}"

    cells = tuple(NO_VALUE if mean.value is None else text(mean.value) for mean in means)
    spread = tuple("" if mean.ci95 is None else f"± {text((mean.ci95.high - mean.ci95.low) / 2)}" for mean in means)
    return Column(head, name, unit, cells, spread)
