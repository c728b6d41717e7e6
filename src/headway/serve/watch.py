"""What the loop tells of: the seam between serving and measuring it."""

from __future__ import annotations

from headway.core.batch import Batch
from headway.core.request import Request
from headway.core.scheduler import Scheduler
from headway.serve.job import Job


class Watch:
    """Told what happens, in the loop's thread, under its lock; the base class keeps nothing. Times in seconds."""

    def arrived(self, job: Job, now: float) -> None:
        """A request was judged; it was refused where `job.ended` is set."""

    def turned_away(self, request: Request, reason: str) -> None:
        """A request was refused before the scheduler was asked, as by its tenant's limits."""

    def entered(self, job: Job) -> None:
        """Its prompt is counted, and it waits."""

    def started(self, job: Job) -> None:
        """It was admitted, and holds KV from now on."""

    def planned(self, seconds: float) -> None:
        """A plan took so long."""

    def token(self, job: Job, now: float) -> None:
        """It got a token; `job.generated` has it, and `job.last_token` is still that of the token before."""

    def ran(self, batch: Batch, now: float, computing: float, booking: float, scheduler: Scheduler) -> None:
        """An iteration is booked: how long computing and booking took."""

    def ended(self, job: Job, now: float) -> None:
        """A request has ended, as `job.ended` says."""

    def restarted(self) -> None:
        """The backend failed and is back."""
