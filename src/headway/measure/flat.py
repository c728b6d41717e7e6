"""A run as one row of numbers: what sweeps keep of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.measure.record import RunRecord
from headway.measure.sla import Sla
from headway.measure.summary import summarise


def figures(record: RunRecord, sla: Sla | None = None, *, itl: bool = True) -> dict[str, float | None]:
    """Return every number that a run's entry in `--json` holds, by its path there: `classes.long.wait.p99`.

    Lists and texts are left out; so is what a run does not have (figures of classes that no request belongs to).
    `itl` is that of `summarise`.
    """
    return dict(_numbers("", summarise(record, sla, itl=itl).to_dict()))


def without_itl(record: RunRecord, sla: Sla | None = None) -> dict[str, float | None]:
    """Return `figures` without the time between tokens, in a third of the time."""
    return figures(record, sla, itl=False)


def _numbers(path: str, value: Any) -> list[tuple[str, float | None]]:
    if isinstance(value, Mapping):
        return [leaf for key, inner in value.items() for leaf in _numbers(f"{path}.{key}" if path else str(key), inner)]
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        return []
    return [(path, value if value is None else float(value))]
