"""What the paper says of output lengths: hard to tell for one request, steady from window to window."""

from __future__ import annotations

from headway.measure.findings import Claim, Judged, all_of
from headway.measure.stability import Stability
from headway.studies.papers.past_future.forecast import GENERATED
from headway.studies.papers.past_future.grid import D1, O1
from headway.studies.papers.past_future.judging import apart, listed
from headway.studies.papers.past_future.rows import Figure, Runs

FORECAST, STABILITY = frozenset({"forecast"}), frozenset({"stability"})
WHERE = "Trace analysis, similarity of windows"
ALIKE = 0.9
"""Cosine similarity from which on two histograms are called alike."""


def _sharpens(runs: Runs) -> Judged:
    parts: dict[str, bool] = {}
    shown: list[str] = []
    for workload, name in ((D1, "D1"), (O1, "o1-like")):
        errors = [runs.told("error", workload, generated) for generated in GENERATED]
        shares = [figure.mean for figure in errors]
        parts[name] = apart(errors[0], errors[-1]) and shares == sorted(shares, reverse=True)
        shown.append(f"{name} {', '.join(f'{value:.0f}' for value in shares)}")
    return Judged(
        f"mean error in tokens after {', '.join(map(str, GENERATED))} tokens: {'; '.join(shown)}",
        "",
        all_of(list(parts.values())),
        f"Not on: {listed(parts)}. A bounded distribution leaves less and less; a long tail leaves as much as before."
        if not all(parts.values())
        else "",
    )


def _biased_upward(runs: Runs) -> Judged:
    parts: dict[str, bool] = {}
    shown: list[str] = []
    nothing = Figure(runs.told("bias", D1, 0).values * 0)
    for workload, name in ((D1, "D1"), (O1, "o1-like")):
        biases = [runs.told("bias", workload, generated) for generated in GENERATED]
        parts[name] = all(apart(figure, nothing) for figure in biases)
        shown.append(f"{name} {', '.join(f'{figure.mean:+.0f}' for figure in biases)}")
    return Judged(
        f"predicted less true, in tokens, after {', '.join(map(str, GENERATED))} tokens: {'; '.join(shown)}",
        "",
        all_of(list(parts.values())),
        "Given what it has generated, a draw is as often too short as too long; only the limit at the end of the line "
        "pulls it up.",
    )


def _known(runs: Runs) -> Stability:
    assert runs.similar is not None, "the part `stability` was run"  # noqa: S101 - a claim is judged where its part ran
    return runs.similar


def _adjacent(runs: Runs) -> Judged:
    near, _ = _known(runs).at(1000, 1000)
    return Judged(f"{near:.3f} between windows of 1000", "", all_of([near >= ALIKE]))


def _drifts(runs: Runs) -> Judged:
    near, far = _known(runs).at(1000, 1000)
    return Judged(
        f"{near:.3f} to the window before, {far:.3f} to any window",
        "",
        all_of([1 - near < 0.8 * (1 - far)]),
        "" if 1 - near < 0.8 * (1 - far) else "The whole of this trace is as alike as neighbouring windows.",
    )


def _thousand(runs: Runs) -> Judged:
    found = _known(runs)
    near = {size: found.at(size, 1000)[0] for size in found.sizes}
    known = {size: value for size, value in near.items() if value == value}  # noqa: PLR0124 - not nan
    best = max(known.values())
    return Judged(
        ", ".join(f"{size:,}: {value:.3f}" for size, value in known.items()),
        "",
        all_of([known[1000] > best - 0.02, known[1000] > known[100] + 0.02]),
        "Similarity of windows of 1000 to so many requests before them.",
    )


CLAIMS: tuple[Claim[Runs], ...] = (
    Claim(
        "conditioning-sharpens",
        "Drawing anew above what a request has generated sharpens the estimate as it runs",
        "Method, per-step conditional resampling",
        _sharpens,
        "",
        FORECAST,
    ),
    Claim(
        "biased-upward",
        "The estimate stays biased upward, which avoids evictions",
        "Method, per-step conditional resampling",
        _biased_upward,
        "",
        FORECAST,
    ),
    Claim(
        "windows-alike",
        "The output lengths of a thousand requests look like those of the next thousand",
        WHERE,
        _adjacent,
        "",
        STABILITY,
    ),
    Claim(
        "drift-is-slow",
        "Neighbouring windows are alike even where the whole trace varies",
        WHERE,
        _drifts,
        "",
        STABILITY,
    ),
    Claim(
        "thousand-balances",
        "A window of a thousand is long enough and not too long",
        "Trace analysis, window sizes",
        _thousand,
        "1000 requests",
        STABILITY,
    ),
)
