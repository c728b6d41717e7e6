"""Cells on the machines of a Ray cluster."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

from headway.core.errors import HeadwayError, InvalidInput
from headway.studies.cell_key import code
from headway.studies.cells import Cell, Row
from headway.studies.source import Source
from headway.workload.trace import Trace
from headway.workload.traces import SeededTrace

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody was asked
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # what Ray warns of otherwise concerns GPUs
try:
    import ray  # pyright: ignore[reportMissingImports] - an extra
    from ray.exceptions import RayError, RayTaskError  # pyright: ignore[reportMissingImports]
except ImportError:
    raise InvalidInput("--ray needs Ray, which is not installed: pip install 'headway[ray]'") from None

AHEAD = 2
"""Cells in hand or in reach for every processor of the cluster."""

TRIES = 5
"""How often a cell is started when the machines that it runs on are lost."""

KEPT = 4
"""Drawings that are kept for the next cells."""

REACHABLE = 10.0
"""Seconds in which somebody must answer at the address."""


def finished_on_ray(cells: Sequence[Cell], address: str) -> Iterator[tuple[int, Row]]:
    """Run every cell on a cluster; yield its place and row when it is finished, in no order.

    What requests come from is put into the cluster's memory once. A cell whose machine is lost is run again elsewhere.
    Whatever ends this early ends what runs.

    Args:
        cells: what to run.
        address: of the cluster, as `ray.init` takes it: "auto", "host:port", "ray://host:port" or "local".

    Raises:
        InvalidInput: there is no cluster at the address, a machine has another Headway, or a cell is wrong.
        HeadwayError: a cell was lost again and again.
    """
    with _connected(address) as joined_before:
        _ship_own_orders(cells)
        run = ray.remote(max_retries=TRIES - 1, num_cpus=1)(_run)
        sent = _Sent()
        waiting = iter(enumerate(cells))
        running: dict[Any, int] = {}
        try:
            while True:
                room = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1))) - len(running)
                for place, cell in islice(waiting, max(0, room)):
                    origin = sent.of(cell)
                    bare = replace(cell, source=replace(cell.source, origin=""))
                    running[run.remote(origin, origin.hex(), bare, code())] = place
                if not running:
                    return
                done, _ = ray.wait(list(running), num_returns=1)
                for reference in done:
                    yield running.pop(reference), _row(reference)
        finally:
            for reference in running if joined_before else ():
                ray.cancel(reference)


@contextmanager
def _connected(address: str) -> Iterator[bool]:
    """Join the cluster and leave it at the end, which ends what it still does for this process.

    Yields whether this process had joined one before: then that one is used, and not left.
    """
    if ray.is_initialized():
        yield True
        return
    _check_reachable(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, OSError, RayError) as error:
        raise InvalidInput(f"--ray {address}: cannot join a Ray cluster there: {_line(error)}") from None
    try:
        yield False
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Find out in seconds whether somebody listens at `host:port`; Ray takes minutes to give up."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=REACHABLE).close()
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"--ray {address}: cannot join a Ray cluster there: {_line(error)}") from None


def _line(error: Exception) -> str:
    """Return the first line of an error's text, without the stop at its end."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


class _Sent:
    """What requests come from, in the cluster's memory: put there once, however many cells need it.

    A seeded trace is a folder of this machine. Others need not have it, so that its requests are drawn here; those of
    the last few seeds are kept.
    """

    def __init__(self) -> None:
        self._origins: dict[int, Any] = {}
        self._drawn: dict[tuple[int, int], Any] = {}

    def of(self, cell: Cell) -> Any:
        """Return the reference of a cell's origin."""
        origin = cell.source.origin
        if not isinstance(origin, SeededTrace):
            if id(origin) not in self._origins:
                self._origins[id(origin)] = ray.put(origin)
            return self._origins[id(origin)]
        asked = id(origin), cell.seed
        if asked not in self._drawn:
            if len(self._drawn) >= KEPT:
                del self._drawn[next(iter(self._drawn))]
            self._drawn[asked] = ray.put(origin.draw(cell.seed))
        return self._drawn[asked]


def _ship_own_orders(cells: Sequence[Cell]) -> None:
    """Send the modules of own orders along: the machines of a cluster need not have them."""
    for text in {cell.policy.order_spec for cell in cells}:
        module, colon, _ = text.partition(":")
        if colon:
            ray.cloudpickle.register_pickle_by_value(sys.modules[module])


def _row(reference: Any) -> Row:
    try:
        return ray.get(reference)
    except RayTaskError as error:
        if isinstance(error.cause, HeadwayError):
            raise error.cause from None
        raise
    except RayError as error:
        raise HeadwayError(f"Ray lost a cell {TRIES} times: {_line(error)}") from None


_last: tuple[tuple[str, Source, int], Trace] | None = None  # what the cell before on this machine ran on


def _run(origin: Any, name: str, cell: Cell, version: str) -> Row:
    """Run a cell on a machine of the cluster; `name` is that of the origin in the cluster's memory."""
    global _last  # noqa: PLW0603 - a process of the cluster has nothing else that lasts from cell to cell
    if version != code():
        raise InvalidInput(f"a machine of the cluster has Headway {code()}, this one {version}; install the same")
    asked = (name, cell.source, cell.seed)
    if _last is None or _last[0] != asked:
        _last = asked, replace(cell.source, origin=origin).requests(cell.seed)
    return cell.run(_last[1])
