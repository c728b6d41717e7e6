"""Erlang's two formulas: how likely are all servers busy, and how likely is it that one has to wait?"""

from __future__ import annotations

import math

from headway.core.spec import number

MOST_SERVERS = 100_000  # the recurrence takes a step a server
_ENOUGH = 1e-17  # relative: a term that no longer counts in a sum
_CLOSE = 1e-15  # a factor so near 1 ends a continued fraction


def erlang_b(servers: float, offered: float) -> float:
    """Return Erlang B: the share of Poisson arrivals that find all servers busy where nobody waits.

    Exact for every distribution of service times (M/G/n/n). The recurrence B(i) = A·B(i-1) / (i + A·B(i-1)) adds
    positive numbers only, so that nothing cancels or overflows with thousands of servers. Between whole numbers of
    servers it starts from the continuous form, 1/B = A·∫ e^(-A·y)·(1+y)^n dy; cost: O(servers).
    Source: Jagerman, Some properties of the Erlang loss function (Bell System Technical Journal 53, 1974).

    Args:
        servers: n, at least 0; need not be whole.
        offered: A, load in erlangs: arrivals a second times mean service time; at least 0.

    Raises:
        InvalidInput: a number out of range.
    """
    n = number("servers", servers, 0, MOST_SERVERS)
    a = number("offered", offered, 0, math.inf, open_high=True)
    fraction = n % 1.0
    if a == 0:
        return 0.0 if n else 1.0
    blocked = _fractional(fraction, a) if fraction else 1.0
    for i in range(1, int(n) + 1):
        busy = a * blocked
        blocked = busy / (i + fraction + busy)
    return blocked


def erlang_c(servers: float, offered: float) -> float:
    """Return Erlang C: the share of Poisson arrivals that have to wait, where everybody waits for one of n servers.

    Exact for exponential service times (M/M/n), and for every distribution with one server, where it is A; a good
    approximation for other service times. 1 where the load is n or more: then all servers are always busy.

    Args:
        servers: n, above 0; need not be whole.
        offered: A, load in erlangs; at least 0.

    Raises:
        InvalidInput: a number out of range.
    """
    n = number("servers", servers, 0, MOST_SERVERS, open_low=True)
    blocked = erlang_b(n, offered)
    rho = offered / n
    return 1.0 if rho >= 1 else blocked / (1 - rho * (1 - blocked))


def _fractional(n: float, a: float) -> float:
    """Return Erlang B of 0 < n < 1 servers: A^n·e^(-A) / Γ(n + 1, A)."""
    if a >= n + 2:
        return 1 / (a * _upper_gamma(n + 1, a))
    scale = a**n * math.exp(-a)
    below = term = 1 / (n + 1)  # lower incomplete gamma over A^(n + 1)·e^(-A), by its series
    k = n + 1
    while term > below * _ENOUGH:
        k += 1
        term *= a / k
        below += term
    return scale / (math.gamma(n + 1) - a * scale * below)


def _upper_gamma(s: float, x: float) -> float:
    """Return Γ(s, x)/(x^s·e^(-x)) for x above s + 1, by Legendre's continued fraction (Lentz's method)."""
    b = x + 1 - s
    c, d = math.inf, 1 / b
    fraction = d
    i, change = 0, 0.0
    while abs(change - 1) > _CLOSE:
        i += 1
        numerator = -i * (i - s)
        b += 2
        d = 1 / (b + numerator * d)
        c = b + numerator / c
        change = c * d
        fraction *= change
    return fraction
