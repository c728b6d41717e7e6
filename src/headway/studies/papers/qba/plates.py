"""The figures and tables of the evaluation, as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from headway.measure.reproduction import Axis, Part, Plate, Sheet
from headway.studies.papers.qba.errors import ls, sl
from headway.studies.papers.qba.grid import ERRORS, LEVELS, LOADS, POLICIES, QUOTA, QUOTAS, REFERENCE, Point
from headway.studies.papers.qba.measures import Name
from headway.studies.papers.qba.model import Modelled
from headway.studies.papers.qba.runs import Runs
from headway.studies.papers.qba.windows import Windows

_BANDS = (
    "Bands are 95 % intervals of the mean over {seeds} seeds, which are the same for every policy: differences, by "
    "which claims are judged, scatter less than the bands show."
)
_LEVEL_LINES = "gamma = 0.8; the other policies, which have no k, are level lines."
_WAITS: dict[Name, str] = {
    "mean": "Mean wait (s)",
    "p99": "P99 wait (s)",
    "short": "P99 wait, true-short (s)",
    "long": "P99 wait, true-long (s)",
}


def load_part(runs: Runs, model: Modelled | None, seeds: int) -> Part:
    """Return Fig. 2: mean and P99 over the load, the model's curves, and what the engine did at the reference load."""
    lines = [(policy, rate, Point(policy, rate)) for policy in POLICIES for rate in LOADS]
    x = Axis("requests/s", "Arrivals (requests/s)")
    bands = _BANDS.format(seeds=seeds)
    titles: dict[Name, str] = {"mean": "Mean wait over the load", "p99": "P99 wait over the load"}
    plates = tuple(
        _lines(runs, f"fig2-{figure}", title, f"{bands} The axis is logarithmic.", lines, x, figure, log=True)
        for figure, title in titles.items()
    )
    if model is not None:
        plates = (*plates, *(_model_plate(model, name) for name in model.servers))
    text = (
        "Four policies at 26 to 40 requests/s on the same requests. The engine can take about 32 requests/s: above "
        "that the queue grows as long as requests arrive, so waits there depend on their number."
    )
    return Part("fig2", "Load sweep (Fig. 2)", (text,), plates, (_engine_sheet(runs),))


def sensitivity_part(runs: Runs, seeds: int) -> Part:
    """Return Fig. 3: the sweeps of k and gamma, the plane of mean and long tail, and what is kept of PSF's gain."""
    bands = _BANDS.format(seeds=seeds)
    k = Axis("k", "k (short prefills that earn a promotion)")
    gamma = Axis("gamma", "gamma (level of the quantile)")
    by_k = [("qba", float(value), Point("qba", k=value)) for value in sorted((*QUOTAS, QUOTA))]
    by_k += [(policy, float(end), Point(policy)) for policy in ("fcfs", "psf", "aa") for end in (QUOTAS[0], QUOTAS[-1])]
    by_gamma = [(policy, value, Point(policy, gamma=value)) for policy in ("qba", "aa") for value in LEVELS]
    plates = (
        _lines(runs, "fig3-k-mean", "Mean wait over k", f"{_LEVEL_LINES} {bands}", by_k, k, "mean", zero=True),
        _lines(runs, "fig3-k-p99", "P99 wait over k", f"{_LEVEL_LINES} {bands}", by_k, k, "p99", zero=True),
        _lines(runs, "fig3-gamma-p99", "P99 wait over gamma", f"QBA has k = 5. {bands}", by_gamma, gamma, "p99"),
        _lines(runs, "fig3-gamma-mean", "Mean wait over gamma", f"QBA has k = 5. {bands}", by_gamma, gamma, "mean"),
        _plane(runs),
    )
    text = ("QBA's two parameters at 32 requests/s, each varied while the other one keeps its default.",)
    return Part("fig3", "Sensitivity to k and gamma (Fig. 3)", text, plates, (_kept_sheet(runs),))


def errors_part(runs: Runs, seeds: int, part: Literal["fig4", "fig5"]) -> Part:
    """Return Fig. 4 or 5: mean and both tails over one kind of error."""
    of, kind = (sl, "short predicted long") if part == "fig4" else (ls, "long predicted short")
    x = Axis("error", f"Share of {kind}")
    lines = [(policy, error, of(policy, error)) for policy in POLICIES for error in ERRORS]
    bands = _BANDS.format(seeds=seeds)
    titles: dict[Name, str] = {
        "mean": f"Mean wait, {kind}",
        "short": f"P99 wait of true-short requests, {kind}",
        "long": f"P99 wait of true-long requests, {kind}",
    }
    plates = tuple(
        _lines(runs, f"{part}-{figure}", title, bands, lines, x, figure, zero=True) for figure, title in titles.items()
    )
    text = (
        f"{kind.capitalize()}, each with the given probability, at 32 requests/s; classes are the true ones. FCFS "
        "looks at no prediction, so its runs are those without error."
    )
    return Part(part, f"Errors: {kind} (Fig. {part[-1]})", (text,), plates)


def windows_part(found: Windows, trace: str) -> Part:
    """Return Table II: what the windows of a trace gave."""
    rows = [
        {
            "policy": policy,
            "mean wait (s)": found.mean(policy, "mean"),
            "against FCFS (%)": None if (apart := found.against_fcfs(policy)) is None else apart * 100,
            "P99 (s)": found.median(policy, "p99"),
            "true-short P99 (s)": found.median(policy, "short"),
            "true-long P99 (s)": found.median(policy, "long"),
            "TTFT (s)": found.mean(policy, "ttft"),
            "tokens/s": found.mean(policy, "throughput"),
            "batch use": found.mean(policy, "batch"),
            "OOM events in all": int(found.of(policy, "oom").sum()),
        }
        for policy in POLICIES
    ]
    caption = "P99 waits are medians over the windows; means are pooled over all requests."
    shown = pl.DataFrame(rows, schema_overrides={"against FCFS (%)": pl.Float64}).with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )
    sheet = Sheet("table2", f"{found.count} windows of {trace}", caption, shown, decimals=3)
    text = (
        f"{found.count} windows of {found.requests} requests each, in order, none in two; time is scaled to 32 "
        f"requests/s and lengths by 0.44. Scaled, a request has {found.tokens:.0f} tokens in the mean, the squared "
        f"coefficient of variation of the gaps is {found.scv:.2f}, and the requests with the longest 15 % of answers "
        f"carry {found.long_share * 100:.0f} % of all tokens. Every window begins with an idle engine and lasts "
        f"{found.requests / REFERENCE:.0f} s, so that no long queue can build up in it, and P99 of its few "
        "long requests is nearly their longest wait."
    )
    judged = (
        "The paper gives no intervals here: throughput is as reported within 5 %, a tail or a coefficient of variation "
        "within a tenth."
    )
    return Part("table2", "Windows of a production trace (Table II)", (text, judged), (), (sheet,))


def _lines(
    runs: Runs,
    name: str,
    title: str,
    caption: str,
    lines: Sequence[tuple[str, float, Point]],
    x: Axis,
    figure: Name,
    *,
    log: bool = False,
    zero: bool = False,
) -> Plate:
    """Return a plate with a line for each policy, through (policy, place on the x axis, point)."""
    rows = [
        {"policy": policy, x.column: place, **_with_interval(runs, point, figure)} for policy, place, point in lines
    ]
    y = Axis("seconds", _WAITS[figure], log=log, zero=zero)
    return Plate(name, title, caption, pl.DataFrame(rows), x, y, series="policy", low="low", high="high")


def _with_interval(runs: Runs, point: Point, figure: Name) -> dict[str, float | None]:
    found = runs.estimate(point, figure)
    low, high = (None, None) if found.interval is None else (found.interval.low, found.interval.high)
    return {"seconds": found.value, "low": low, "high": high}


def _plane(runs: Runs) -> Plate:
    """Return mean against long tail: the four policies as points, k and gamma as paths."""
    paths = [
        *(("qba over k", _quota(runs, k), Point("qba", k=k)) for k in QUOTAS),
        *(("qba over gamma", _level(gamma), Point("qba", gamma=gamma)) for gamma in LEVELS),
        *(("aa over gamma", _level(gamma), Point("aa", gamma=gamma)) for gamma in LEVELS),
        *((policy, policy.upper(), Point(policy)) for policy in POLICIES),
    ]
    rows = [
        {
            "path": path,
            "point": words,
            "mean": runs.mean(point, "mean"),
            **{
                f"long {key}".removesuffix(" seconds"): value
                for key, value in _with_interval(runs, point, "long").items()
            },
            "share of PSF's gain kept": runs.share_kept(point).value,
        }
        for path, words, point in paths
    ]
    caption = (
        "Left is the better mean, down the better long tail. Beside each k stands the share of PSF's gain in the mean "
        "that it keeps. Whiskers are 95 % intervals."
    )
    return Plate(
        "fig3-plane",
        "Mean wait against the tail of long requests",
        caption,
        pl.DataFrame(rows),
        Axis("mean", "Mean wait (s)"),
        Axis("long", "P99 wait, true-long (s)"),
        "path",
        series="path",
        low="long low",
        high="long high",
        text="point",
        wide=True,
    )


def _level(gamma: float) -> str:
    """Return what stands beside a point of a path over gamma: its ends, so that texts stay apart."""
    return f"gamma = {gamma:g}" if gamma in (0.5, 1.0) else ""


def _quota(runs: Runs, k: int) -> str:
    """Return what stands beside a point of the path over k: where it is crowded, only at its end."""
    if 8 < k < QUOTAS[-1]:
        return ""
    return f"k = {k} ({runs.share_kept(Point('qba', k=k)).value * 100:.0f} %)"


def _kept_sheet(runs: Runs) -> Sheet:
    points = [
        *(Point(policy) for policy in POLICIES),
        *(Point("qba", k=k) for k in QUOTAS),
        *(Point(policy, gamma=gamma) for policy in ("qba", "aa") for gamma in LEVELS),
    ]
    rows = [_kept_row(runs, point) for point in dict.fromkeys(points)]
    caption = (
        "Of FCFS's mean wait less PSF's: the share that each policy saves, with the half width of its 95 % interval. "
        "Where nothing else is said k is 5 and gamma 0.8."
    )
    return Sheet("fig3-share-kept", "Share of PSF's gain that is kept", caption, pl.DataFrame(rows))


def _kept_row(runs: Runs, point: Point) -> dict[str, str | float | None]:
    kept = runs.share_kept(point)
    return {
        "policy": point.spec,
        "mean wait (s)": runs.mean(point, "mean"),
        "P99 (s)": runs.mean(point, "p99"),
        "true-short P99 (s)": runs.mean(point, "short"),
        "true-long P99 (s)": runs.mean(point, "long"),
        "share kept (%)": kept.value * 100,
        "± (points)": None if kept.interval is None else kept.half * 100,
    }


def _engine_sheet(runs: Runs) -> Sheet:
    heads: dict[str, Name] = {
        "mean wait (s)": "mean",
        "P99 (s)": "p99",
        "true-short P99 (s)": "short",
        "true-long P99 (s)": "long",
        "TTFT (s)": "ttft",
        "TTFT P99 (s)": "ttft p99",
        "tokens/s": "throughput",
        "batch use": "batch",
        "OOM events a run": "oom",
    }
    rows = [
        {"policy": policy, **{head: runs.mean(Point(policy), figure) for head, figure in heads.items()}}
        for policy in POLICIES
    ]
    caption = "Means over the seeds; TTFT is counted from arrival, OOM events are iterations above the KV capacity."
    return Sheet("fig2-at-32", "All four policies at 32 requests/s", caption, pl.DataFrame(rows))


_SERVERS = {
    "literal": "The number of servers n is the paper's formula: decode slots and safe concurrency, rounded down.",
    "fitted": "The number of servers n is fitted to the simulator's wait of FCFS at 30 requests/s.",
}


def _model_plate(model: Modelled, name: str) -> Plate:
    """Return the mean waits of the model beside those of the simulator, with one number of servers."""
    stable = model.stable(name)
    simulated = [("simulator", policy, rate, model.runs.mean(Point(policy, rate), "mean")) for policy, rate in _CURVES]
    of_model = [("model", policy, rate, model.waits[name, policy, rate]) for policy, rate in _CURVES if rate in stable]
    caption = (
        f"{_SERVERS[name]} n = {model.servers[name]:.3g}; the model has a mean wait up to "
        f"{stable[-1] if stable else 0:g} requests/s. It is to be read for the order of the policies, not for the size."
    )
    return Plate(
        f"fig2-model-{name}",
        f"Mean wait of the reduced model, {name} n",
        caption,
        pl.DataFrame([*simulated, *of_model], schema=["by", "policy", "requests/s", "seconds"], orient="row"),
        Axis("requests/s", "Arrivals (requests/s)"),
        Axis("seconds", "Mean wait (s)", log=True),
        series="policy",
        dash="by",
    )


_CURVES = tuple((policy, rate) for policy in POLICIES for rate in LOADS)
