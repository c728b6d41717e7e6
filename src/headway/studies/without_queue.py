"""Nothing waits: are all orders alike then, or is an agreement broken that no order can keep?"""

from __future__ import annotations

from collections.abc import Mapping

from headway.measure.sla import Sla

LATE = {
    "ttft": ("the time to the first token", "prompts take that long on this engine, whoever comes first"),
    "mtpot": (
        "the time between tokens",
        "iterations are too long; a cap on chunks, as combined has, or a smaller token_budget makes them shorter",
    ),
    "e2e": ("the time to the last token", "answers take that long on this engine, whoever comes first"),
}
"""Limit of the agreement → what it bounds, and what breaks it where nothing waits."""


def without_queue(order: str, agreement: Sla | None, late: Mapping[str, float | None], kept: float) -> str:
    """Say what it means that nothing waits.

    Args:
        order: that runs now.
        agreement: what is asked for, if anything is.
        late: limit of the agreement → P99 of what it bounds, in seconds; None where there is none.
        kept: share of the requests whose agreement is kept.
    """
    limits = {} if agreement is None else {"ttft": agreement.ttft, "mtpot": agreement.mtpot, "e2e": agreement.e2e}
    broken = [
        (found / limit, found, limit, name)
        for name, limit in limits.items()
        if limit is not None and (found := late[name]) is not None and found > limit
    ]
    if not broken:
        return "Where there is no queue every order is alike; try a higher --rate."
    _, found, limit, name = max(broken)
    bounded, why = LATE[name]
    return (
        f"Yet {order} keeps the agreement for {kept * 100:.1f} % of them only. What breaks it is {bounded} "
        f"(P99 {found:.3g} s, and {name} allows {limit:g} s): {why}."
    )
