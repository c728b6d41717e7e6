"""M/G/n in order of arrival: Poisson arrivals, any service times, n equal servers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headway.core.errors import InvalidInput
from headway.core.spec import number
from headway.theory.erlang import MOST_SERVERS, erlang_c
from headway.theory.service import Service


@dataclass(frozen=True)
class Queue:
    """Poisson arrivals at n equal servers, each of which serves one request at a time.

    Attributes:
        rate: λ, arrivals a second; above 0.
        service: how long a request takes a server.
        servers: n, above 0; need not be whole.
    """

    rate: float
    service: Service
    servers: float

    def __post_init__(self) -> None:
        number("the rate", self.rate, 0, math.inf, open_low=True, open_high=True)
        number("servers", self.servers, 0, MOST_SERVERS, open_low=True)

    @property
    def offered(self) -> float:
        """A = λ·E[S], erlangs: servers that would be busy on average if there were enough of them."""
        return self.rate * self.service.mean

    @property
    def rho(self) -> float:
        """λ·E[S]/n, the share of time in which a server is busy; 1 or more: more work comes than can be done."""
        return self.offered / self.servers

    @property
    def stable(self) -> bool:
        """Whether waits settle at all: rho < 1."""
        return self.rho < 1

    @property
    def highest_rate(self) -> float:
        """n/E[S], requests a second: what arrives must stay below it."""
        return self.servers / self.service.mean

    @property
    def waiting_probability(self) -> float:
        """Erlang C: the share of requests that wait at all. Exact for exponential service times and for one server."""
        return erlang_c(self.servers, self.offered)

    @property
    def residual_wait(self) -> float:
        """W0, seconds: until a server is free, as an arrival sees it, counting nobody who waits before it.

        W0 = C·E[S]/n·(1 + CV²)/2. With one server it is λ·E[S²]/2, exactly.
        """
        return self.waiting_probability * self.service.residual / self.servers

    @property
    def wait(self) -> float:
        """W, the mean wait in seconds in order of arrival: W0/(1 - rho); infinite where rho is 1 or more.

        Exact for M/M/n and, with one server, for every distribution (Pollaczek-Khinchine). Otherwise it is the wait of
        M/M/n corrected by (1 + CV²)/2: an approximation, good to a few per cent where service times are no wilder than
        exponential or the servers are nearly always busy.
        Source: Lee and Longton, Queueing processes associated with airline passenger check-in (Operational Research
        Quarterly 10, 1959); Allen and Cunneen's formula with Poisson arrivals.
        """
        return self.residual_wait / (1 - self.rho) if self.stable else math.inf


def effective_parallelism(decode_slots: float, kv_tokens: float, tokens_per_request: float) -> float:
    """Return the servers that an engine with continuous batching counts for: min(B/q, n_safe), not rounded.

    A rough reading of the engine: as many requests run at once as decode slots and memory allow, each with all its
    tokens from the beginning. Whether it describes an engine at all can only be told from runs.
    Source: Quota-Based Aging, II-B1, which takes the whole part of it.

    Args:
        decode_slots: B/q, requests that can decode in one iteration: positions over positions a request; above 0.
        kv_tokens: KV tokens that may be taken, η·M_max; above 0.
        tokens_per_request: E[P + D], prompt and answer; above 0.

    Raises:
        InvalidInput: a number out of range.
    """
    slots = number("decode_slots", decode_slots, 0, math.inf, open_low=True)
    tokens = number("kv_tokens", kv_tokens, 0, math.inf, open_low=True)
    each = number("tokens_per_request", tokens_per_request, 0, math.inf, open_low=True, open_high=True)
    return min(slots, tokens / each)


def servers_for_wait(rate: float, service: Service, wait: float) -> float:
    """Return the number of servers n, not rounded, with which `Queue(rate, service, n).wait` is `wait` seconds.

    The inverse of a strictly falling function, by bisection: n lies above the offered load, at which the wait is
    infinite.

    Raises:
        InvalidInput: a number out of range, or a wait that takes more than `MOST_SERVERS`.
    """
    target = number("the wait", wait, 0, math.inf, open_low=True, open_high=True)
    low = Queue(rate, service, 1.0).offered
    step = 1.0
    while Queue(rate, service, low + step).wait > target:
        step *= 2
        if low + step > MOST_SERVERS:
            raise InvalidInput(f"a wait of {wait:g} s takes more than {MOST_SERVERS} servers")
    high = low + step
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return high
        if Queue(rate, service, middle).wait > target:
            low = middle
        else:
            high = middle
