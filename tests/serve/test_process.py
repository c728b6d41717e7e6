"""A server as a process: signals, logs, and a death that nobody announced."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve.served import PATIENCE, eventually

SECRET = "the prompt of somebody"
ROOT = Path(__file__).parents[2]


class Process:
    """A server that was started, and what it says."""

    def __init__(self, folder: Path, text: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.config = folder / "serve.toml"
        self.write(text)
        self.running: subprocess.Popen[bytes] | None = None
        self.log = folder / "log"

    def write(self, text: str) -> None:
        self.config.write_text(f"port = {self.port}\n{text}")

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.serve.fake_server", str(self.config)]
        paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                command, cwd=ROOT, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": paths}
            )
        eventually(self.answers)

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health").status_code == 200
        except httpx.TransportError:
            assert self.running is not None
            assert self.running.poll() is None, self.log.read_text()
            return False

    def signal(self, number: int) -> None:
        assert self.running is not None
        self.running.send_signal(number)

    def end(self) -> int:
        assert self.running is not None
        return self.running.wait(PATIENCE)

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    one = Process(tmp_path, '[engine]\nslots = 2\n[policy]\norder = "fcfs"\n')
    one.start()
    yield one
    assert one.running is not None
    one.running.kill()
    one.running.wait(PATIENCE)


def streamed(process: Process, heard: list[str], began: threading.Event) -> None:
    """Ask for a stream and keep its lines, as far as they come."""
    body, url = {"prompt": SECRET, "stream": True}, f"{process.url}/v1/completions"
    with (
        contextlib.suppress(httpx.TransportError),
        httpx.stream("POST", url, json=body, timeout=PATIENCE) as answer,
    ):
        if answer.status_code != 200:
            heard.append(answer.read().decode())
            began.set()
            return
        for line in answer.iter_lines():
            if line:
                heard.append(line)
                began.set()


def in_background(process: Process) -> tuple[threading.Thread, list[str], threading.Event]:
    heard: list[str] = []
    began = threading.Event()
    thread = threading.Thread(target=streamed, args=(process, heard, began))
    thread.start()
    return thread, heard, began


def length(heard: list[str]) -> int:
    chunks = [json.loads(line[6:]) for line in heard if line != "data: [DONE]"]
    return len("".join(chunk["choices"][0]["text"] for chunk in chunks))


def test_sigterm_finishes_what_runs_and_refuses_the_rest(process: Process):
    running = [in_background(process) for _ in range(2)]
    for _, _, began in running:
        assert began.wait(PATIENCE)
    waiting, refused, _ = in_background(process)
    metrics = f"{process.url}/metrics"
    eventually(lambda: "headway_requests_waiting 1.0" in httpx.get(metrics).text)
    process.signal(signal.SIGTERM)
    waiting.join(PATIENCE)
    assert json.loads(refused[0])["error"]["code"] == "unavailable"
    late = httpx.post(f"{process.url}/v1/completions", json={"prompt": "x"})
    assert (late.status_code, "retry-after" in late.headers) == (503, True)
    assert httpx.get(f"{process.url}/health").json()["status"] == "stopping"
    for thread, heard, _ in running:
        thread.join(PATIENCE)
        assert heard[-1] == "data: [DONE]"
        assert length(heard) == 300
    assert process.end() == 0
    assert [event["event"] for event in process.events()] == ["serving", "stopping", "stopped"]


def test_a_second_signal_ends_what_runs_with_an_error(process: Process):
    thread, heard, began = in_background(process)
    assert began.wait(PATIENCE)
    process.signal(signal.SIGINT)
    eventually(lambda: any(event["event"] == "stopping" for event in process.events()))
    process.signal(signal.SIGHUP)
    eventually(lambda: process.events()[-1]["event"] == "reload_refused")
    process.signal(signal.SIGINT)
    assert process.end() == 0
    thread.join(PATIENCE)
    assert json.loads(heard[-1][6:])["error"]["code"] == "unavailable"


def test_a_third_signal_waits_for_no_reader(process: Process):
    with socket.create_connection(("127.0.0.1", process.port)) as unread:
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        content = json.dumps({"prompt": "x", "stream": True}).encode()
        unread.sendall(
            f"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content
        )
        eventually(lambda: "headway_requests_running 1.0" in httpx.get(f"{process.url}/metrics").text)
        for count in range(3):
            process.signal(signal.SIGTERM)
            if not count:
                eventually(lambda: any(event["event"] == "stopping" for event in process.events()))
        assert process.end() == 0


def test_sighup_reads_the_configuration_again_and_drops_no_stream(process: Process):
    thread, heard, began = in_background(process)
    assert began.wait(PATIENCE)
    process.write('[engine]\nslots = 2\n[policy]\norder = "psf"\n')
    process.signal(signal.SIGHUP)
    eventually(lambda: process.events()[-1]["event"] == "reloaded")
    assert process.events()[-1]["policy"] == "psf"
    process.write('[policy]\norder = "pfs"\n')
    process.signal(signal.SIGHUP)
    eventually(lambda: process.events()[-1]["event"] == "reload_refused")
    assert "'pfs'" in process.events()[-1]["error"]
    thread.join(PATIENCE)
    assert length(heard) == 300
    assert httpx.post(f"{process.url}/v1/completions", json={"prompt": "x"}, timeout=PATIENCE).status_code == 200


def test_it_starts_again_after_a_kill(process: Process):
    thread, _, began = in_background(process)
    assert began.wait(PATIENCE)
    process.signal(signal.SIGKILL)
    assert process.end() == -signal.SIGKILL
    thread.join(PATIENCE)
    process.start()
    answer = httpx.post(f"{process.url}/v1/completions", json={"prompt": "x", "max_tokens": 3}, timeout=PATIENCE)
    assert answer.json()["choices"][0]["text"] == "zzz"


def test_logs_have_no_prompt(process: Process):
    thread, _, _ = in_background(process)
    thread.join(PATIENCE)
    process.signal(signal.SIGTERM)
    assert process.end() == 0
    assert SECRET not in process.log.read_text()
    assert all({"time", "level", "event"} <= set(event) for event in process.events())
