"""The API, asked by the official client and by hand."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from headway.core.cost import Piecewise
from headway.testing.fake_backend import FakeBackend
from tests.serve.served import Served, eventually, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    def answer(prompt: str) -> str:
        return (
            prompt[:-1].rsplit("\n", 2)[-2].removeprefix("user: ").upper() if "assistant:" in prompt else prompt[::-1]
        )

    with serving(FakeBackend(answer)) as one:
        yield one


@pytest.fixture(scope="module")
def client(server: Served) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)


def asked(server: Served, path: str = "/v1/completions", **body: Any) -> httpx.Response:
    return httpx.post(server.url + path, json=body, timeout=20)


def test_a_chat_with_the_official_client(client):
    answer = client.chat.completions.create(model="fake", messages=[{"role": "user", "content": "grüße, 漢字 😀"}])
    choice = answer.choices[0]
    assert (choice.message.content, choice.message.role, choice.finish_reason) == (
        "GRÜSSE, 漢字 😀",
        "assistant",
        "stop",
    )
    assert answer.usage is not None
    assert answer.usage.completion_tokens == len("GRÜSSE, 漢字 😀".encode())
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_stream_with_the_official_client(client):
    stream = client.chat.completions.create(
        model="fake",
        messages=[{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "hé 😀"}]}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "HÉ 😀"
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == len("HÉ 😀".encode())
    assert len({chunk.id for chunk in chunks}) == 1


def test_completions_whole_and_streamed(client):
    whole = client.completions.create(model="fake", prompt="abc", max_tokens=2)
    assert (whole.choices[0].text, whole.choices[0].finish_reason) == ("cb", "length")
    pieces = list(client.completions.create(model="fake", prompt="abc", stream=True, stop=["a"]))
    assert "".join(piece.choices[0].text for piece in pieces) == "cb"
    assert pieces[-1].choices[0].finish_reason == "stop"


def test_a_prompt_of_tokens(server):
    assert asked(server, prompt=[97, 98]).json()["choices"][0]["text"] == "ba"
    wrong = asked(server, prompt=[97, 9999]).json()["error"]
    assert (wrong["code"], wrong["param"]) == ("invalid_token", "prompt")


def test_models(client, server):
    assert [model.id for model in client.models.list()] == ["fake"]
    assert client.models.retrieve("fake").owned_by == "headway"
    with pytest.raises(openai.NotFoundError, match="'gpt-4' is not served here"):
        client.models.retrieve("gpt-4")
    with pytest.raises(openai.NotFoundError, match="'gpt-4' is not served here"):
        client.completions.create(model="gpt-4", prompt="x")


@pytest.mark.parametrize(
    ("body", "status", "code", "param"),
    [
        ({"prompt": "x", "colour": 1}, 400, "unknown_parameter", "colour"),
        ({"prompt": "x", "n": 2}, 400, "unsupported_value", "n"),
        ({"prompt": "x", "frequency_penalty": 0.5}, 400, "unsupported_value", "frequency_penalty"),
        ({"prompt": "x", "logit_bias": {"5": 1}}, 400, "unsupported_value", "logit_bias"),
        ({"prompt": "x", "max_tokens": True}, 400, "invalid_value", "max_tokens"),
        ({"prompt": "x", "max_tokens": "5"}, 400, "invalid_value", "max_tokens"),
        ({"prompt": "x", "stream": 1}, 400, "invalid_value", "stream"),
        ({"prompt": "x", "max_tokens": 0}, 400, "invalid_value", "max_tokens"),
        ({"prompt": "x", "max_tokens": "many"}, 400, "invalid_value", "max_tokens"),
        ({"prompt": "x", "temperature": -1}, 400, "invalid_value", "temperature"),
        ({"prompt": "x", "stop": ["a"] * 5}, 400, "invalid_value", "stop"),
        ({"prompt": "x", "stream_options": {"include_usage": True}}, 400, "invalid_value", None),
        ({"prompt": "x", "service_tier": "gold"}, 400, "invalid_value", "service_tier"),
        ({"prompt": "x", "top_k": 2**31}, 400, "invalid_value", "top_k"),
        ({"prompt": ""}, 400, "empty_prompt", "prompt"),
        ({"prompt": ["a", "b"]}, 400, "invalid_value", "prompt"),
        ({"prompt": "x" * 5000}, 400, "context_length_exceeded", "prompt"),
        ({}, 400, "missing_required_parameter", "prompt"),
    ],
)
def test_what_is_wrong_is_named(server, body: dict[str, Any], status: int, code: str, param: str | None):
    answer = asked(server, **body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param)
    assert error["type"] == "invalid_request_error"
    assert "\n" not in error["message"]
    assert len(error["message"]) < 300


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b'{"prompt": "x"', "invalid_json"),
        (b'{"prompt": "\xff\xfe"}', "invalid_json"),
        (b'{"prompt": "\\ud800"}', "invalid_value"),
        (b'{"prompt": "x", "model": "\\ud800"}', "invalid_value"),
        (b'{"prompt": "x", "stop": "\\udc00"}', "invalid_value"),
        (b"[1, 2]", "invalid_value"),
        (b"null", "invalid_value"),
        (b"", "missing_required_parameter"),
        (b'"' + b"x" * 10_000_000 + b'"', "body_too_large"),
    ],
)
def test_bodies_that_are_none(server, content: bytes, code: str):
    answer = httpx.post(f"{server.url}/v1/completions", content=content, headers={"content-type": "application/json"})
    assert answer.json()["error"]["code"] == code
    assert answer.status_code == (413 if code == "body_too_large" else 400)


def test_a_body_without_a_length_ends_too(server):
    def endless() -> Iterator[bytes]:
        yield b'{"prompt": "'
        for _ in range(200):
            yield b"x" * 50_000

    try:
        answer = httpx.post(f"{server.url}/v1/completions", content=endless())
    except httpx.WriteError:  # it hung up in the middle, as it may
        return
    assert answer.status_code == 413


def test_a_body_without_a_type_is_taken_as_json(server):
    answer = httpx.post(f"{server.url}/v1/completions", content=b'{"prompt": "ab"}', headers={"content-type": "text/x"})
    assert answer.json()["choices"][0]["text"] == "ba"


def test_what_is_expected_is_said_of_parameters_of_several_types(server):
    assert "or a list of tokens" in asked(server, prompt={"a": 1}).json()["error"]["message"]
    assert "or a list of texts" in asked(server, prompt="x", stop=5).json()["error"]["message"]


def test_answers_can_be_sent_back_as_clients_keep_them(server):
    said = {"role": "assistant", "content": None, "tool_calls": [], "function_call": None, "refusal": None}
    turns = [{"role": "user", "content": "a"}, said, {"role": "user", "content": "b"}]
    url = f"{server.url}/v1/chat/completions"
    assert httpx.post(url, json={"messages": turns}).status_code == 200
    silent = httpx.post(url, json={"messages": [{"role": "user", "content": None}]})
    assert (silent.status_code, silent.json()["error"]["param"]) == (400, "messages")
    called = httpx.post(url, json={"messages": turns, "tools": [{"type": "function"}]})
    assert (called.status_code, called.json()["error"]["code"]) == (400, "unsupported_value")
    assert "not supported" in called.json()["error"]["message"]


def test_health_is_there_for_those_who_ask_for_the_head_alone(server):
    answer = httpx.head(f"{server.url}/health")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v2/x", 404), ("GET", "/v1/completions", 405)])
def test_other_paths_and_methods(server, method: str, path: str, status: int):
    answer = httpx.request(method, server.url + path)
    assert (answer.status_code, answer.json()["error"]["type"]) == (status, "invalid_request_error")


def test_health_metrics_and_openapi(server):
    assert httpx.get(f"{server.url}/health").json()["status"] == "ok"
    metrics = httpx.get(f"{server.url}/metrics").text
    for name in (
        "headway_requests_waiting",
        "headway_requests_running",
        "headway_kv_tokens_used",
        "headway_evictions_total",
        "headway_time_to_first_token_seconds_bucket",
        "headway_inter_token_seconds_bucket",
        "headway_request_seconds_bucket",
        "headway_outstanding_positions",
        "headway_outstanding_seconds",
    ):
        assert f"\n{name}" in metrics
    paths = httpx.get(f"{server.url}/openapi.json").json()["paths"]
    assert {"/v1/chat/completions", "/v1/completions", "/v1/models", "/health", "/metrics"} <= set(paths)
    assert "swagger" in httpx.get(f"{server.url}/docs").text


def test_a_full_queue_is_told_and_health_is_not():
    backend = FakeBackend(lambda prompt: "z" * 3000, slots=1, cost=Piecewise(0.002, 0.0))
    with serving(backend, shedding="queue-cap(requests=1)") as server:
        url = f"{server.url}/v1/completions"
        with httpx.stream("POST", url, json={"prompt": "a", "stream": True}, timeout=20) as running:
            lines = running.iter_lines()
            next(lines)
            waiting = threading.Thread(target=lambda: asked(server, prompt="b", max_tokens=1))
            waiting.start()
            eventually(lambda: server.metric("headway_requests_waiting") == 1)
            refused = httpx.post(url, json={"prompt": "c"})
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "queue_full")
            assert int(refused.headers["retry-after"]) >= 1
            assert int(refused.headers["retry-after-ms"]) > 0
            assert refused.headers["x-should-retry"] == "true"
            assert httpx.get(f"{server.url}/health").status_code == 200
        waiting.join(20)
        assert not waiting.is_alive()
        eventually(lambda: server.is_empty)
        assert server.metric('headway_rejections_total{class="",reason="queue_full",tenant="default"}') == 1


def test_events_are_lines_of_data(server):
    with httpx.stream("POST", f"{server.url}/v1/completions", json={"prompt": "ab", "stream": True}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line]
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"
    assert "".join(json.loads(line[6:])["choices"][0]["text"] for line in lines[:-1]) == "ba"


def test_counts_in_every_chunk_where_they_are_wanted(server):
    options = {"include_usage": True, "continuous_usage_stats": True}
    body = {"prompt": "abc", "stream": True, "stream_options": options}
    with httpx.stream("POST", f"{server.url}/v1/completions", json=body) as answer:
        chunks = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: {")]
    counted = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert counted == sorted(counted)
    assert (counted[-1], chunks[-1]["choices"]) == (3, [])


def test_prompts_that_cannot_be_answered_are_counted_as_that(server):
    line = 'headway_requests_total{class="",outcome="invalid",tenant="default"}'
    before = server.metric(line)
    asked(server, prompt="")
    asked(server, prompt="x" * 5000)
    eventually(lambda: server.metric(line) == before + 2)
