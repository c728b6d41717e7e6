"""The engine loop: plans, computes, books, one iteration after the other, in a thread of its own.

It is a host like the simulated one: it asks the scheduler at every batch boundary and never decides who runs. Requests
are judged in the caller's thread under the scheduler's lock, which is held for planning and booking and never while
tokens are computed: an answer takes microseconds, whatever the iteration takes.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable

from headway.core.batch import Batch
from headway.core.errors import HeadwayError
from headway.core.request import Request
from headway.core.scheduler import Scheduler
from headway.core.sequence import DECODING, RESERVED, Sequence
from headway.core.sequence import REJECTED as SEQ_REJECTED
from headway.serve.backend import Backend, BackendFailed, Row
from headway.serve.job import CANCELLED, CLOSED, FAILED, LENGTH, REJECTED, STOP, Job, Question
from headway.serve.text import TextStream
from headway.serve.watch import Watch

_log = logging.getLogger(__name__)
_RETRY = 1.0  # seconds between two attempts to restart a backend
_ATTEMPTS = 5

Deliver = Callable[[str, int, str | None], None]


class EngineLoop:
    """Serves requests on one backend, as one scheduler decides.

    Args:
        make_scheduler: builds the scheduler, anew after a failure of the backend.
        backend: what computes.
        watch: told what happens, for metrics; called under the lock.
        clock: seconds.
    """

    def __init__(
        self,
        make_scheduler: Callable[[], Scheduler],
        backend: Backend,
        watch: Watch,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.backend = backend
        self.scheduler = self._entry = make_scheduler()  # the one at work, and the one that takes who comes
        self._make_scheduler = make_scheduler
        self._watch = watch
        self._clock = clock
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._jobs: dict[Sequence, Job] = {}  # that have not ended
        self._running: dict[Job, None] = {}  # decode
        self._entering: list[tuple[Job, float]] = []  # and since when: both are taken at the next boundary, once what
        self._leaving: list[tuple[Job, str]] = []  # and why           is computed is booked, as in the simulated engine
        self._slots = list(range(backend.slots))[::-1]
        self._numbers = 0
        self._closing = False  # nobody is let in
        self._stopping = False
        self._broken = False  # the backend did not come back
        self._thread = threading.Thread(target=self._run, name="headway-engine", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether requests are served, or could be."""
        return self._thread.is_alive() and not self._broken

    @property
    def open(self) -> bool:
        """Whether requests are let in."""
        return self.alive and not self._closing

    @property
    def unfinished(self) -> int:
        """Requests that have not ended."""
        return len(self._jobs)

    def reserve(self, request: Request, deliver: Deliver) -> Job:
        """Judge a request before its prompt is counted; see `Scheduler.reserve`.

        Its `id` and `arrival` are the loop's to give. The job has ended where it is refused.
        """
        with self._lock:
            now = self._clock()
            self._numbers += 1
            home = self._entry
            seq = home.reserve(request._replace(id=self._numbers, arrival=now), now)
            job = Job(seq, home, deliver, now)
            if self._closing or self._broken:
                home.cancel(seq, now)
                job.ended = CLOSED
            elif seq.state == SEQ_REJECTED:
                job.ended = REJECTED
            else:
                self._jobs[seq] = job
            self._watch.arrived(job, now)
            return job

    def enter(self, job: Job, question: Question) -> None:
        """Let a reserved request in with its prompt; it is judged once more, and `job.ended` says how."""
        with self._news:
            if job.ended is not None:
                return
            now = self._clock()
            job.question, job.prompt = question, question.prompt
            job.text = TextStream(self.backend.vocabulary.text, question.stops)
            request = job.seq.request._replace(prompt_tokens=len(question.prompt), max_new_tokens=question.asked)
            job.home.judge(job.seq, request, now)
            if job.seq.state == SEQ_REJECTED:
                self._end(job, REJECTED, now)
            else:
                self._watch.entered(job)
                self._entering.append((job, now))
                self._news.notify()

    def cancel(self, job: Job, why: str = CANCELLED) -> None:
        """Its client left, or its prompt is `INVALID`: it is dropped at the next boundary."""
        with self._news:
            if job.ended is None:
                self._leaving.append((job, why))
                self._news.notify()

    def turned_away(self, request: Request, reason: str) -> None:
        """Let it be counted that a request was refused before anybody was asked."""
        with self._lock:
            self._watch.turned_away(request, reason)

    def close(self, limit: float) -> None:
        """Let nobody in any more, finish what runs within `limit` seconds, end everybody else, and stop.

        Who waits is ended at once: it would not be served in time anyway.
        """
        with self._news:
            self._closing = True
            self._news.notify()
        deadline = time.monotonic() + limit
        self._thread_wait(deadline)
        self.stop()
        self._thread.join()

    def stop(self) -> None:
        """End everybody after this iteration, and stop."""
        with self._news:
            self._closing = self._stopping = True
            self._news.notify()

    def _thread_wait(self, deadline: float) -> None:
        while self._thread.is_alive() and time.monotonic() < deadline:
            with self._lock:
                if not self._jobs:
                    return
            time.sleep(0.01)

    def use(self, make_scheduler: Callable[[], Scheduler]) -> None:
        """Go over to another policy: who waits is handed to it at once, who runs is finished by the old one first.

        Until then nobody is admitted. Whoever waits is judged anew, and may be rejected by the new policy.
        """
        with self._news:
            now = self._clock()
            self._make_scheduler = make_scheduler
            self._entry = make_scheduler()
            for job in [job for job in self._jobs.values() if job.slot < 0]:
                self._hand_over(job, now)
            self._news.notify()

    def _hand_over(self, job: Job, now: float) -> None:
        old = job.seq
        del self._jobs[old]
        waits = old.state != RESERVED
        job.home.cancel(old, now)
        job.home = self._entry
        job.seq = job.home.reserve(old.request, now)
        self._jobs[job.seq] = job
        if waits:
            job.home.enter(job.seq, now)
        if job.seq.state == SEQ_REJECTED:
            self._end(job, REJECTED, now)

    def observe(self, look: Callable[[Scheduler], None]) -> None:
        """Look at the scheduler while it stands still; while one takes over from another, at both."""
        with self._lock:
            look(self.scheduler)
            if self._entry is not self.scheduler:
                look(self._entry)

    def _run(self) -> None:
        """Serve until told to stop; however it ends, nobody is left without an answer, and nobody is let in."""
        try:
            while not self._stopping:
                try:
                    self._serve()
                except BackendFailed as error:
                    if not self._recover(error):
                        return
                except Exception:  # noqa: BLE001 - whatever it is, the next requests may be served
                    _log.exception("engine_loop_failed")
                    if not self._recover(BackendFailed("the engine loop failed")):
                        return
        finally:
            with self._lock:
                self._broken = True
                self._end_all(CLOSED if self._stopping else FAILED)

    def _serve(self) -> None:
        """Take one iteration after the other until the server stops."""
        while True:
            with self._news:
                batch = self._plan()
                while batch is None:
                    if self._stopping:
                        return
                    self._sleep()
                    batch = self._plan()
                rows, asked = self._rows(batch)
            began = time.perf_counter()
            tokens = self.backend.decode(rows)
            spent = time.perf_counter() - began
            with self._lock:
                self._book(batch, asked, tokens, spent)

    def _sleep(self) -> None:
        """Nothing to run: wait for news, or for the time when the policy's answer may change."""
        wake = self.scheduler.steady_until() if self.scheduler.waiting else math.inf
        self._news.wait(None if wake == math.inf else max(wake - self._clock(), 0.001))

    def _plan(self) -> Batch | None:
        """Decide the next iteration; None where there is nothing to run."""
        now = self._clock()
        for job, why in self._leaving:
            if job.ended is None:
                job.home.cancel(job.seq, now)
                self._end(job, why, now)
        self._leaving.clear()
        for job, since in self._entering:
            job.home.enter(job.seq, since)
        self._entering.clear()
        if self._closing:
            for job in [job for job in self._jobs.values() if job.slot < 0]:
                job.home.cancel(job.seq, now)
                self._end(job, CLOSED, now)
        if self._stopping:
            return None
        if self.scheduler is not self._entry and not (self.scheduler.residents or self.scheduler.waiting):
            self.scheduler = self._entry
        planning = time.perf_counter()
        batch = self.scheduler.plan(now)
        self._watch.planned(time.perf_counter() - planning)
        for seq in batch.evicted:
            self._set_back(self._jobs[seq])
        for seq in batch.ended:
            self._end(self._jobs[seq], REJECTED if seq.reason != "kv_capacity" or not seq.generated else LENGTH, now)
        return batch if batch.positions else None

    def _set_back(self, job: Job) -> None:
        """It lost its KV; its text stays, and what it generated is part of its prompt now."""
        self._running.pop(job, None)
        self.backend.drop(job.slot)
        job.computed = 0
        job.prompt = [*_asked(job).prompt, *job.generated]

    def _rows(self, batch: Batch) -> tuple[list[Row], list[Job]]:
        """Return what is to be computed, and who gets a token, in order."""
        for seq in batch.admitted:
            job = self._jobs[seq]
            if job.slot < 0:
                self._open(job)
        for seq in batch.resumed:
            self._running[self._jobs[seq]] = None
        rows: list[Row] = []
        asked: list[Job] = []
        if batch.decodes:
            for job in self._running:
                if job.seq.state != DECODING:
                    continue
                rows.append(Row(job.slot, job.generated[-1:], job.computed, wanted=True))
                job.computed += 1
                asked.append(job)
        for seq, positions in batch.chunks:
            job = self._jobs[seq]
            if job.slot < 0:
                continue  # it could not be opened
            end = job.computed + positions
            whole = end == seq.prompt
            rows.append(Row(job.slot, job.prompt[job.computed : end], job.computed, wanted=whole))
            job.computed = end
            if whole:
                asked.append(job)
        return rows, asked

    def _open(self, job: Job) -> None:
        """Give it a place in the backend; where that fails for reasons of its own, it alone is dropped."""
        slot = self._slots.pop()
        self._watch.started(job)
        try:
            self.backend.open(slot, _asked(job).sampling)
        except BackendFailed:
            raise
        except Exception:  # noqa: BLE001 - whatever it is, the others are served
            _log.exception("request_failed")
            self._slots.append(slot)
            self._leaving.append((job, FAILED))
            return
        job.slot = slot

    def _book(self, batch: Batch, asked: list[Job], tokens: list[int], spent: float) -> None:
        """Hand out the tokens, and tell the scheduler who has ended."""
        now = self._clock()
        booking = time.perf_counter()
        for seq in batch.joined:
            self._running[self._jobs[seq]] = None
        finished: list[Sequence] = []
        ended: list[tuple[Job, str]] = []
        for job, token in zip(asked, tokens, strict=True):
            why = self._take(job, token, now)
            if why is not None:
                finished.append(job.seq)
                ended.append((job, why))
        self.scheduler.complete(batch, now, finished)
        for job, why in ended:
            self._end(job, why, now)
        self._watch.ran(batch, now, spent, time.perf_counter() - booking, self.scheduler)

    def _take(self, job: Job, token: int, now: float) -> str | None:
        """A token was generated; return why the answer is complete, or None."""
        question, text = _asked(job), job.text
        if self.backend.vocabulary.ends(token) and not question.endless:
            return STOP
        job.generated.append(token)
        self._watch.token(job, now)
        job.last_token = now
        piece = "" if text is None else text.add(token)
        job.deliver(piece, 1, None)
        if text is not None and text.stopped:
            return STOP
        return LENGTH if len(job.generated) >= question.limit else None

    def _end(self, job: Job, why: str, now: float) -> None:
        """It has ended: free its place and tell who asked."""
        job.ended = why
        del self._jobs[job.seq]
        self._running.pop(job, None)
        if job.slot >= 0:
            self.backend.close(job.slot)
            self._slots.append(job.slot)
            job.slot = -1
        rest = job.text.rest() if job.text is not None and why in (STOP, LENGTH) else ""
        self._watch.ended(job, now)
        job.deliver(rest, 0, why)

    def _end_all(self, why: str) -> None:
        now = self._clock()
        for job in [*self._jobs.values()]:
            self._end(job, why, now)

    def _recover(self, error: BackendFailed) -> bool:
        """Answer everybody with an error, and start over with an empty backend; False where it does not come back."""
        _log.error("backend_failed", extra={"error": str(error)})
        for attempt in range(_ATTEMPTS):
            with self._news:
                now = self._clock()
                for job in [*self._jobs.values()]:
                    job.slot = -1
                    self._end(job, FAILED, now)
                self._running.clear()
                self._entering.clear()
                self._leaving.clear()
                self._slots = list(range(self.backend.slots))[::-1]
                self.scheduler = self._entry = self._make_scheduler()
            try:
                self.backend.reset()
            except BackendFailed as again:
                _log.error("backend_restart_failed", extra={"error": str(again), "attempt": attempt + 1})
                time.sleep(_RETRY)
                continue
            self._watch.restarted()
            return True
        return False


def _asked(job: Job) -> Question:
    """Return what is to be answered: known of everybody who has entered."""
    if job.question is None:
        raise HeadwayError(f"request {job.seq.id} runs without a prompt")
    return job.question
