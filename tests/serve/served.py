"""A server in a thread, on a fake backend, as clients see it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import uvicorn

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.policies.policy import Policy
from headway.serve.access import Access, Limits
from headway.serve.api.app import create_app
from headway.serve.loop import EngineLoop
from headway.serve.metrics import Metrics
from headway.serve.run import listen
from headway.serve.service import Service
from headway.testing.fake_backend import FakeBackend
from headway.workload.tenants import TenantsFile

PATIENCE = 60.0  # seconds, after which a test has hung


class Served:
    """A running server.

    Attributes:
        url: of the server, without a path.
        port: it listens to.
        service: what it runs.
    """

    def __init__(self, port: int, service: Service, metrics: Metrics) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.service = service
        self.metrics = metrics

    @property
    def is_empty(self) -> bool:
        """Nothing waits, runs or holds KV."""
        loop, seen = self.service.loop, list[tuple[int, int, int]]()
        loop.observe(
            lambda scheduler: seen.append((scheduler.waiting, len(scheduler.residents), scheduler.ledger.used))
        )
        held = any(loop.backend.held(slot) for slot in range(loop.backend.slots))
        return seen[0] == (0, 0, 0) and not held and loop.unfinished == 0

    def metric(self, line: str) -> float:
        """Return a value of `/metrics`; `line` is its name with labels."""
        for one in self.metrics.text().decode().splitlines():
            if one.startswith(line + " "):
                return float(one.rsplit(" ", 1)[1])
        return 0.0


@contextlib.contextmanager
def serving(
    backend: FakeBackend,
    policy: str = "fcfs",
    *,
    tenants: TenantsFile | None = None,
    keys: bool = False,
    most_bytes: int = 1_000_000,
    **options: str,
) -> Iterator[Served]:
    """Serve until the block ends."""
    engine = EngineProfile("fake", backend.budget, backend.slots, backend.kv_tokens, Piecewise(0.001, 0.0))
    chosen = Policy.of(policy, **options)
    metrics = Metrics()
    loop = EngineLoop(lambda: chosen.build(engine), backend, metrics)
    metrics.attach(loop)
    loop.start()
    service = Service(loop, Access(tenants, keys_required=keys), Limits(tenants))
    app = create_app(service, metrics, version="0", most_bytes=most_bytes)
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield Served(listener.getsockname()[1], service, metrics)
    finally:
        loop.close(0.0)
        server.should_exit = server.force_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


def eventually(question: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE
    while not question():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)
