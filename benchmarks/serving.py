"""headway serve beside llama.cpp's own server: the same model file, threads, KV and requests, in turns.

Needs the package xllamacpp, which wraps that server, in the environment of --peer-python (or in this one).

    python benchmarks/serving.py MODEL.gguf --threads 1
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

KV, SLOTS = 16384, 16
PEER = """
import sys, time
import xllamacpp as x
p = x.CommonParams()
p.model.path = sys.argv[1]; p.port = int(sys.argv[2])
p.n_ctx = int(sys.argv[4]); p.n_parallel = int(sys.argv[5]); p.kv_unified = True; p.cont_batching = True
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = int(sys.argv[3]); p.cache_prompt = False; p.warmup = True
p.cache_ram_mib = 0
server = x.Server(p)
print(server.listening_address, flush=True)
while True: time.sleep(60)
"""


@dataclass
class Heard:
    """Times of one request, in seconds from its sending."""

    first: float
    last: float
    tokens: int
    label: str


@contextlib.contextmanager
def headway(model: Path, threads: int, options: list[str]) -> Iterator[str]:
    port = free_port()
    command = [str(Path(sys.executable).with_name("headway")), "serve", "--model", str(model), "--port", str(port)]
    sizes = ["--threads", str(threads), "--kv-tokens", str(KV), "--slots", str(SLOTS), "--log-level", "warning"]
    with running([*command, *sizes, *options], port) as url:
        yield url


@contextlib.contextmanager
def peer(python: str, model: Path, threads: int) -> Iterator[str]:
    port = free_port()
    arguments = [str(model), str(port), str(threads), str(KV), str(SLOTS)]
    with running([python, "-c", PEER, *arguments], port) as url:
        yield url


@contextlib.contextmanager
def running(command: list[str], port: int) -> Iterator[str]:
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            for _ in range(600):
                with contextlib.suppress(httpx.TransportError):
                    if httpx.get(f"{url}/health").status_code == 200:
                        break
                if process.poll() is not None:
                    log.seek(0)
                    sys.exit(f"{command[0]} ended: {log.read().decode()[-2000:]}")
                time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            process.wait(60)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


async def ask(http: httpx.AsyncClient, words: int, tokens: int, label: str | None, seed: int) -> Heard:
    """Send one request and hear it to its end; prompts differ, so that nothing is cached."""
    draw = random.Random(seed)
    prompt = " ".join(draw.choice(WORDS) for _ in range(words))
    body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True, "stream": True}
    headers = {} if label is None else {"x-headway-predicted": label}
    began, first, seen = time.perf_counter(), 0.0, 0
    async with http.stream("POST", "/v1/completions", json=body, headers=headers) as answer:
        async for line in answer.aiter_lines():
            if not line.startswith("data: {"):
                continue
            choices = json.loads(line[6:])["choices"]
            if choices and (choices[0].get("finish_reason") is None or choices[0].get("text")):
                seen += 1
                first = first or time.perf_counter() - began
    return Heard(first, time.perf_counter() - began, tokens, label or "")


FRESH = httpx.Limits(max_connections=None, max_keepalive_connections=0)  # the peer hangs up after some requests
WORDS = [f"word{number}" for number in range(50)]


async def closed(url: str, clients: int, each: int) -> float:
    """Tokens a second (prompt and answer) of so many clients, each sending one request after the other."""
    async with httpx.AsyncClient(base_url=url, timeout=600, limits=FRESH) as http:

        async def client(number: int) -> int:
            total = 0
            for turn in range(each):
                heard = await ask(http, 60, 48, None, seed=1000 * number + turn)
                total += heard.tokens
            return total

        began = time.perf_counter()
        tokens = sum(await asyncio.gather(*map(client, range(clients))))
        return tokens / (time.perf_counter() - began)


async def mixed(url: str, seconds: float, rate: float, *, labels: bool) -> list[Heard]:
    """An open stream of three short requests to one long one; each with its exact label, or with none."""
    draw = random.Random(7)
    async with httpx.AsyncClient(base_url=url, timeout=600, limits=FRESH) as http:
        tasks: list[asyncio.Task[Heard]] = []
        began = time.perf_counter()
        at, number = 0.0, 0
        kinds: list[bool] = []
        while at < seconds:
            await asyncio.sleep(max(began + at - time.perf_counter(), 0.0))
            long = number % 4 == 3
            words, tokens = (200, 160) if long else (30, 16)
            label = ("long" if long else "short") if labels else None
            tasks.append(asyncio.create_task(ask(http, words, tokens, label, seed=number)))
            kinds.append(long)
            number += 1
            at += draw.expovariate(rate)
        heard = await asyncio.gather(*tasks)
        for one, long in zip(heard, kinds, strict=True):
            one.label = "long" if long else "short"
        return heard


def p99(values: list[float]) -> float:
    return sorted(values)[min(int(len(values) * 0.99), len(values) - 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--each", type=int, default=6, help="requests of each client")
    parser.add_argument("--rate", type=float, default=0.7, help="requests a second of the mixed load")
    parser.add_argument("--seconds", type=float, default=120.0, help="of the mixed load")
    parser.add_argument("--budgets", type=int, nargs="+", default=[128], help="positions of an iteration of headway")
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 4, 8, 16], help="of the closed loops")
    told = parser.parse_args()

    if told.clients and told.rounds:
        throughput(told)
    if told.seconds:
        first_tokens(told)


def throughput(told: argparse.Namespace) -> None:
    """Closed loops on both servers, in turns."""
    found: dict[tuple[int, int], list[float]] = {}
    for _ in range(told.rounds):
        for budget in (*told.budgets, 0):
            server = (
                headway(told.model, told.threads, ["--token-budget", str(budget)])
                if budget
                else peer(told.peer_python, told.model, told.threads)
            )
            with server as url:
                asyncio.run(closed(url, 1, 1))
                for clients in told.clients:
                    found.setdefault((budget, clients), []).append(asyncio.run(closed(url, clients, told.each)))
    print(f"generated tokens/s, best of {told.rounds}")
    print(f"{'clients':>8}{'budget':>8}{'headway':>12}{'llama.cpp':>12}{'ratio':>8}")
    for clients in told.clients:
        for budget in told.budgets:
            ours, theirs = max(found[budget, clients]), max(found[0, clients])
            print(f"{clients:>8}{budget:>8}{ours:>12.1f}{theirs:>12.1f}{ours / theirs:>8.2f}", flush=True)


def first_tokens(told: argparse.Namespace) -> None:
    """An open mixed load, on the peer and under several policies."""
    sizes = ["--token-budget", str(told.budgets[0])]
    print(f"\nmixed load, {told.rate:g} requests/s for {told.seconds:g} s: time to first token of short requests (s)")
    print(f"{'server':<12}{'policy':<12}{'labels':<8}{'p50':>8}{'p99':>8}{'long p99':>10}{'end':>8}")
    rows = [("llama.cpp", "", False)]
    rows += [("headway", "fcfs", False)]  # by arrival, whatever the labels say
    rows += [("headway", policy, labels) for policy in ("psf", "qba(k=3)") for labels in (False, True)]
    for name, policy, labels in rows:
        server = (
            headway(told.model, told.threads, [*sizes, "--policy", policy])
            if name == "headway"
            else peer(told.peer_python, told.model, told.threads)
        )
        with server as url:
            asyncio.run(closed(url, 1, 1))
            heard = asyncio.run(mixed(url, told.seconds, told.rate, labels=labels))
        short = [one.first for one in heard if one.label == "short"]
        long = [one.first for one in heard if one.label == "long"]
        end = max(one.last for one in heard)
        shown = "yes" if labels else "no"
        middle = sorted(short)[len(short) // 2]
        row = f"{name:<12}{policy:<12}{shown:<8}{middle:>8.2f}{p99(short):>8.2f}{p99(long):>10.2f}{end:>8.1f}"
        print(row, flush=True)


if __name__ == "__main__":
    main()
