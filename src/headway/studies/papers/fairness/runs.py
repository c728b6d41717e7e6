"""What the claims look at: figures by set-up, over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.measure.intervals import Interval, mean_interval
from headway.studies.cells import Row


@dataclass(frozen=True)
class Runs:
    """Rows of figures by set-up, one a seed.

    Attributes:
        rows: name of the set-up → one row a seed.
        rates: requests/s of the load sweep, ascending.
    """

    rows: Mapping[str, Sequence[Row]]
    rates: tuple[float, ...]

    def of(self, name: str, figure: str) -> float:
        """Return a figure's mean over seeds; NaN where no run has it."""
        values = [value for row in self.rows[name] if (value := row.get(figure)) is not None]
        return math.fsum(values) / len(values) if values else math.nan

    def interval(self, name: str, figure: str) -> Interval | None:
        """Return its 95 % interval over seeds; None with one."""
        values = [value for row in self.rows[name] if (value := row.get(figure)) is not None]
        return mean_interval(values)

    def apart(self, one: str, other: str, figure: str) -> bool:
        """Whether a figure of one set-up is above that of another, seed by seed, by more than chance.

        Of one seed the difference itself decides.
        """
        pairs = zip(self.rows[one], self.rows[other], strict=True)
        differences = [a - b for x, y in pairs if (a := x.get(figure)) is not None and (b := y.get(figure)) is not None]
        interval = mean_interval(differences)
        return differences[0] > 0 if interval is None else interval.low > 0

    def ratio(self, figure: str, one: str, other: str) -> float:
        """Return a figure of one set-up over that of another."""
        below = self.of(other, figure)
        return self.of(one, figure) / below if below else math.inf

    def broken(self, policy: str) -> list[float]:
        """Return the share of broken promises at each rate of the sweep."""
        return [self.of(f"{policy}@{rate:g}", "broken") for rate in self.rates]

    def goodput(self, policy: str, most: float = 0.01) -> float:
        """Return the highest rate up to which at most so many promises are broken, between rates on a line.

        NaN where the sweep does not tell: more are broken at its lowest rate, or never.
        """
        broken = self.broken(policy)
        if broken[0] > most:
            return math.nan
        for place, share in enumerate(broken[1:], 1):
            if share > most:
                low, high = broken[place - 1], share
                before, after = self.rates[place - 1], self.rates[place]
                return before + (after - before) * (most - low) / (high - low)
        return math.nan
