"""Queueing formulas for a serving engine that is looked at as a few servers: what a mean wait should be, and why.

Numbers in, numbers out: no simulation, no I/O. `headway.studies.theory` takes the numbers from runs. Where rho is 1 or
more no long-run mean exists and the wait is infinite (`math.inf`), never an error: a curve may run into overload.
"""

from headway.theory.erlang import erlang_b, erlang_c
from headway.theory.mgn import Queue, effective_parallelism, servers_for_wait
from headway.theory.priority import TwoClasses, Waits
from headway.theory.promotion import PromotedFraction
from headway.theory.service import Service

__all__ = [
    "PromotedFraction",
    "Queue",
    "Service",
    "TwoClasses",
    "Waits",
    "effective_parallelism",
    "erlang_b",
    "erlang_c",
    "servers_for_wait",
]
