"""What the server tells Prometheus of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headway.core.batch import Batch
from headway.core.request import Request
from headway.core.scheduler import Scheduler
from headway.measure.outstanding import Rates
from headway.serve.job import CANCELLED, CLOSED, FAILED, INVALID, LENGTH, REJECTED, STOP, Job
from headway.serve.watch import Watch

MOST_LABELS = 200
"""Tenants and classes that are told apart; those that come later are counted as `other`."""

_OUTCOMES = {
    STOP: "finished",
    LENGTH: "finished",
    REJECTED: "rejected",
    CANCELLED: "cancelled",
    CLOSED: "closed",
    FAILED: "failed",
    INVALID: "invalid",
}
_FIRST = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120)
_BETWEEN = (0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 10)
_WHOLE = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 300, 600)
_ITERATION = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.2, 0.5, 1, 2.5)
_DECIDING = (0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.02)
_LEARNS = 1 / 32  # weight of the newest answer in the mean length


class Observed(Protocol):
    """A loop that can be looked at."""

    def observe(self, look: Callable[[Scheduler], None]) -> None:
        """Call `look` while the scheduler stands still."""
        ...


class Metrics(Watch):
    """Counts and times, by tenant and class where that makes sense."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        both = ("tenant", "class")
        self._requests = self._counter("requests", "Requests that ended, by how.", (*both, "outcome"))
        self._rejections = self._counter(
            "rejections", "Requests that the policy refused, by reason.", (*both, "reason")
        )
        self._prompt_tokens = self._counter("prompt_tokens", "Prompt tokens of requests that were let in.", both)
        self._tokens = self._counter("generated_tokens", "Tokens that were generated.", both)
        self._evictions = self._counter("evictions", "Requests that lost their KV and computed it again.")
        self._iterations = self._counter("iterations", "Iterations.")
        self._restarts = self._counter("backend_restarts", "Failures of the backend after which it came back.")
        self._first = self._histogram("time_to_first_token_seconds", "Arrival to first token.", _FIRST, both)
        self._between = self._histogram("inter_token_seconds", "One token to the next.", _BETWEEN, both)
        self._whole = self._histogram("request_seconds", "Arrival to the last token.", _WHOLE, both)
        self._computing = self._histogram("iteration_seconds", "Computing one iteration.", _ITERATION)
        self._deciding = self._histogram("decision_seconds", "Planning and booking one iteration.", _DECIDING)
        self._known: set[tuple[str, str]] = set()  # tenants and classes that are told apart
        self._labels: dict[tuple[str, str], _Labelled] = {}
        self._planning = 0.0
        self._waiting_prompt = 0
        self._unfinished = 0
        self._generating = 0  # tokens so far of unfinished requests
        self._mean_output = 128.0
        self._mean_prompt = 256.0
        self._counted: dict[Job, int] = {}  # prompt positions of those that wait

    def attach(self, loop: Observed) -> None:
        """Read queue and KV from this loop whenever somebody asks."""
        self.registry.register(_State(self, loop))

    def text(self) -> bytes:
        """Return everything in Prometheus' own format."""
        return generate_latest(self.registry)

    def arrived(self, job: Job, now: float) -> None:
        """Count a refusal at once."""
        if job.ended is not None:
            self._note_end(job)
        else:
            self._unfinished += 1

    def turned_away(self, request: Request, reason: str) -> None:
        """Count it as a rejection."""
        labels = self._names(request.tenant, request.label)
        self._requests.labels(*labels, "rejected").inc()
        self._rejections.labels(*labels, reason).inc()

    def entered(self, job: Job) -> None:
        """Its prompt waits."""
        tokens = job.seq.prompt
        self._counted[job] = tokens
        self._waiting_prompt += tokens
        self._of(job).prompt_tokens.inc(tokens)
        self._mean_prompt += _LEARNS * (tokens - self._mean_prompt)

    def started(self, job: Job) -> None:
        """It waits no more."""
        self._waiting_prompt -= self._counted.pop(job, 0)

    def planned(self, seconds: float) -> None:
        """Keep it until the iteration is booked."""
        self._planning = seconds

    def token(self, job: Job, now: float) -> None:
        """Count a token, and the time to it."""
        labelled = self._of(job)
        self._generating += 1
        labelled.tokens.inc()
        if job.last_token < 0:
            labelled.first.observe(now - job.arrived)
        else:
            labelled.between.observe(now - job.last_token)

    def ran(self, batch: Batch, now: float, computing: float, booking: float, scheduler: Scheduler) -> None:
        """Count an iteration."""
        self._iterations.inc()
        self._computing.observe(computing)
        self._deciding.observe(self._planning + booking)
        if batch.evicted:
            self._evictions.inc(len(batch.evicted))

    def ended(self, job: Job, now: float) -> None:
        """Count how it ended."""
        self._waiting_prompt -= self._counted.pop(job, 0)
        self._unfinished -= 1
        self._generating -= len(job.generated)
        self._note_end(job)
        if job.ended in (STOP, LENGTH):
            self._of(job).whole.observe(now - job.arrived)
            self._mean_output += _LEARNS * (len(job.generated) - self._mean_output)

    def restarted(self) -> None:
        """Count it."""
        self._restarts.inc()

    def outstanding(self, scheduler: Scheduler) -> tuple[float, float, float]:
        """Return prompt positions, expected output positions and seconds of the work that is not done."""
        prompt = self._waiting_prompt + scheduler.ledger.unfilled
        output = max(self._unfinished * self._mean_output - self._generating, 0.0)
        rates = Rates.of(scheduler.engine, self._mean_prompt, self._mean_output)
        return prompt, output, float(rates.seconds(prompt, output))

    def _note_end(self, job: Job) -> None:
        request, ended = job.seq.request, job.ended or ""
        labels = self._names(request.tenant, request.label)
        self._requests.labels(*labels, _OUTCOMES[ended]).inc()
        if ended == REJECTED:
            self._rejections.labels(*labels, job.seq.reason or "unknown").inc()

    def _of(self, job: Job) -> _Labelled:
        request = job.seq.request
        names = self._names(request.tenant, request.label)
        labelled = self._labels.get(names)
        if labelled is None:
            labelled = self._labels[names] = _Labelled(self, names)
        return labelled

    def _names(self, tenant: str, label: str | None) -> tuple[str, str]:
        names = (tenant, label or "")
        if names not in self._known:
            if len(self._known) >= MOST_LABELS:
                return ("other", "other")
            self._known.add(names)
        return names

    def _counter(self, name: str, about: str, labels: tuple[str, ...] = ()) -> Counter:
        return Counter(f"headway_{name}", about, labels, registry=self.registry)

    def _histogram(self, name: str, about: str, buckets: tuple[float, ...], labels: tuple[str, ...] = ()) -> Histogram:
        return Histogram(f"headway_{name}", about, labels, registry=self.registry, buckets=buckets)


class _Labelled:
    """The counters of one tenant and class: looking them up for every token would cost more than counting."""

    __slots__ = ("between", "first", "prompt_tokens", "tokens", "whole")

    def __init__(self, metrics: Metrics, names: tuple[str, str]) -> None:
        self.first = metrics._first.labels(*names)
        self.between = metrics._between.labels(*names)
        self.whole = metrics._whole.labels(*names)
        self.prompt_tokens = metrics._prompt_tokens.labels(*names)
        self.tokens = metrics._tokens.labels(*names)


class _State(Collector):
    """Queue, batch and KV at this moment."""

    def __init__(self, metrics: Metrics, loop: Observed) -> None:
        self._metrics = metrics
        self._loop = loop

    def collect(self) -> Iterable[Metric]:
        """Read them off the scheduler."""
        found: list[Scheduler] = []
        seen: dict[str, tuple[str, float]] = {}

        def look(one: Scheduler) -> None:
            found.append(one)
            at_work = found[0]
            prompt, output, seconds = self._metrics.outstanding(at_work)
            seen.update(
                requests_waiting=(
                    "Requests that wait for their first start, or again after an eviction.",
                    sum(each.waiting for each in found),
                ),
                requests_running=("Requests that hold KV.", len(at_work.residents)),
                requests_demoted=("Requests that wait behind all others.", sum(len(each.demoted) for each in found)),
                kv_tokens_used=("KV tokens that are held.", at_work.ledger.used),
                kv_tokens_capacity=("KV tokens that fit.", at_work.engine.kv_capacity),
                outstanding_prompt_positions=("Prompt positions that are not computed yet.", prompt),
                outstanding_output_positions=("Tokens that are expected to be generated yet.", output),
                outstanding_positions=("Positions of the work that is not done.", prompt + output),
                outstanding_seconds=("Seconds that the work that is not done takes, by the engine's model.", seconds),
            )

        self._loop.observe(look)
        for name, (about, value) in seen.items():
            yield GaugeMetricFamily(f"headway_{name}", about, value=value)
