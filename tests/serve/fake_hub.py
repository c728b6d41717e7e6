"""A small Hugging Face hub on this machine: what its client asks for, and the ways in which it goes wrong."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub(ThreadingHTTPServer):
    """Serves `files`: repository → name → content.

    Attributes:
        said: name → the SHA-256 that the hub says, where it is not the content's; "" says none.
        truncate: end every download after half of it.
        hang: accept and never answer.
        status: answer everything with it.
        stall: after half of a download, wait until it is set.
        halfway: set when half of a download is sent.
        downloads: how often each file was asked for.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, dict[str, bytes]] = {}
        self.said: dict[str, str] = {}
        self.truncate = self.hang = False
        self.status: int | None = None
        self.stall: threading.Event | None = None
        self.halfway, self.closing = threading.Event(), threading.Event()
        self.downloads: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    with FakeHub() as hub:
        thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield hub
        hub.closing.set()
        if hub.stall:
            hub.stall.set()
        hub.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: FakeHub

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        pass

    def _answer(self, *, body: bool) -> None:
        if self.server.hang:
            self.server.closing.wait()
            return
        path = unquote(urlsplit(self.path).path)
        if self.server.status:
            self._send(self.server.status, {}, b"")
        elif path.startswith("/api/models/"):
            self._list(path.removeprefix("/api/models/"))
        elif path.startswith("/cdn/"):
            self._download(path.removeprefix("/cdn/"), body=body)
        else:
            self._resolve(path.lstrip("/"))

    def _list(self, repository: str) -> None:
        if repository not in self.server.files:
            self._send(404, {"X-Error-Code": "RepoNotFound"}, b"{}")
            return
        siblings = [{"rfilename": name} for name in self.server.files[repository]]
        self._send(200, {}, json.dumps({"id": repository, "sha": COMMIT, "siblings": siblings}).encode())

    def _resolve(self, path: str) -> None:
        repository, _, rest = path.partition("/resolve/")
        name = rest.partition("/")[2]
        if repository not in self.server.files:
            self._send(404, {"X-Error-Code": "RepoNotFound"}, b"")
        elif name not in self.server.files[repository]:
            self._send(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}, b"")
        else:
            content = self.server.files[repository][name]
            said = self.server.said.get(name, hashlib.sha256(content).hexdigest())
            etags = {"X-Linked-Etag": f'"{said}"', "ETag": '"pointer"'} if said else {"ETag": '"pointer"'}
            sizes = {"X-Linked-Size": str(len(content)), "X-Repo-Commit": COMMIT}
            # Another host: the client reads what is said of a file where the hub sends it away, not where it goes.
            location = {"Location": f"http://localhost:{self.server.server_port}/cdn/{repository}//{name}"}
            self._send(302, {**etags, **sizes, **location}, b"")

    def _download(self, path: str, *, body: bool) -> None:
        repository, _, name = path.partition("//")
        content = self.server.files[repository][name]
        begin = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").partition("-")[0])
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        if not body:
            return
        self.server.downloads[name] += 1
        half = len(content) // 2
        self._write(content[begin:half])
        self.server.halfway.set()
        if self.server.stall:
            self.server.stall.wait()
        if self.server.truncate:
            self.close_connection = True
            return
        self._write(content[max(half, begin) :])

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self._write(body)

    def _write(self, data: bytes) -> None:
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:  # whoever asked is gone
            self.close_connection = True
