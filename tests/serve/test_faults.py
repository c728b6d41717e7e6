"""What goes wrong at night: clients that leave, read slowly or come all at once, keys that are wrong."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import time

import httpx
import pytest

from headway.core.cost import Piecewise
from headway.policies.policy import Policy
from headway.serve.access import TENANT_HEADER
from headway.serve.metrics import MOST_LABELS
from headway.testing.fake_backend import FakeBackend
from headway.workload.tenants_toml import tenants_from_toml
from tests.serve.served import PATIENCE, Served, eventually, serving

KEY, OTHER = "hw-right", "hw-other"
TENANTS = f"""
[[tenant]]
name = "chat"
keys = ["sha256:{hashlib.sha256(KEY.encode()).hexdigest()}"]
max_unfinished = 2

[[tenant]]
name = "batch"
keys = ["sha256:{hashlib.sha256(OTHER.encode()).hexdigest()}"]
"""


def slow_backend(slots: int = 4) -> FakeBackend:
    return FakeBackend(lambda prompt: "z" * 2000, slots=slots, budget=32, cost=Piecewise(0.002, 0.0))


def request_bytes(server: Served, body: dict[str, object]) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(content)}\r\n\r\n"
    return head.encode() + content


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("when", ["in the middle", "before the first token", "while it is queued"])
def test_a_client_that_hangs_up_leaves_nothing_behind(when: str, stream: bool):
    backend = slow_backend(slots=1)
    with serving(backend) as server:
        body = {"prompt": "p" * (1500 if when == "before the first token" else 3), "stream": stream}
        others: list[socket.socket] = []
        if when == "while it is queued":
            others.append(socket.create_connection(("127.0.0.1", server.port)))
            others[0].sendall(request_bytes(server, {"prompt": "o", "stream": True}))
            others[0].recv(1)
        client = socket.create_connection(("127.0.0.1", server.port))
        client.sendall(request_bytes(server, body))
        waiting = 1.0 if when == "while it is queued" else 0.0
        eventually(lambda: server.metric("headway_requests_waiting") == waiting)
        eventually(lambda: server.metric("headway_requests_running") == 1)
        if when == "in the middle":
            eventually(lambda: server.metric('headway_generated_tokens_total{class="",tenant="default"}') > 3)
        client.close()
        for other in others:
            other.close()
        eventually(lambda: server.is_empty)
        cancelled = server.metric('headway_requests_total{class="",outcome="cancelled",tenant="default"}')
        assert cancelled == 1 + len(others)


def test_five_hundred_connections_at_once():
    backend = FakeBackend(lambda prompt: prompt[::-1], slots=16, budget=64)

    async def ask(http: httpx.AsyncClient, number: int) -> bool:
        answer = await http.post("/v1/completions", json={"prompt": f"question {number}"})
        return answer.json()["choices"][0]["text"] == f"question {number}"[::-1]

    async def all_of_them(server: Served) -> list[bool]:
        limits = httpx.Limits(max_connections=500)
        async with httpx.AsyncClient(base_url=server.url, limits=limits, timeout=120) as http:
            return await asyncio.gather(*(ask(http, number) for number in range(500)))

    with serving(backend) as server:
        assert asyncio.run(all_of_them(server)) == [True] * 500
        eventually(lambda: server.is_empty)


def test_a_slow_reader_holds_up_nobody():
    with serving(FakeBackend(lambda prompt: "z" * 3000, slots=2, budget=32)) as server:
        slow = socket.create_connection(("127.0.0.1", server.port))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        slow.sendall(request_bytes(server, {"prompt": "s", "stream": True}))
        began = time.monotonic()
        for _ in range(5):
            answer = httpx.post(f"{server.url}/v1/completions", json={"prompt": "f", "max_tokens": 5}, timeout=PATIENCE)
            assert answer.json()["choices"][0]["text"] == "zzzzz"
        assert time.monotonic() - began < PATIENCE
        # Its answer is complete although it has hardly been read, and holds no KV.
        eventually(lambda: server.is_empty)
        slow.settimeout(PATIENCE)
        heard = b""
        while b"[DONE]" not in heard:
            piece = slow.recv(65536)
            assert piece, "the server hung up"
            heard = heard[-20:] + piece
        slow.close()


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 401, "invalid_api_key"),
        ({"authorization": "Bearer hw-wrong"}, 401, "invalid_api_key"),
        ({"authorization": f"Basic {KEY}"}, 401, "invalid_api_key"),
        ({"authorization": f"Bearer {KEY}", "x-llm-d-inference-fairness-id": "batch"}, 403, "tenant_mismatch"),
        ({"authorization": f"Bearer {KEY}", "x-llm-d-slo-ttft-ms": "-5"}, 400, "invalid_value"),
    ],
)
def test_who_may_not(headers: dict[str, str], status: int, code: str):
    with serving(FakeBackend(), tenants=tenants_from_toml(TENANTS, "t.toml"), keys=True) as server:
        answer = httpx.post(f"{server.url}/v1/completions", json={"prompt": "x"}, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        assert KEY not in answer.text
        models = httpx.get(f"{server.url}/v1/models", headers={"authorization": "Bearer hw-wrong"})
        assert models.status_code == 401


def test_a_tenant_has_its_own_metrics_and_limits():
    tenants = tenants_from_toml(TENANTS, "t.toml")
    with serving(slow_backend(), tenants=tenants, keys=True) as server:
        held: list[socket.socket] = []
        for _ in range(2):
            one = socket.create_connection(("127.0.0.1", server.port))
            content = json.dumps({"prompt": "x", "stream": True}).encode()
            head = f"POST /v1/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n"
            one.sendall(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
            held.append(one)
        eventually(lambda: server.metric("headway_requests_running") == 2)
        url, body = f"{server.url}/v1/completions", {"prompt": "x", "max_tokens": 1}
        third = httpx.post(url, json=body, headers={"authorization": f"Bearer {KEY}"})
        assert (third.status_code, third.json()["error"]["code"]) == (429, "rate_limit_exceeded")
        assert server.metric('headway_rejections_total{class="",reason="rate_limit_exceeded",tenant="chat"}') == 1
        other = httpx.post(url, json=body, headers={"authorization": f"Bearer {OTHER}"}, timeout=PATIENCE)
        assert other.status_code == 200
        for one in held:
            one.close()
        eventually(lambda: server.is_empty)
        assert server.metric('headway_requests_total{class="",outcome="finished",tenant="batch"}') == 1
        assert server.metric('headway_requests_total{class="",outcome="cancelled",tenant="chat"}') == 2
        assert server.metric('headway_requests_total{class="",outcome="rejected",tenant="chat"}') == 1
        # Its places are free again.
        assert httpx.post(url, json=body, headers={"authorization": f"Bearer {KEY}"}).status_code == 200


def test_a_deadline_out_of_reach_is_told_with_a_time_to_try_again():
    backend = FakeBackend(lambda prompt: "z" * 500, slots=1, budget=8, cost=Piecewise(0.005, 0.0))
    with serving(backend, "least-slack", shedding="reject") as server:
        url = f"{server.url}/v1/completions"
        never = httpx.post(url, json={"prompt": "p" * 2000}, headers={"x-llm-d-slo-ttft-ms": "1"})
        assert (never.status_code, never.headers["x-should-retry"]) == (400, "false")
        assert never.json()["error"]["code"] == "unreachable"


def test_a_failure_of_the_backend_is_an_error_object_and_then_over():
    backend = slow_backend()
    with serving(backend) as server:
        url = f"{server.url}/v1/completions"
        with httpx.stream("POST", url, json={"prompt": "a", "stream": True}, timeout=PATIENCE) as running:
            lines = running.iter_lines()
            next(lines)
            backend.fail = 1
            rest = [line for line in lines if line]
        assert json.loads(rest[-1][6:])["error"]["code"] == "backend_failed"
        assert "data: [DONE]" not in rest
        assert httpx.post(url, json={"prompt": "b", "max_tokens": 1}).status_code == 200
        assert server.metric("headway_backend_restarts_total") == 1


def test_names_that_nobody_knows_do_not_fill_the_metrics():
    backend = FakeBackend(slots=1, budget=8, cost=Piecewise(0.005, 0.0))
    with serving(backend, "least-slack", shedding="reject") as server, httpx.Client() as http:
        for number in range(MOST_LABELS + 50):
            headers = {"x-llm-d-slo-ttft-ms": "1", TENANT_HEADER: f"name-{number}"}
            refused = http.post(f"{server.url}/v1/completions", json={"prompt": "p" * 2000}, headers=headers)
            assert refused.json()["error"]["code"] == "unreachable"
        series = [line for line in server.metrics.text().decode().splitlines() if "headway_requests_total{" in line]
        assert len(series) == MOST_LABELS + 1
        assert server.metric('headway_requests_total{class="other",outcome="rejected",tenant="other"}') == 50


def test_who_waits_is_counted_while_another_policy_takes_over():
    backend = slow_backend(slots=1)
    with serving(backend) as server:
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(4)]
        for client in clients:
            client.sendall(request_bytes(server, {"prompt": "x", "stream": True}))
        eventually(lambda: server.metric("headway_requests_waiting") == 3)
        engine = server.service.loop.scheduler.engine
        server.service.loop.use(lambda: Policy.of("psf").build(engine))
        assert server.metric("headway_requests_waiting") == 3
        assert server.metric("headway_requests_running") == 1
        for client in clients:
            client.close()
        eventually(lambda: server.is_empty)
