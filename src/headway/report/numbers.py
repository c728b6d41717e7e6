"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Sequence


def seconds_text(value: float, more: int = 0) -> str:
    """Return a duration with its unit, to three digits (and `more`): `842 s`, `2.19 s`, `0.46 s`, `41.3 ms`."""
    size = abs(value)
    if size == 0:
        return "0 s"
    if size >= 0.1:
        return f"{value:,.{(0 if size >= 100 else 1 if size >= 10 else 2) + more}f} s"
    return f"{value * 1000:.{3 + more}g} ms" if size >= 1e-6 else "< 1 µs"


def seconds_apart(a: float, b: float) -> tuple[str, str]:
    """Return two durations to as many digits as it takes to tell them apart, within reason."""
    more = next((more for more in range(3) if seconds_text(a, more) != seconds_text(b, more)), 0)
    return seconds_text(a, more), seconds_text(b, more)


def count_text(value: float) -> str:
    """Return a count with separators; a mean over seeds that is not whole has one decimal."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def percent_text(share: float) -> str:
    """Return a share as whole per cent, or with a decimal below 10 %."""
    percent = share * 100
    return f"{percent:.0f} %" if abs(percent) >= 10 or percent == 0 else f"{percent:.1f} %"


def rate_text(value: float) -> str:
    """Return a rate to two digits, small ones without noughts for show: `0`, `0.03`, `1.4`, `130`."""
    if value == 0:
        return "0"
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def load_text(rate: float) -> str:
    """Return requests a second to three digits: `30`, `6.79`, `0.0531`, `1,230`."""
    return f"{float(f'{rate:.3g}'):,g}"


def list_text(words: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"
