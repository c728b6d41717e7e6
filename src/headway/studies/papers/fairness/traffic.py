"""The requests of the set-ups: seed → trace. All lengths are in tokens, times in seconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from headway.workload.named import workload
from headway.workload.tenants_toml import tenants_from_toml
from headway.workload.trace import Trace
from headway.workload.transform import scale_lengths

Sent = tuple[float, str, int, int]  # arrival, tenant, prompt, output

RETURN = 6002.0
"""When the idle tenant comes back."""

OVERLOADED = 600
"""Seconds of overload by two tenants."""

CLASSES = {"chat": "ttft_slo = 6\nitl_slo = 0.05", "reports": "completion_slo = 600", "index": "completion_slo = 1800"}
"""Three classes, a third of the requests each."""

_CLASS = """
[[tenant]]
name = "{name}"
class = "{name}"
arrivals = "gamma(rate={rate}, cv=2)"
prompt = "lognormal(mean=1200, cv=2, low=16, high=16384)"
output = "lognormal(mean=200, cv=0.8, low=8, high=1024)"
{promises}
"""


def long_and_short(_: int) -> Trace:
    """400 requests of 100 in and 1000 out, and 4000 of 100 in and 50 out, all at once."""
    return _trace("long and short", [(0.0, "long", 100, 1000)] * 400 + [(0.0, "short", 100, 50)] * 4000)


def idle_return(_: int) -> Trace:
    """One tenant sends every four seconds, the other nothing; then both send 3000, the idle one a second earlier."""
    sent = [(4.0 * step, "a", 100, 100) for step in range(1501)]
    sent += [(RETURN, "b", 100, 100)] * 3000 + [(RETURN + 1, "a", 100, 100)] * 3000
    return _trace("idle return", sent)


def two_rates(seed: int, weights: tuple[float, float] = (1.0, 1.0)) -> Trace:
    """1.5 and 3 requests/s of 256 in and 256 out, on an engine that serves two a second; weights of slow and fast."""
    rng = np.random.default_rng(seed + 1)
    sent = [
        (float(at), tenant, 256, 256)
        for tenant, rate in (("slow", 1.5), ("fast", 3.0))
        for at in rng.exponential(1 / rate, int(rate * OVERLOADED * 1.2)).cumsum()
        if at < OVERLOADED
    ]
    shares: dict[str, float] = dict(zip(("slow", "fast"), weights, strict=True))
    return _trace("two rates", sent, weight=[shares[tenant] for _, tenant, *_ in _by_arrival(sent)])


def weighted(seed: int) -> Trace:
    """The same, where the slower sender has twice the weight."""
    return two_rates(seed, (2.0, 1.0))


def three_classes(seed: int, rate: float, seconds: int) -> Trace:
    """Bursty arrivals of the three classes; lengths are known."""
    text = f"duration = {seconds}\n"
    text += "".join(_CLASS.format(name=name, rate=rate / 3, promises=terms) for name, terms in CLASSES.items())
    frame = tenants_from_toml(text, "three classes").draw(seed).frame
    return Trace.from_frame("three classes", frame.with_columns(predicted=pl.col("output_tokens").cast(pl.Float64)))


def two_tenants_in_a_hurry(seed: int) -> Trace:
    """Two tenants in bursts; any request of either may have 2, 10 or 40 s to its first token, one tenant sends more."""
    rng = np.random.default_rng(seed + 7)
    sent: list[Sent] = []
    for burst in range(6):
        for tenant, count in (("few", 150), ("many", 450)):
            at = np.sort(rng.uniform(100.0 * burst, 100.0 * burst + 20, count))
            sent += [(float(time), tenant, int(rng.integers(200, 1800)), 60) for time in at]
    promised = rng.choice([2.0, 10.0, 40.0], len(sent)).tolist()
    return _trace("two tenants in a hurry", sent, ttft_slo=promised)


def mix(seed: int) -> Trace:
    """One tenant: many prompts of 150 tokens beside few of 12,000, all promised a first token within 5 s."""
    rng = np.random.default_rng(seed + 3)
    sent: list[Sent] = []
    for prompt, rate in ((150, 10.0), (12_000, 0.3)):
        at = rng.exponential(1 / rate, int(rate * 720)).cumsum()
        sent += [(float(time), "one", prompt, 30) for time in at if time < 600]
    kinds = ["long" if prompt > 1000 else "short" for *_, prompt, _ in _by_arrival(sent)]
    return _trace("a mix", sent, **{"class": kinds, "ttft_slo": [5.0] * len(sent)})


def burst(_: int) -> Trace:
    """20 prompts of 8,192 tokens at once, and a short request just after."""
    sent = [(0.0, "one", 8192, 20)] * 20 + [(0.01, "one", 100, 20)]
    return _trace("a burst", sent, **{"class": ["long"] * 20 + ["short"]})


def starving(seed: int, seconds: float) -> Trace:
    """Short requests somewhat above what the engine serves for so long, and ten long ones at the beginning."""
    rng = np.random.default_rng(seed + 5)
    at = rng.exponential(1 / 40, int(50 * seconds)).cumsum()
    sent: list[Sent] = [(5.0, "one", 4000, 30)] * 10
    sent += [(float(time), "one", 200, 20) for time in at if time < seconds]
    kinds = ["long" if prompt > 1000 else "short" for *_, prompt, _ in _by_arrival(sent)]
    return _trace("short work keeps coming", sent, **{"class": kinds})


def beside_streams(_: int, streams: int = 240) -> Trace:
    """Streams that decode at full speed, and after 10 s one prompt of 65,536 tokens."""
    sent = [(0.0, "stream", 8, 1500)] * streams + [(10.0, "book", 65_536, 100)]
    return _trace("a book beside streams", sent, **{"class": ["stream"] * streams + ["book"]})


def steady(seed: int) -> Trace:
    """Streams of medium length at 60 % of the load, for what orders and slots do to tokens."""
    rng = np.random.default_rng(seed + 11)
    at = rng.exponential(1 / 4.0, 1200).cumsum()
    sent = [(float(time), "one", int(rng.integers(100, 1500)), int(rng.integers(50, 400))) for time in at]
    return _trace("steady", sent, ttft_slo=[10.0] * len(sent))


def small_burst(_: int) -> Trace:
    """1,600 requests in four seconds."""
    return workload("uniform(n=1600, rate=400, prompt_low=100, prompt_high=300, output_low=20, output_high=80)")


def large_burst(_: int) -> Trace:
    """As many requests at the same times, with ten times the tokens."""
    return scale_lengths(small_burst(0), 10)


def _trace(name: str, sent: Sequence[Sent], **columns: Sequence[object]) -> Trace:
    """Return requests in order of arrival; `columns` are in that order too."""
    arrival, tenant, prompt, output = zip(*_by_arrival(sent), strict=True)
    known = {"arrival": arrival, "tenant": tenant, "prompt_tokens": prompt, "output_tokens": output}
    return Trace.from_frame(name, pl.DataFrame({**known, **columns}))


def _by_arrival(sent: Sequence[Sent]) -> list[Sent]:
    return sorted(sent, key=lambda one: one[0])
