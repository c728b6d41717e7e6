"""How long does an iteration take on this machine?

Measured when the server starts, so that deadlines are judged right from the first request on. The policy's own model
goes on learning from there.
"""

from __future__ import annotations

import time

import numpy as np

from headway.core.cost import Linear
from headway.serve.backend import Backend, Row, Sampling

_REPEATS = 3
_CHUNK = 64  # positions
_ROWS = 8
_LEAST = 1e-7  # seconds: no position is free
_TOKEN = 1


def calibrate(backend: Backend) -> Linear:
    """Return a linear cost model of a backend that holds nothing; takes about a second on a small model.

    Raises:
        BackendFailed: it cannot compute.
    """
    slots = range(min(backend.slots, backend.budget, _ROWS))
    chunk = min(backend.budget, backend.context // 2, _CHUNK)
    for slot in slots:
        backend.open(slot, Sampling(temperature=0))
    shapes: list[tuple[int, int, int]] = []  # 1, prompt positions, decode positions
    spans: list[float] = []
    for positions in (chunk, max(chunk // 4, 1)) * _REPEATS:
        spans.append(_seconds(backend, [Row(0, [_TOKEN] * positions, 0, wanted=False)]))
        shapes.append((1, positions, 0))
        backend.drop(0)
    for rows in sorted({1, len(slots)}) * _REPEATS:
        decoding = slots[:rows]
        for slot in decoding:
            backend.decode([Row(slot, [_TOKEN], 0, wanted=False)])
        spans.append(_seconds(backend, [Row(slot, [_TOKEN], 1, wanted=True) for slot in decoding]))
        shapes.append((1, 0, rows))
        for slot in decoding:
            backend.drop(slot)
    for slot in slots:
        backend.close(slot)
    found = np.linalg.lstsq(np.array(shapes, dtype=float), np.array(spans), rcond=None)[0]
    base, prefill, decode = np.maximum(found, _LEAST)
    return Linear(float(base), float(prefill), float(decode))


def _seconds(backend: Backend, rows: list[Row]) -> float:
    began = time.perf_counter()
    backend.decode(rows)
    return time.perf_counter() - began
