"""How full may the KV cache be run, at how many evictions: the memory rules of one workload side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from headway.measure.comparison import plain
from headway.measure.equal_use import against_reference
from headway.measure.memory_curve import Curve, Point


@dataclass(frozen=True)
class Frontier:
    """The answer to "how full may the cache be run, at how many evictions, under which rule?".

    Attributes:
        settings: what was run and how to repeat it, plain data, as in a `Comparison`.
        part: which part of the runs counts: "steady", after `settings["steady_after"]` finishes, or "whole".
        curves: one a rule, in the order asked for; a rule without a knob has one point.
        partial: something is missing: it was interrupted.
        notes: what the reader must know, a sentence each.
    """

    settings: Mapping[str, Any]
    part: Literal["steady", "whole"]
    curves: tuple[Curve, ...]
    partial: bool
    notes: tuple[str, ...]

    @property
    def turned(self) -> tuple[Curve, ...]:
        """Rules with several settings."""
        return tuple(curve for curve in self.curves if len(curve.points) > 1)

    @property
    def limit(self) -> Point | None:
        """The oracle's point, if it was asked for."""
        return next((curve.points[0] for curve in self.curves if curve.rule == "oracle"), None)

    @property
    def seeds(self) -> tuple[int, ...]:
        """All seeds that some rule was run under."""
        return tuple(sorted({seed for curve in self.curves for point in curve.points for seed in point.seeds}))

    def to_dict(self) -> dict[str, Any]:
        """Return the object of `--json`: plain data without NaN or infinity (None instead)."""
        settings = dict(self.settings)
        return plain(
            {
                "headway": settings.pop("headway", None),
                "settings": settings,
                "part": self.part,
                "curves": [curve.to_dict() for curve in self.curves],
                "equal_use": [one.to_dict() for one in against_reference(self.turned)],
                "partial": self.partial,
                "notes": list(self.notes),
            }
        )
