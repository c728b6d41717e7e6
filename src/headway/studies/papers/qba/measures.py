"""What is kept of every run. Apart from what is made of it, so that kept runs outlive a change there."""

from __future__ import annotations

from typing import Literal

from headway.measure.flat import without_itl
from headway.measure.record import RunRecord
from headway.measure.residence import residence_figures
from headway.measure.sla import Sla
from headway.studies.cells import Row

Name = Literal["mean", "p99", "short", "long", "ttft", "ttft p99", "throughput", "batch", "oom"]
PREFIX = "residence."

FIGURES: dict[Name, str] = {
    "mean": "wait.mean",
    "p99": "wait.p99",
    "short": "classes.short.wait.p99",
    "long": "classes.long.wait.p99",
    "ttft": "ttft.mean",
    "ttft p99": "ttft.p99",
    "throughput": "throughput_tokens_per_s",
    "batch": "batch_use",
    "oom": "kv.oom_events",
}
"""Name of a figure here → its path in a run's figures. "short" and "long" are P99 waits of the true classes."""


def waits(record: RunRecord, sla: Sla | None = None) -> Row:
    """Return the `FIGURES` of a run, by their path: what is kept of it."""
    found = without_itl(record, sla)
    return {path: found.get(path) for path in FIGURES.values()}


def with_residence(record: RunRecord, sla: Sla | None = None) -> Row:
    """Return the figures of a run, and those that the model is calibrated by under `residence.`."""
    return waits(record, sla) | {f"{PREFIX}{name}": value for name, value in residence_figures(record).items()}
