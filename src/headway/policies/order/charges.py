"""What does a tenant pay for? For work done, for what was predicted, or (wrongly) for being admitted."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.sequence import Sequence
from headway.policies.order.account import Account

FOR_EVER = 1 << 62  # iterations


class Charge:
    """What a tenant pays for; told of whatever it may depend on.

    Args:
        w_in: units for a prompt position.
        w_out: units for a decode position.
        accounts: every tenant's account, by its name.
    """

    def __init__(self, w_in: float, w_out: float, accounts: dict[str, Account]) -> None:
        self.w_in = w_in
        self.w_out = w_out
        self.accounts = accounts

    def attach(self, engine: EngineProfile) -> None:
        """Learn what an iteration brings."""

    def time(self, account: Account) -> float:
        """Return a tenant's virtual time: its start, and the units since `reset`, divided by its weight."""
        raise NotImplementedError

    def reset(self, account: Account) -> None:
        """Count from here, whatever is running."""
        raise NotImplementedError

    def pace(self, account: Account) -> float:
        """Return the units that each quiet iteration adds."""
        return 0.0

    def steady_for(self) -> int:
        """For how many quiet iterations is that true of everybody?"""
        return FOR_EVER

    def admitted(self, seq: Sequence, account: Account) -> None:
        """A request starts, or returns after an eviction."""

    def ran(self, batch: Batch) -> None:
        """An iteration has run."""

    def rested(self, steps: int, filling: Sequence | None, positions: int) -> None:
        """Quiet iterations have run; see `Order.rested`."""

    def gone(self, seq: Sequence, account: Account) -> bool:
        """A request runs no more; return whether its tenant has now been charged less than before."""
        return False


class PerAdmission(Charge):
    """One unit for every request, which is wrong: a long answer costs as little as a short one."""

    def time(self, account: Account) -> float:
        """One unit for every request that was started."""
        return account.start + account.admissions / account.weight

    def reset(self, account: Account) -> None:
        """Count from here."""
        account.admissions = 0

    def admitted(self, seq: Sequence, account: Account) -> None:
        """Count it, the first time."""
        if seq.evictions == 0:
            account.admissions += 1


class PerIteration(Charge):
    """Prompt and decode positions, when they have been computed; never those that an eviction makes necessary again.

    All counts are whole numbers, so that iterations that are taken at once give the same units, bit by bit.
    Cost: O(1) an iteration, and for each chunk, join and end.
    """

    def __init__(self, w_in: float, w_out: float, accounts: dict[str, Account]) -> None:
        super().__init__(w_in, w_out, accounts)
        self.clock: int = 0  # decode iterations
        self.block: int = 1
        self.emitted: int = 0
        self._decoding: dict[Sequence, tuple[int, int]] = {}  # from which clock, and its tokens by then

    def attach(self, engine: EngineProfile) -> None:
        """Learn how many positions a decode takes, and whether the first token needs one."""
        self.block = engine.decode_block
        self.emitted = 1 if engine.first_token == "prefill" else 0

    def time(self, account: Account) -> float:
        """Weighted positions."""
        decoded = account.decoded + self.block * (account.counted * self.clock - account.since)
        return account.start + (self.w_in * account.prefilled + self.w_out * decoded) / account.weight

    def reset(self, account: Account) -> None:
        """Count from here."""
        account.prefilled = account.decoded = 0
        account.since = account.counted * self.clock

    def pace(self, account: Account) -> float:
        """Everything that is counted decodes."""
        return self.w_out * self.block * account.counted

    def ran(self, batch: Batch) -> None:
        """Charge prompt positions, and note who decodes from now on."""
        for seq, positions in batch.chunks:
            self._fill(seq, positions)
        for seq in batch.resumed:  # they decode in it already
            self._decoding[seq] = (self.clock, seq.generated)
            self._join(seq)
        if batch.decodes:
            self.clock += 1
        for seq in batch.joined:
            self._decoding[seq] = (self.clock, seq.generated + self.emitted)
            self._join(seq)

    def rested(self, steps: int, filling: Sequence | None, positions: int) -> None:
        """Everybody has decoded, and one prompt may have grown."""
        self.clock += steps
        if filling is not None:
            self._fill(filling, positions * steps)

    def gone(self, seq: Sequence, account: Account) -> bool:
        """Charge what it really decoded: its last block may not have been full."""
        if seq in self._decoding:
            since, tokens = self._decoding.pop(seq)
            account.counted -= 1
            account.since -= since
            account.decoded += seq.generated - tokens
        return False

    def _fill(self, seq: Sequence, positions: int) -> None:
        if seq.computed:
            positions = min(positions, max(seq.filled - seq.computed, 0))
        self.accounts[seq.request.tenant].prefilled += positions

    def _join(self, seq: Sequence) -> None:
        """Count its decodes from the clock that was noted."""
        account = self.accounts[seq.request.tenant]
        account.counted += 1
        account.since += self._decoding[seq][0]


class Predicted(PerIteration):
    """The decode positions that are predicted at admission, what goes beyond them by iteration; settled at the end.

    A request whose prediction is no number of tokens is charged by iteration.
    """

    def __init__(self, w_in: float, w_out: float, accounts: dict[str, Account]) -> None:
        super().__init__(w_in, w_out, accounts)
        self._prepaid: dict[Sequence, int] = {}  # positions that were paid for at admission and are not used up
        self._used_up: list[tuple[int, int, Sequence]] = []  # heap of the clocks at which they are

    def steady_for(self) -> int:
        """Until the last boundary before somebody has used up what was paid for: a block's rest is charged then."""
        return self._used_up[0][0] - self.clock - 1 if self._used_up else FOR_EVER

    def admitted(self, seq: Sequence, account: Account) -> None:
        """Charge what it is expected to decode from here on."""
        predicted = seq.request.predicted
        if isinstance(predicted, int | float):
            positions = math.ceil(predicted) - seq.generated - self.emitted
            if positions > 0:
                self._prepaid[seq] = positions
                account.decoded += positions

    def ran(self, batch: Batch) -> None:
        """The same, and see who has used up what was paid for."""
        super().ran(batch)
        self._settle()

    def rested(self, steps: int, filling: Sequence | None, positions: int) -> None:
        """The same, and see who has used up what was paid for."""
        super().rested(steps, filling, positions)
        self._settle()

    def gone(self, seq: Sequence, account: Account) -> bool:
        """Give back what was not used up."""
        prepaid = self._prepaid.pop(seq, 0)
        if not prepaid:
            return super().gone(seq, account)
        decoded = seq.generated - self._decoding.pop(seq)[1] if seq in self._decoding else 0
        account.decoded += decoded - prepaid
        return decoded < prepaid

    def _join(self, seq: Sequence) -> None:
        if seq in self._prepaid:
            heapq.heappush(self._used_up, (self._due(seq), seq.ticket, seq))
        else:
            super()._join(seq)

    def _due(self, seq: Sequence) -> int:
        """The clock at which a decoding request has used up what was paid for."""
        return self._decoding[seq][0] - (-self._prepaid[seq] // self.block)

    def _settle(self) -> None:
        """From prediction to count, for whoever has used up what was paid for."""
        heap = self._used_up
        while heap and heap[0][0] <= self.clock:
            due, _, seq = heapq.heappop(heap)
            if seq in self._prepaid and seq in self._decoding and self._due(seq) == due:  # not of an earlier stay
                self.accounts[seq.request.tenant].decoded -= self._prepaid.pop(seq)
                super()._join(seq)


CHARGES: dict[str, Callable[[float, float, dict[str, Account]], Charge]] = {
    "iteration": PerIteration,
    "admission": PerAdmission,
    "predicted": Predicted,
}
