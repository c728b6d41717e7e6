"""Roughly what a sweep costs, before it is run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from headway.studies.cells import Cell
from headway.studies.source import Source
from headway.workload.transform import head

PROBES = 6
PROBED = 500  # requests


@dataclass(frozen=True)
class Cost:
    """What cells cost.

    Attributes:
        requests: in all of them together.
        seconds: of one processor, roughly: long queues and full memory make some requests dearer than others.
    """

    requests: int
    seconds: float


def cost_of(cells: Sequence[Cell]) -> Cost:
    """Draw the requests of every source once, and run a few cells, spread over all, on their first requests.

    Args:
        cells: at least one.

    Raises:
        InvalidInput: a cell cannot be what it says.
    """
    sources: dict[int, Source] = {id(cell.source): cell.source for cell in cells}
    drawn = {key: source.requests(cells[0].seed) for key, source in sources.items()}
    lengths = {key: len(trace) for key, trace in drawn.items()}
    spent, probed = 0.0, 0
    for cell in cells[:: max(1, len(cells) // PROBES)][:PROBES]:
        trace = head(drawn[id(cell.source)], PROBED)
        began = time.perf_counter()
        cell.run(trace)
        spent += time.perf_counter() - began
        probed += len(trace)
    requests = sum(lengths[id(cell.source)] for cell in cells)
    return Cost(requests, spent / probed * requests)
