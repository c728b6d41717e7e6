"""A service agreement, and the goodput under it: only what was in time counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headway.core.errors import InvalidInput, expect, nearest
from headway.measure.promises import Promise, Service, kept
from headway.measure.record import RunRecord

LIMITS = ("ttft", "mtpot", "e2e")


@dataclass(frozen=True)
class Sla:
    """What every request was promised; seconds, None for no promise.

    Attributes:
        ttft: from arrival to the first token.
        mtpot: largest gap between two deliveries of the request.
        e2e: from arrival to the last token.
    """

    ttft: float | None = None
    mtpot: float | None = None
    e2e: float | None = None

    @property
    def promise(self) -> Promise:
        """The limits, the same for every request."""
        limits = {name: getattr(self, name) for name in LIMITS}
        return Promise(**{name: limit for name, limit in limits.items() if limit is not None})

    @classmethod
    def parse(cls, text: str) -> Sla:
        """Read `ttft=10,mtpot=1.5`.

        Raises:
            InvalidInput: not of that form, an unknown limit, or one that is not a number above 0.
        """
        expect("sla", text, str, "a text such as 'ttft=10,mtpot=1.5'")
        limits: dict[str, float] = {}
        for part in text.split(","):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals:
                raise InvalidInput(f"service agreement '{text}': '{part.strip()}' is not of the form ttft=10")
            if name not in LIMITS:
                raise InvalidInput(f"service agreement '{text}': unknown limit '{name}'; {nearest(name, LIMITS)}")
            if name in limits:
                raise InvalidInput(f"service agreement '{text}': '{name}' is given twice")
            try:
                limits[name] = float(value)
            except ValueError:
                limits[name] = math.nan
            if not 0 < limits[name] < math.inf:
                raise InvalidInput(
                    f"service agreement '{text}': {name} = '{value}'; expected a number of seconds above 0"
                )
        return cls(**limits)

    def __str__(self) -> str:
        """Write the agreement as it would be typed."""
        return ",".join(f"{name}={getattr(self, name):g}" for name in LIMITS if getattr(self, name) is not None)


def service(record: RunRecord, sla: Sla) -> Service:
    """Judge a run by an agreement; see `promises` for what each limit means."""
    return Service.of(record, kept(record, sla.promise))
