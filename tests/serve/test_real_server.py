"""`headway serve` with the real default model, as on a user's machine: the command, curl and the official client."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import pytest

from headway.serve.model import find_model
from tests.serve.served import eventually


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    model = find_model()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("headway"), "serve", "--model", model, "--port", port, "--threads", 1]
    options = ["--policy", "qba(k=3)", "--shed", "queue-cap(requests=50)", "--memory", "past-future(seed_length=64)"]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as out:
        server = subprocess.Popen([*map(str, command), *options], stdout=out, stderr=out)
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        assert server.poll() is None, log.read_text()
        try:
            return httpx.get(f"{address}/health").status_code == 200
        except httpx.TransportError:
            return False

    eventually(answers)
    yield address
    server.send_signal(signal.SIGTERM)
    assert server.wait(60) == 0
    assert [json.loads(line)["event"] for line in log.read_text().splitlines()] == ["serving", "stopping", "stopped"]


def test_curl(url: str):
    curl = shutil.which("curl")
    assert curl is not None, "curl is needed here"
    body = '{"messages": [{"role": "user", "content": "What is the capital of France?"}], "temperature": 0}'
    told = subprocess.run([curl, "-s", f"{url}/v1/chat/completions", "-d", body], capture_output=True, check=True)
    answer = json.loads(told.stdout)
    assert "Paris" in answer["choices"][0]["message"]["content"]
    assert answer["choices"][0]["finish_reason"] == "stop"


def test_the_official_client(url: str):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none")
    model = client.models.list().data[0].id
    stream = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "Count to five."}], max_tokens=20, temperature=0, stream=True
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    whole = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "Count to five."}], max_tokens=20, temperature=0
    )
    assert len(text) > 5
    assert text[:8] == (whole.choices[0].message.content or "")[:8]
    assert whole.usage is not None
    assert whole.usage.completion_tokens <= 20


def test_a_seed_draws_the_same_and_another_one_does_not(url: str):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none")
    model = client.models.list().data[0].id

    def drawn(seed: int) -> str:
        asked = client.completions.create(model=model, prompt="My favourite", max_tokens=12, temperature=1.5, seed=seed)
        return asked.choices[0].text

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(3)}) > 1
