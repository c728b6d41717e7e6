"""Columns of figures as text: units in the head, one number of decimals in a column, the best marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headway.measure.intervals import Interval
from headway.measure.quantiles import Stats
from headway.report.numbers import count_text

NO_VALUE = "\N{EN DASH}"


@dataclass(frozen=True)
class Column:
    """A column of figures.

    Attributes:
        group: the measure, as in "Wait"; neighbours of one group share a head.
        name: what of it, as in "P99".
        unit: "s", "ms", "%", "tokens/s" or "".
        cells: a text a row.
        spread: half the 95 % interval as text a row; empty where there is none.
        best: rows with the best value of their block; empty where none is better than another.
    """

    group: str
    name: str
    unit: str
    cells: tuple[str, ...]
    spread: tuple[str, ...]
    best: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Table:
    """Rows of policies (specs) and columns of figures.

    Attributes:
        title: what the figures are of.
        rows: the policy of each row.
        columns: the figures.
        head: what a row is.
        colours: by row; None takes the policies'.
        blocks: where a policy has several rows, what each row is of, in blocks of equal texts; empty elsewhere.
        block_head: what `blocks` holds.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[Column, ...]
    head: str = "policy"
    colours: Mapping[str, str] | None = None
    blocks: tuple[str, ...] = ()
    block_head: str = ""


def percent(share: float | None) -> float | None:
    """Return a share as per cent."""
    return None if share is None else share * 100


def durations(
    group: str, wanted: Sequence[tuple[str, Sequence[Stats], str]], blocks: Sequence[str] = ()
) -> list[Column]:
    """Return columns of durations in one unit, each from its name, what was measured and which statistic of it."""
    scale = unit([getattr(one, statistic) for _, stats, statistic in wanted for one in stats])
    return [_duration(group, name, scale, stats, statistic, blocks) for name, stats, statistic in wanted]


def plain(group: str, name: str, unit: str, values: Sequence[float | None]) -> Column:
    """Return a column of counts, rates or per cents."""
    places = 1 if unit == "%" else 0
    cells = tuple(
        NO_VALUE if value is None else f"{value:,.{places}f}" if unit else count_text(value) for value in values
    )
    return Column(group, name, unit, cells, ("",) * len(cells))


def lowest(values: Sequence[float | None], blocks: Sequence[str] = ()) -> frozenset[int]:
    """Return the rows with the lowest value of their block, where the block has different ones."""
    best: set[int] = set()
    for block in dict.fromkeys(blocks or [""]):
        rows = [row for row in range(len(values)) if not blocks or blocks[row] == block]
        known = {value for row in rows if (value := values[row]) is not None}
        if len(known) > 1:
            best |= {row for row in rows if values[row] == min(known)}
    return frozenset(best)


def unit(values: Sequence[float | None]) -> tuple[Literal["s", "ms"], float]:
    """Return milliseconds where every value (in seconds) is below a second, and how many are in a second."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    return ("ms", 1000.0) if 0 < largest < 1 else ("s", 1.0)


def decimals(values: Sequence[float | None]) -> int:
    """Return how many decimals show three digits of a column's largest value and one of its smallest."""
    sizes = [abs(value) for value in values if value]
    if not sizes:
        return 0
    places = 0 if max(sizes) >= 1000 else 1 if max(sizes) >= 100 else 2
    return 3 if min(sizes) < 0.05 and places == 2 else places


def _duration(
    group: str, name: str, scale: tuple[str, float], stats: Sequence[Stats], statistic: str, blocks: Sequence[str]
) -> Column:
    """Return a column of durations; the lowest is the best."""
    factor = scale[1]
    values: list[float | None] = [getattr(one, statistic) for one in stats]
    places = decimals([None if value is None else value * factor for value in values])
    shown = [None if value is None else round(value * factor, places) for value in values]
    cells = tuple(NO_VALUE if value is None else f"{value:,.{places}f}" for value in shown)
    spread = tuple(_spread(one.ci95[statistic] if one.ci95 else None, factor, places) for one in stats)
    return Column(group, name, scale[0], cells, spread, lowest(shown, blocks))


def _spread(interval: Interval | None, factor: float, places: int) -> str:
    return "" if interval is None else f"± {(interval.high - interval.low) / 2 * factor:,.{places}f}"
