"""Shares of the iterations: for prompts, and for those who have waited too long."""

from __future__ import annotations

import dataclasses
from collections import deque
from dataclasses import dataclass
from fractions import Fraction

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidSpec, nearest
from headway.core.pools import PooledEngine
from headway.core.prefill_share import SHARE_WINDOW
from headway.core.quantile import exact
from headway.core.rules import Order
from headway.core.sequence import WAITING, Sequence
from headway.core.spec import number, whole


@dataclass(frozen=True)
class Reserve:
    """A reservation for requests that have waited past a threshold.

    Attributes:
        share: of the iterations, in (0, 1]: so many of them may start an overdue request before all others.
        after: seconds of waiting from which on a request is overdue.
        window: iterations over which an unused share is saved up.
    """

    share: Fraction
    after: float
    window: int = SHARE_WINDOW

    @classmethod
    def parse(cls, text: str) -> Reserve:
        """Read `share=0.1,after=5,window=200`.

        Raises:
            InvalidSpec: not of that form, something is missing, or a value is out of range.
        """
        given: dict[str, float] = {}
        for part in text.split(","):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or name not in ("share", "after", "window") or name in given:
                hint = nearest(name, ("share", "after", "window")) if equals else "not of the form share=0.1"
                raise InvalidSpec(f"reserve '{text}': '{part.strip()}': {'given twice' if name in given else hint}")
            try:
                given[name] = float(value)
            except ValueError:
                raise InvalidSpec(f"reserve '{text}': {name} = '{value}'; expected a number") from None
        if missing := [name for name in ("share", "after") if name not in given]:
            raise InvalidSpec(f"reserve '{text}': {missing[0]} is missing; expected share=0.1,after=5,window=200")
        try:
            made = cls(
                exact(number("share", given["share"], 0, 1, open_low=True)),
                number("after", given["after"], 0, float("inf"), open_high=True),
                whole("window", given.get("window", SHARE_WINDOW), 1),
            )
        except InvalidSpec as error:
            raise InvalidSpec(f"reserve '{text}': {error}") from None
        if made.share * made.window < 1:
            raise InvalidSpec(f"reserve '{text}': share * window is below one iteration; expected at least 1")
        return made

    def __str__(self) -> str:
        """Write the reservation as it would be typed."""
        return f"share={float(self.share):g},after={self.after:g},window={self.window}"


@dataclass(frozen=True)
class Shares:
    """What is guaranteed beside the order.

    Attributes:
        prefill: share of the positions that prompts get while one of them is partly filled; decodes pause for an
            iteration as soon as a whole one is owed. 0 guarantees nothing.
        reserve: see `Reserve`; None for no reservation.
        pools: share of the positions that belongs to prompts where prompts and decodes have pools of their own, in
            (0, 1); None for one pool.
    """

    prefill: Fraction = Fraction(0)
    reserve: Reserve | None = None
    pools: Fraction | None = None

    @classmethod
    def of(cls, prefill: float = 0.0, reserve: str | None = None, pools: float | None = None) -> Shares:
        """Make shares from what a user gives.

        Raises:
            InvalidSpec: a share is out of range, the reservation cannot be read, or both a prefill share and pools are
                given.
        """
        share = exact(number("prefill share", prefill, 0, 1, open_high=True))
        split = None if pools is None else exact(number("pools", pools, 0, 1, open_low=True, open_high=True))
        return cls(share, None if reserve is None else Reserve.parse(reserve), split)

    def __post_init__(self) -> None:
        """Judge the shares, however they were made."""
        share = self.prefill
        if not isinstance(share, Fraction) or not isinstance(self.pools, Fraction | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidSpec(f"shares are exact fractions, got {share!r} and {self.pools!r}; use Shares.of")
        if share and not Fraction(1, SHARE_WINDOW) <= number("prefill share", float(share), 0, 1, open_high=True):
            raise InvalidSpec(f"prefill share must be 0 or at least {1 / SHARE_WINDOW:g}, got {float(share):g}")
        if self.pools is not None:
            number("pools", float(self.pools), 0, 1, open_low=True, open_high=True)
            if share:
                raise InvalidSpec(
                    f"prefill share {float(share):g} and pools {float(self.pools):g} exclude each other: with pools, "
                    "prompts have a part of every iteration to themselves; give one of the two"
                )

    def engine(self, engine: EngineProfile) -> EngineProfile:
        """Return the engine as it runs under these shares: split in two pools, or as it is.

        Raises:
            InvalidEngine: it cannot be split so.
        """
        if self.pools is None:
            return engine
        fields = {field.name: getattr(engine, field.name) for field in dataclasses.fields(EngineProfile)}
        return PooledEngine(**fields, prompt_share=self.pools)


class Reserved(Order):
    """An order with a reservation: in a share of the iterations, whoever is overdue goes before all others.

    Every iteration earns a share of a turn, up to what the window holds; with a whole turn earned, the oldest waiting
    request is the next candidate if it is overdue, and its admission spends the turn. If memory refuses it, nobody
    passes it. Requests that return from eviction still go first. Cost: O(1).
    Source: Deadline-Aware Batching and Tenant Fairness, "Starvation, and why arrival order is not fair".
    """

    def __init__(self, inner: Order, reserve: Reserve) -> None:
        super().__init__()
        self.inner = inner
        self.returned = inner.returned  # one line of those that come back
        self.choosy = inner.choosy
        self.chunk_cap = inner.chunk_cap
        self.after = reserve.after
        self._earned: int = 0  # in units of which a turn has `_turn`
        self._share: int = reserve.share.numerator
        self._turn: int = reserve.share.denominator
        self._most: int = reserve.share.numerator * reserve.window
        self._line: deque[Sequence] = deque()
        self._due: Sequence | None = None  # whose turn it was when last asked
        self._had_turn: bool = False  # when last asked
        self._counts: bool = type(inner).steady_for is not Order.steady_for

    def attach(self, engine: EngineProfile) -> None:
        """Tell the order within."""
        self.inner.attach(engine)

    def push(self, seq: Sequence, now: float) -> bool:
        """Join the line, and the order within."""
        self._line.append(seq)
        return self.inner.push(seq, now)

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        """Return the overdue request whose turn it is, or whom the order within names."""
        if refused is None:
            oldest = self._oldest()
            overdue = oldest is not None and now - oldest.arrival >= self.after
            self._had_turn = self._earned >= self._turn
            self._due = oldest if overdue and self._had_turn else None
        if self._due is not None:
            return None if refused is self._due else self._due
        return self.inner.candidate(now, space, refused)

    def back(self, seq: Sequence, now: float) -> None:
        """Tell the order within."""
        self.inner.back(seq, now)

    def admitted(self, seq: Sequence, now: float) -> None:
        """A turn is spent."""
        if seq is self._due:
            self._earned -= self._turn
        self._due = None
        self.inner.admitted(seq, now)

    def prefilled(self, seq: Sequence, now: float) -> None:
        """Tell the order within."""
        self.inner.prefilled(seq, now)

    def next_ready(self, ready: dict[Sequence, None]) -> Sequence:
        """Ask the order within."""
        return self.inner.next_ready(ready)

    def finished(self, seq: Sequence, now: float) -> None:
        """Tell the order within."""
        self.inner.finished(seq, now)

    def remove(self, seq: Sequence) -> None:
        """Tell the order within."""
        self.inner.remove(seq)

    def gone(self, seq: Sequence) -> None:
        """Tell the order within."""
        self.inner.gone(seq)

    def ran(self, batch: Batch, now: float, seconds: float) -> None:
        """Earn for an iteration."""
        self._earn(1)
        self.inner.ran(batch, now, seconds)

    def rested(self, steps: int, filling: Sequence | None, positions: int) -> None:
        """Earn for quiet iterations."""
        self._earn(steps)
        self.inner.rested(steps, filling, positions)

    def promotions(self) -> int:
        """Return those of the order within: a reserved turn is not its doing."""
        return self.inner.promotions()

    def steady_until(self, now: float) -> float:
        """The oldest waiting request may become overdue."""
        until = self.inner.steady_until(now)
        oldest = self._oldest()
        if oldest is None or now - oldest.arrival >= self.after:
            return until
        return min(until, oldest.arrival + self.after - 1e-9 * (1.0 + oldest.arrival + self.after))

    def steady_for(self) -> int:
        """A turn may be earned, or may have been since the last question, where the next round was not due yet."""
        steps = self.inner.steady_for() if self._counts else 1 << 62
        if self._earned >= self._turn:
            return steps if self._had_turn else 0
        return min(steps, -(-(self._turn - self._earned) // self._share))

    def _earn(self, steps: int) -> None:
        self._earned = min(self._earned + steps * self._share, self._most)

    def _oldest(self) -> Sequence | None:
        line = self._line
        while line:
            if line[0].state == WAITING and line[0].evictions == 0:
                return line[0]
            line.popleft()
        return None
