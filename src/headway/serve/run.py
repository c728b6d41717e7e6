"""`headway serve`: builds everything from a configuration, and runs it until it is told to stop."""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from types import FrameType

import uvicorn

from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.core.scheduler import Scheduler
from headway.serve.access import Access, Limits
from headway.serve.api.app import create_app
from headway.serve.backend import Backend, BackendFailed
from headway.serve.calibrate import calibrate
from headway.serve.config import Config
from headway.serve.logs import configure
from headway.serve.loop import EngineLoop
from headway.serve.metrics import Metrics
from headway.serve.service import Service

_log = logging.getLogger(__name__)
_LAST_WORDS = 5  # seconds in which clients may read the end of their answers before connections are closed


def run(config: Config) -> int:
    """Serve until a signal; return the exit status.

    Raises:
        InvalidInput: no model, a port that is taken, or anything else that keeps it from starting.
    """
    from headway.serve.backends.llama import LlamaBackend  # noqa: PLC0415 - loads llama.cpp
    from headway.serve.model import find_model  # noqa: PLC0415

    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is something to reload
    listener = listen(config.host, config.port)
    path = find_model(config.model)
    try:
        backend = LlamaBackend(
            path,
            kv_tokens=config.kv_tokens,
            slots=config.slots,
            budget=config.token_budget,
            threads=config.threads,
        )
    except BackendFailed as error:
        raise InvalidInput(f"{path}: {error}; is there memory for kv_tokens = {config.kv_tokens:,}?") from None
    return serve(config, backend, listener)


def serve(config: Config, backend: Backend, listener: socket.socket) -> int:
    """Serve one backend on a socket until a signal; return the exit status."""
    configure(config.log_level)
    metrics = Metrics()
    engine = config.make_engine(backend.name, calibrate(backend))
    loop = EngineLoop(scheduler_maker(config, engine), backend, metrics)
    metrics.attach(loop)
    tenants = config.read_tenants()
    service = Service(loop, Access(tenants, keys_required=config.keys_required), Limits(tenants))
    app = create_app(service, metrics, version=version("headway"), most_bytes=config.max_body_bytes)
    loop.start()
    http = uvicorn.Config(
        app, log_config=None, lifespan="off", timeout_keep_alive=75, timeout_graceful_shutdown=_LAST_WORDS
    )
    server = Server(http, config, service)
    _log.info("serving", extra={"model": backend.name, "url": url(listener), "policy": config.make_policy().name})
    signal.signal(signal.SIGHUP, lambda *_: threading.Thread(target=server.reload, name="headway-reload").start())
    server.run(sockets=[listener])
    loop.close(0.0)
    backend.shutdown()
    _log.info("stopped")
    return 0


class Server(uvicorn.Server):
    """Stops in steps: nobody is let in, what runs is finished, and only then connections are closed.

    A second signal ends what runs with an error, a third one closes connections as they are. SIGHUP reads the
    configuration again.
    """

    def __init__(self, config: uvicorn.Config, settings: Config, service: Service) -> None:
        super().__init__(config)
        self._settings = settings
        self._service = service
        self._signals = 0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop in steps, or faster when asked again. A handler may interrupt anything: others do the work."""
        self._signals += 1
        if self._signals == 1:
            name = signal.Signals(sig).name
            threading.Thread(target=self._stop, args=(name,), name="headway-stop", daemon=True).start()
        elif self._signals == 2:
            threading.Thread(target=self._service.loop.stop, name="headway-hurry", daemon=True).start()
        else:
            self.should_exit = self.force_exit = True

    def _stop(self, name: str) -> None:
        _log.info("stopping", extra={"signal": name, "seconds": self._settings.stop_seconds})
        self._service.loop.close(self._settings.stop_seconds)
        self.should_exit = True

    def reload(self) -> None:
        """Read the configuration again; what is wrong in it leaves everything as it is."""
        if self._signals:
            _log.info("reload_refused", extra={"error": "the server stops"})
            return
        try:
            settings = self._settings.again()
            tenants = settings.read_tenants()
            policy = settings.make_policy()
            maker = scheduler_maker(settings, self._service.loop.scheduler.engine)
            access = Access(tenants, keys_required=settings.keys_required)
        except (InvalidInput, OSError) as error:
            _log.error("reload_refused", extra={"error": str(error)})
            return
        self._service.access = access
        self._service.limits.use(tenants)
        if settings.rules != self._settings.rules:
            self._service.loop.use(maker)
        self._settings = settings
        _log.info("reloaded", extra={"policy": policy.name})


def scheduler_maker(config: Config, engine: EngineProfile) -> Callable[[], Scheduler]:
    """Return what makes fresh schedulers of the configured policy."""
    policy = config.make_policy()
    policy.build(engine)  # what cannot be built is said now
    return partial(policy.build, engine)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; taken before the model is loaded, so that a wrong port is said at once.

    Raises:
        InvalidInput: the host is unknown or the port is taken.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise InvalidInput(
            f"cannot listen on {host}:{port}: {error.strerror or error}; choose another --port"
        ) from None
    listener.listen(2048)
    return listener


def url(listener: socket.socket) -> str:
    """Return where clients find it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
