"""What prompts are owed where they are guaranteed a share of the positions."""

from __future__ import annotations

from fractions import Fraction

SHARE_WINDOW = 200  # iterations over which a share that was not used is saved up


class PrefillShare:
    """Counts what prompts are owed, and says when they may have an iteration to themselves.

    Every iteration that leaves a prompt partly filled owes them the share of the token budget, less what they got;
    once a whole iteration is owed, decodes pause for one. An iteration with positions to spare gave prompts all that
    they could take, and counts as one to themselves: a pause could not speed them up. Counted in whole numbers, so that
    many iterations at once come to the same.
    Source: Deadline-Aware Batching and Tenant Fairness, on reserving a fraction for prefill.

    Args:
        share: of the positions, in [0, 1).
        budget: positions of an iteration.
    """

    __slots__ = ("_budget", "_each", "_most", "_owed", "_paid", "_turn")

    def __init__(self, share: Fraction, budget: int) -> None:
        self._budget: int = budget
        self._owed: int = 0  # positions times the share's denominator
        self._each: int = share.numerator * budget
        self._paid: int = share.denominator
        self._turn: int = share.denominator * budget
        self._most: int = self._each * SHARE_WINDOW

    @property
    def is_due(self) -> bool:
        """Whether a whole iteration is owed."""
        return self._owed >= self._turn

    def granted(self, prompts: int, decodes: int) -> int:
        """Return the positions that prompts were given in an iteration in which so many were taken."""
        return prompts if prompts + decodes >= self._budget else self._budget

    def owe(self, steps: int, positions: int) -> None:
        """Book so many iterations in which prompts were given so many positions each."""
        owed = self._owed + steps * (self._each - self._paid * positions)
        self._owed = min(max(owed, 0), self._most)

    def due_in(self, positions: int) -> int:
        """After how many iterations that give prompts so many positions is one due? Very many where it never is."""
        missing = self._turn - self._owed
        if missing <= 0:
            return 0
        owing = self._each - self._paid * positions
        return -(-missing // owing) if owing > 0 else 1 << 62
