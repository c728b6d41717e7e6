"""Virtual time: what each tenant has received, for its weight."""

from __future__ import annotations

import heapq
import math
from collections import deque

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.rules import Order
from headway.core.sequence import WAITING, Sequence

FOR_EVER = 1 << 62  # iterations

Rank = tuple[float, float, int]  # virtual time, arrival and ticket of the oldest waiting request


class Account:
    """One tenant: what it was charged, what waits and runs.

    Attributes:
        order: the order among its own requests.
        line: its waiting requests by arrival; those that do not wait any more leave lazily.
        waiting: its requests that were never admitted.
        away: its evicted requests, which wait to return.
        head: key and ticket of its most urgent request, where urgency goes before tenants.
        running: its requests that hold KV.
    """

    __slots__ = (
        "admissions",
        "away",
        "decoded",
        "decoding",
        "head",
        "joined",
        "line",
        "number",
        "offset",
        "order",
        "prefilled",
        "running",
        "version",
        "waiting",
        "weight",
    )

    def __init__(self, number: int, order: Order) -> None:
        self.number: int = number
        self.order: Order = order
        self.weight: float = 1.0
        self.line: deque[Sequence] = deque()
        self.head: tuple[float, int] | None = None
        self.waiting: int = 0
        self.away: int = 0
        self.running: int = 0
        self.version: int = 0  # of its places in the heaps
        self.offset: float = 0.0
        self.admissions: int = 0
        self.prefilled: int = 0  # prompt positions
        self.decoded: int = 0  # decode positions of requests that decode no more
        self.decoding: int = 0  # requests that are charged with every decode iteration
        self.joined: int = 0  # sum of the clocks since which they are

    @property
    def active(self) -> bool:
        """Whether anything of it waits or runs."""
        return self.waiting + self.away + self.running > 0


class VirtualTime:
    """Charges tenants for work done, and says which has received least.

    A tenant's time is `(w_in * prompt positions + w_out * decode positions) / weight`, plus what idle lifts added.
    Decode positions are a product of the clock and the number of decoding requests, so that an iteration costs O(1)
    whatever the number of tenants. Times only grow, so a heap of old times is a heap of lower bounds: the least one is
    found by bringing its top up to date. Cost: O(log tenants) a question.

    Source: virtual token counter, Fairness in Serving Large Language Models (OSDI 2024).

    Args:
        w_in: charge for a prompt position; w_out: for a decode position.
        by_admission: charge one unit an admission instead, which is wrong: long answers are nearly free.
        predicted: charge the predicted output at admission, and settle at the end.
        lift_waiting: lift a tenant that returns over those that wait only, which is wrong: it keeps banked credit.
    """

    def __init__(self, w_in: float, w_out: float, *, by_admission: bool, predicted: bool, lift_waiting: bool) -> None:
        self.w_in = w_in
        self.w_out = w_out
        self.by_admission = by_admission
        self.predicted = predicted
        self.lift_waiting = lift_waiting
        self.clock: int = 0  # decode iterations
        self.block: int = 1
        self.emitted: int = 0
        self.floor: float = 0.0  # the largest time at which anybody was admitted
        self.accounts: dict[str, Account] = {}
        self._contenders: list[tuple[Rank, int, Account, int]] = []  # with something waiting
        self._active: list[tuple[float, int, Account, int]] = []
        self._decoding: dict[Sequence, tuple[int, int]] = {}  # charged from this clock, with so many tokens by then
        self._prepaid: dict[Sequence, int] = {}  # tokens that were paid for at admission
        self._due: dict[Sequence, int] = {}  # decodes on what is prepaid, up to this clock
        self._used_up: list[tuple[int, int, Sequence]] = []  # heap of these clocks

    def attach(self, engine: EngineProfile) -> None:
        """Learn how many tokens a decode iteration brings."""
        self.block = engine.decode_block
        self.emitted = 1 if engine.first_token == "prefill" else 0

    def time(self, account: Account) -> float:
        """Return a tenant's virtual time, in units of its weight."""
        if self._used_up and self._used_up[0][0] <= self.clock:
            self._settle()
        if self.by_admission:
            return account.offset + account.admissions / account.weight
        decoded = account.decoded + self.block * (account.decoding * self.clock - account.joined)
        return account.offset + (self.w_in * account.prefilled + self.w_out * decoded) / account.weight

    def arrived(self, seq: Sequence, account: Account) -> None:
        """A request joins a tenant's queue; a tenant that was idle is lifted, so that it has saved up no credit."""
        self._reweigh(account, seq.request.weight)
        if not account.active:
            lifted = max(self.time(account), self._base())
            account.offset += lifted - self.time(account)
            heapq.heappush(self._active, (self.time(account), account.number, account, account.version))
        account.waiting += 1
        account.line.append(seq)
        if account.waiting == 1:
            self._contend(account)

    def admitted(self, seq: Sequence, account: Account) -> None:
        """A request starts, or returns."""
        self.floor = max(self.floor, self.time(account))
        account.running += 1
        if seq.evictions:
            account.away -= 1
        else:
            account.waiting -= 1
            account.admissions += 1
        if self.predicted and isinstance(seq.request.predicted, int | float):
            self._prepaid[seq] = paid = max(math.ceil(seq.request.predicted), seq.generated)
            account.decoded += paid - seq.generated

    def removed(self, seq: Sequence, account: Account) -> None:
        """A request was cancelled, shed or demoted while it waited."""
        if seq.evictions:
            account.away -= 1
        else:
            account.waiting -= 1

    def gone(self, seq: Sequence, account: Account) -> None:
        """A request stops running: it is charged with what it really decoded."""
        account.running -= 1
        self._stop(seq, account)
        self._refund(seq, account)

    def ran(self, batch: Batch) -> None:
        """Charge an iteration's prompt positions, and book who decodes from now on."""
        for seq, positions in batch.chunks:
            self._fill(seq, positions)
        for seq in batch.resumed:  # they decode in it already
            self._join(seq, self.accounts[seq.request.tenant], seq.generated)
        if batch.decodes:
            self.clock += 1
        for seq in batch.joined:
            self._join(seq, self.accounts[seq.request.tenant], seq.generated + self.emitted)

    def rested(self, steps: int, filling: Sequence | None, positions: int) -> None:
        """Charge quiet iterations."""
        self.clock += steps
        if filling is not None:
            self._fill(filling, positions * steps)

    def _fill(self, seq: Sequence, positions: int) -> None:
        """Charge prompt positions, but not those that are computed again after an eviction."""
        self.accounts[seq.request.tenant].prefilled += min(positions, max(seq.filled - seq.computed, 0))

    def least(self) -> Account | None:
        """Return the tenant with the least time of those with something waiting; ties by oldest arrival, then id."""
        heap = self._contenders
        while heap:
            rank, _, account, version = heap[0]
            if version != account.version or not account.waiting:
                heapq.heappop(heap)
                continue
            current = self.rank(account)
            if current == rank:
                return account
            heapq.heapreplace(heap, (current, account.number, account, version))
        return None

    def rank(self, account: Account) -> Rank:
        """Return what a tenant with something waiting is chosen by; smaller goes first."""
        line = account.line
        while line[0].state != WAITING or line[0].evictions:
            line.popleft()
        oldest = line[0]
        return (self.time(account), oldest.arrival, oldest.ticket)

    def set_aside(self, account: Account) -> None:
        """Leave a tenant out of `least` until `contend_again`."""
        account.version += 1

    def contend_again(self, account: Account) -> None:
        """Undo `set_aside`."""
        self._contend(account)
        heapq.heappush(self._active, (self.time(account), account.number, account, account.version))

    def steady_for(self, account: Account) -> int:
        """For how many iterations does a tenant that is the least now stay it, if nothing happens?"""
        if self.by_admission or not account.decoding or len(self._contenders) < 2:
            steps = FOR_EVER
        else:
            others = min(rank for (rank, _, _), *_ in self._contenders[1:3])  # a lower bound of everybody else's time
            rate = self.w_out * self.block * account.decoding / account.weight
            steps = max(int((others - self.time(account)) / rate) - 1, 0) if rate > 0.0 else FOR_EVER
        return min(steps, self._used_up[0][0] - self.clock) if self._used_up else steps

    def _contend(self, account: Account) -> None:
        heapq.heappush(self._contenders, (self.rank(account), account.number, account, account.version))

    def _base(self) -> float:
        """Return the time to which a tenant that returns from idling is lifted."""
        if self.lift_waiting:
            least = self.least()
            return -math.inf if least is None else self.time(least)
        heap = self._active
        while heap:
            time, number, account, version = heap[0]
            if version != account.version or not account.active:
                heapq.heappop(heap)
                continue
            current = self.time(account)
            if current == time:
                return current
            heapq.heapreplace(heap, (current, number, account, version))
        return self.floor

    def _reweigh(self, account: Account, weight: float) -> None:
        """Take over a weight that has changed; what was charged so far stays charged at the old one."""
        if weight == account.weight:
            return
        before = self.time(account)
        account.weight = weight
        account.offset += before - self.time(account)

    def _join(self, seq: Sequence, account: Account, tokens: int) -> None:
        paid = self._prepaid.get(seq, 0) - tokens
        if paid > 0:
            self._due[seq] = due = self.clock + -(-paid // self.block)
            heapq.heappush(self._used_up, (due, seq.ticket, seq))
        else:
            self._charge(seq, account, self.clock, tokens)

    def _charge(self, seq: Sequence, account: Account, clock: int, tokens: int) -> None:
        """Charge a request's decode iterations from `clock` on, when it has generated so many tokens."""
        self._decoding[seq] = (clock, tokens)
        account.decoding += 1
        account.joined += clock

    def _stop(self, seq: Sequence, account: Account) -> None:
        """A request decodes no more: what it really generated is charged."""
        if self._used_up:
            self._settle()
        self._due.pop(seq, None)
        if seq in self._decoding:
            since, tokens = self._decoding.pop(seq)
            account.decoding -= 1
            account.joined -= since
            account.decoded += seq.generated - tokens

    def _settle(self) -> None:
        """Charge by iteration whoever has used up what was prepaid."""
        heap = self._used_up
        while heap and heap[0][0] <= self.clock:
            due, _, seq = heapq.heappop(heap)
            if self._due.get(seq) == due:
                del self._due[seq]
                paid = self._prepaid[seq]
                self._charge(seq, self.accounts[seq.request.tenant], due, paid)

    def _refund(self, seq: Sequence, account: Account) -> None:
        """Give back what was predicted and never generated."""
        paid = self._prepaid.pop(seq, 0)
        if paid > seq.generated:
            account.decoded -= paid - seq.generated
            account.version += 1  # its time falls, so what the heaps have of it is no lower bound
            if account.active:
                heapq.heappush(self._active, (self.time(account), account.number, account, account.version))
            if account.waiting:
                self._contend(account)
