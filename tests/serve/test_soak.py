"""Ten minutes at one and a half times what the server can do: memory stays flat and nobody is lost."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.serve.test_process import Process

SECONDS = 600.0
CAPACITY = 8 / (300 * 0.005)  # requests a second: eight slots, 300 tokens, an iteration of 5 ms
LOAD = 1.5
LEAVING = 0.1  # share of the clients that hang up at some time
CONFIG = """[engine]
slots = 8
[policy]
order = "qba(k=3)"
shed = "queue-cap(requests=40)"
"""


def resident(pid: int) -> int:
    """Memory of a process, in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096


def outcomes(metrics: str) -> Counter[str]:
    found = re.findall(r'^headway_requests_total\{.*outcome="(\w+)".*\} (\S+)$', metrics, re.MULTILINE)
    counted: Counter[str] = Counter()
    for outcome, count in found:
        counted[outcome] += int(float(count))
    return counted


async def client(http: httpx.AsyncClient, number: int, heard: Counter[str]) -> None:
    draw = random.Random(number)
    label = draw.choice(["short", "long"])
    body = {"prompt": f"question {number}", "stream": draw.random() < 0.5, "max_tokens": draw.choice([20, 300, 300])}
    leaves = draw.uniform(0.0, 4.0) if draw.random() < LEAVING else None
    try:
        asked = http.post("/v1/completions", json=body, headers={"x-headway-predicted": label})
        answer = await asyncio.wait_for(asked, leaves)
    except TimeoutError:
        heard["left"] += 1
    else:
        heard[str(answer.status_code)] += 1


async def soak(process: Process) -> tuple[Counter[str], list[int]]:
    assert process.running is not None
    heard: Counter[str] = Counter()
    sizes: list[int] = []
    draw = random.Random(0)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    async with httpx.AsyncClient(base_url=process.url, timeout=120, limits=limits) as http:
        clock = asyncio.get_running_loop().time
        began, at, number = clock(), 0.0, 0
        tasks: list[asyncio.Task[None]] = []
        while at < SECONDS:
            await asyncio.sleep(max(began + at - clock(), 0.0))
            tasks.append(asyncio.create_task(client(http, number, heard)))
            number += 1
            if number % 40 == 0:
                sizes.append(resident(process.running.pid))
            at += draw.expovariate(LOAD * CAPACITY)
        await asyncio.gather(*tasks)
    assert sum(heard.values()) == number
    return heard, sizes


@pytest.mark.slow
def test_ten_minutes_of_overload(tmp_path: Path):
    process = Process(tmp_path, CONFIG)
    process.start()
    try:
        heard, sizes = asyncio.run(soak(process))
        metrics = httpx.get(f"{process.url}/metrics").text
        counted = outcomes(metrics)
        # Each ended in one way, and clients were told the same as the server counted. Who left may have done so before
        # anything arrived, or after all was said.
        told = heard["200"] + heard["429"]
        assert told <= sum(counted.values()) <= told + heard["left"]
        assert heard["200"] <= counted["finished"] <= heard["200"] + heard["left"]
        assert heard["429"] <= counted["rejected"] <= heard["429"] + heard["left"]
        assert heard["429"] > 0
        assert set(heard) == {"200", "429", "left"}
        assert counted["failed"] == counted["closed"] == 0
        assert "headway_requests_waiting 0.0" in metrics
        assert "headway_kv_tokens_used 0.0" in metrics
        early, late = max(sizes[len(sizes) // 5 : len(sizes) // 3]), max(sizes[-len(sizes) // 5 :])
        assert late < 1.1 * early + 5_000_000, f"{early:,} bytes became {late:,}"
        assert [event["event"] for event in process.events()] == ["serving"]
    finally:
        assert process.running is not None
        process.running.kill()
        process.running.wait()
