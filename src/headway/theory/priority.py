"""Two classes, one served before the other: short before long, without breaking off what runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headway.core.spec import number
from headway.theory.mgn import Queue
from headway.theory.service import Service


@dataclass(frozen=True)
class Waits:
    """Mean waits of one policy, seconds; infinite where none exists in the long run.

    Attributes:
        mean: of all requests.
        short: of those predicted short.
        long: of those predicted long.
    """

    mean: float
    short: float
    long: float


@dataclass(frozen=True)
class TwoClasses:
    """Poisson arrivals of two classes at n equal servers.

    Attributes:
        rate: λ, arrivals a second of both classes together; above 0.
        short_share: p_S, the share of them that is predicted short; in (0, 1).
        short: service times of the class that is predicted short.
        long: those of the other one.
        servers: n, above 0; need not be whole.
    """

    rate: float
    short_share: float
    short: Service
    long: Service
    servers: float

    def __post_init__(self) -> None:
        number("the share of short requests", self.short_share, 0, 1, open_low=True, open_high=True)
        Queue(self.rate, self.short, self.servers)  # judges the other two

    @property
    def long_share(self) -> float:
        """p_L = 1 - p_S."""
        return 1 - self.short_share

    @property
    def service(self) -> Service:
        """Service times of all requests."""
        return Service.mixed((self.short_share, self.long_share), (self.short, self.long))

    @property
    def together(self) -> Queue:
        """The same requests as one class."""
        return Queue(self.rate, self.service, self.servers)

    @property
    def rho_short(self) -> float:
        """rho_S = p_S·λ·E[S | short]/n."""
        return self.rate * self.short_share * self.short.mean / self.servers

    @property
    def rho_long(self) -> float:
        """rho_L = p_L·λ·E[S | long]/n."""
        return self.rate * self.long_share * self.long.mean / self.servers

    def fcfs(self) -> Waits:
        """Return the waits in order of arrival: both classes wait the same; see `Queue.wait` for how good that is."""
        wait = self.together.wait
        return Waits(wait, wait, wait)

    def psf(self) -> Waits:
        """Return the waits where short requests go first: `promoted` with nobody promoted."""
        return self.promoted(0.0)

    def promoted(self, fraction: float) -> Waits:
        """Return the waits where short requests go first, and with them a fraction φ of the long ones.

        With rho_H = rho_S + φ·rho_L, whoever goes first waits W_H = W0/(1 - rho_H), and the rest W_R = W_H/(1 - rho);
        W0 as in `Queue.residual_wait`, of all requests. At φ = 0 this is non-preemptive priority: exact for one server
        (Cobham), and for n servers where both classes have the same exponential service times (Kella-Yechiali);
        otherwise an approximation. At φ = 1 it is order of arrival. In between it is a closure and no theorem: whoever
        ages does so because it waited, while here a coin decides on arrival.

        The mean over all requests is that of order of arrival times (1 - rho·p_H)/(1 - rho·w_H), with p_H the share of
        requests and w_H the share of work that goes first. It rises with φ, from its lowest value to that of order of
        arrival, as long as a long request takes a server longer than a short one: by construction no φ lifts it above.

        In overload (rho ≥ 1) the rest waits without end. Who goes first has a finite wait as long as rho_H < 1; servers
        that are never idle then serve, beside them, as many of the rest as there is time for.
        Sources: Quota-Based Aging, III-A3 and III-B1; Cobham, Priority assignment in waiting line problems (Operations
        Research 2, 1954); Kella and Yechiali, Waiting times in the non-preemptive priority M/M/c queue (Stochastic
        Models 1, 1985).

        Raises:
            InvalidInput: the fraction is not in [0, 1].
        """
        phi = number("the promoted fraction", fraction, 0, 1)
        first = self.rho_short + phi * self.rho_long
        queue = self.together
        ahead = rest = math.inf
        if queue.stable:
            ahead = queue.residual_wait / (1 - first)
            rest = ahead / (1 - queue.rho)
        elif first < 1:
            ahead = self._residual_in_overload(phi, first) / (1 - first)
        return Waits(
            mean=_weighted(self.short_share + phi * self.long_share, ahead, rest),
            short=ahead,
            long=_weighted(phi, ahead, rest),
        )

    def _residual_in_overload(self, phi: float, first: float) -> float:
        """Return W0, seconds, where all servers are busy always, a share 1 - rho_H of their time with the rest."""
        busy = self.rho_short * self.short.residual + phi * self.rho_long * self.long.residual
        return (busy + (1 - first) * self.long.residual) / self.servers


def _weighted(share: float, one: float, other: float) -> float:
    """Return the mean of two waits; an infinite one does not count where nobody has it."""
    return (share * one if share else 0.0) + ((1 - share) * other if share < 1 else 0.0)
