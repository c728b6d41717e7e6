"""ServeGen: a folder of clients, each given by windows of time; the requests are drawn from them.

A client i is two files, `chunk-i-trace.csv` and `chunk-i-dataset.json`, and becomes the tenant `chunk-i`:

- The CSV has no header; a row is a window: start (s), rate (requests/s), coefficient of variation (CV) of the gaps,
  family of the gaps (empty where there are no requests), two fitted parameters (not used: rate and CV say the same).
- The JSON has, for starts of windows, `input_tokens` and `output_tokens`: {tokens: probability} as texts.

A window of rate r and length t gets r·t requests, a fraction rounded up or down at random. The gaps are drawn from the
family at the CV, and stretched so that they fill the window: a renewal process that starts anew in each window
would have far too many requests where the CV is high. Lengths come from the last histogram that does not begin after
the window (the first where there is none), prompts and outputs independently; a prompt of 0 tokens counts as 1. The
last window is as long as the one before it; a single one is 600 s long, as in the published files.
Source: ServeGen (Xiang et al., 2025).
"""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PolarsError

from headway.core.errors import InvalidTrace
from headway.workload.columns import Column
from headway.workload.limits import LARGEST
from headway.workload.seeds import ARRIVALS, LENGTHS, child, stream
from headway.workload.trace import Trace
from headway.workload.traces.table import content

FIELDS = ("input_tokens", "output_tokens")
FAMILIES = ("Gamma", "Weibull", "Exponential")

_FILE = re.compile(r"chunk-(\d+)-(?:trace\.csv|dataset\.json)")
_COLUMNS = ("window start", "rate", "CV", "family", "first parameter", "second parameter")
_WINDOW = 600.0  # seconds

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Windows:
    """The windows of a client: arrays of one length."""

    start: Floats
    length: Floats
    rate: Floats
    cv: Floats
    family: list[str]


@dataclass(frozen=True)
class _Histogram:
    """Tokens and the share of requests that have at most so many."""

    tokens: NDArray[np.int64]
    cumulated: Floats

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw n lengths."""
        found = np.searchsorted(self.cumulated, rng.random(n), side="right")
        return self.tokens[np.minimum(found, len(self.tokens) - 1)]


def is_servegen(path: Path) -> bool:
    """Whether a path is a folder, or named like one of a client's files."""
    return path.is_dir() or _FILE.fullmatch(path.name) is not None


def read_servegen(path: Path, seed: int) -> Trace:
    """Draw the requests of all clients in a folder, or of the one client that a file belongs to.

    A client's requests depend on its own files, its number and the seed alone.

    Raises:
        InvalidTrace: a folder without clients, a client without one of its files, or a file that is wrong.
        InvalidWorkload: the seed is not a whole number of at least 0.
    """
    folder = path if path.is_dir() else path.parent
    names = (entry.name for entry in path.iterdir()) if path.is_dir() else iter((path.name,))
    clients = sorted({int(match[1]) for name in names if (match := _FILE.fullmatch(name))})
    if not clients:
        raise InvalidTrace(
            f"cannot read {path}: Is a directory without ServeGen clients; expected chunk-0-trace.csv and "
            "chunk-0-dataset.json in it, or a trace file"
        )
    parts = [_client(folder, client, child(seed, f"chunk-{client}")) for client in clients]
    requests = pl.concat(parts).sort("arrival", maintain_order=True)
    known = f"{len(clients)} ServeGen client{'s' if len(clients) > 1 else ''}"
    return Trace.from_frame(str(path), requests, (f"drawn from the windows of {known}; every seed draws others",))


def _client(folder: Path, client: int, seed: int) -> pl.DataFrame:
    windows = _windows(folder / f"chunk-{client}-trace.csv")
    file = folder / f"chunk-{client}-dataset.json"
    arrivals, lengths = stream(seed, ARRIVALS), stream(seed, LENGTHS)
    expected = windows.rate * windows.length
    counts = np.floor(expected + arrivals.random(len(expected))).astype(np.int64)
    if counts.sum() > LARGEST:
        raise InvalidTrace(f"{folder}: client {client} has {counts.sum():,} requests; at most {LARGEST:,} can be drawn")
    histograms = _histograms(file)
    starts = np.fromiter(histograms, dtype=np.float64)
    current = np.maximum(np.searchsorted(starts, windows.start, side="right") - 1, 0)
    parsed: dict[int, tuple[_Histogram, _Histogram]] = {}
    times: list[Floats] = [np.empty(0)]
    tokens: list[NDArray[np.int64]] = [np.empty((0, 2), dtype=np.int64)]
    for index in np.flatnonzero(counts):
        which, n = int(current[index]), int(counts[index])
        if which not in parsed:
            window, fields = list(histograms.items())[which]
            parsed[which] = (_histogram(file, window, fields, FIELDS[0]), _histogram(file, window, fields, FIELDS[1]))
        gaps = _gaps(windows.family[index], windows.cv[index], n + 1, arrivals)
        start, length = windows.start[index], windows.length[index]
        end = np.nextafter(start + length, start)  # a last gap can be too small for a float
        times.append(np.minimum(start + length * gaps[:n].cumsum() / (gaps.sum() or 1.0), end))
        tokens.append(np.column_stack([histogram.draw(n, lengths) for histogram in parsed[which]]))
    drawn = np.concatenate(tokens)
    return pl.DataFrame(
        {
            "arrival": np.concatenate(times),
            "prompt_tokens": np.maximum(drawn[:, 0], 1),
            "output_tokens": drawn[:, 1],
            "tenant": [f"chunk-{client}"] * len(drawn),
        },
        schema_overrides={"tenant": pl.String},
    )


def _windows(path: Path) -> _Windows:
    try:
        table = pl.read_csv(io.BytesIO(content(path)), has_header=False, infer_schema=False)
    except PolarsError:
        raise InvalidTrace(f"{path}: not CSV; expected rows of {', '.join(_COLUMNS)}") from None
    if table.width != len(_COLUMNS):
        raise InvalidTrace(f"{path}: rows of {table.width} fields, expected {len(_COLUMNS)}: {', '.join(_COLUMNS)}")
    columns = {name: Column(str(path), name, table[:, index]) for index, name in enumerate(_COLUMNS)}
    start = columns["window start"].time()
    columns["window start"].refuse((start.diff() <= 0).fill_null(value=False), "a later start than the row before")
    family = columns["family"].values.fill_null("")
    columns["family"].refuse(~family.is_in(["", *FAMILIES]), f"{', '.join(FAMILIES)} or nothing")
    used = family != ""
    rate = columns["rate"].time("requests/s", 1_000_000)
    cv = columns["CV"].time("CV of the gaps", 1000)
    columns["CV"].refuse(used & (rate > 0) & (cv < 0.01), "a CV from 0.01 to 1,000")
    starts = start.to_numpy()
    lengths = np.diff(starts) if len(starts) > 1 else np.array([_WINDOW])
    return _Windows(
        starts,
        lengths if len(starts) == 1 else np.append(lengths, lengths[-1]),
        np.where(used.to_numpy(), rate.to_numpy(), 0.0),
        cv.to_numpy(),
        family.to_list(),
    )


def _gaps(family: str, cv: float, n: int, rng: np.random.Generator) -> Floats:
    """Draw gaps of some mean with this CV."""
    if family == "Gamma":
        return rng.gamma(cv**-2, 1.0, n)
    if family == "Weibull":
        return rng.weibull(_weibull_shape(cv), n)
    return rng.exponential(1.0, n)


def _weibull_shape(cv: float) -> float:
    """Return the shape k at which a Weibull variable has this CV: 1 + cv² = Γ(1 + 2/k) / Γ(1 + 1/k)²."""
    low, high, target = 0.0, 40.0, math.log1p(cv**2)  # of 1/k; the right side grows with it
    for _ in range(60):
        middle = (low + high) / 2
        below = math.lgamma(1 + 2 * middle) - 2 * math.lgamma(1 + middle) < target
        low, high = (middle, high) if below else (low, middle)
    return 1 / high


def _histograms(path: Path) -> dict[float, Any]:
    """Return the histograms' texts by the start of their window, ascending."""
    data = content(path)
    try:
        read = json.loads(data)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise InvalidTrace(f"{path}: not a JSON object; expected histograms by the start of their window")
    windows: dict[float, Any] = {}
    for start, fields in read.items():
        if not re.fullmatch(r"\d{1,10}(\.\d*)?", start) or not isinstance(fields, dict):
            raise InvalidTrace(
                f"{path}: window {start!r}: expected seconds from 0, with an object of {' and '.join(FIELDS)}"
            )
        if unknown := [field for field in fields if field not in FIELDS]:
            raise InvalidTrace(f"{path}: window {start}: unknown field {unknown[0]!r}; expected {' and '.join(FIELDS)}")
        if missing := [field for field in FIELDS if field not in fields]:
            raise InvalidTrace(f"{path}: window {start}: field '{missing[0]}' is missing")
        if all(str(fields[field]).strip() not in ("{}", "") for field in FIELDS):  # no requests were seen in it
            windows[float(start)] = fields
    if not windows:
        raise InvalidTrace(f"{path}: no window has histograms; expected {' and '.join(FIELDS)}")
    return dict(sorted(windows.items()))


def _histogram(path: Path, window: float, fields: dict[str, Any], field: str) -> _Histogram:
    """Read `{tokens: probability, …}` written as a text; it is data, and is not evaluated."""
    text = str(fields[field])
    try:
        pairs = np.array(
            [pair.split(":") for pair in text.strip().removeprefix("{").removesuffix("}").rstrip(", ").split(",")],
            dtype=np.float64,
        )
    except ValueError:
        pairs = np.empty((0, 0))
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InvalidTrace(
            f"{path}: window {window:g}: {field}: found {text[:40]!r}, expected {{tokens: probability, …}}"
        )
    tokens = Column(str(path), f"{field} of window {window:g}", pl.Series(pairs[:, 0])).tokens()
    shares = pairs[:, 1]
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        raise InvalidTrace(f"{path}: window {window:g}: {field}: expected probabilities from 0, and one above it")
    return _Histogram(tokens.to_numpy(), shares.cumsum() / shares.sum())
