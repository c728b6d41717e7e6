"""Claims about slack, deadlines and shedding."""

from __future__ import annotations

from itertools import pairwise

from headway.measure.findings import Claim, Judged
from headway.studies.papers.fairness.grid import MODEL_AT
from headway.studies.papers.fairness.runs import Runs
from headway.studies.papers.qba.runs import in_parts

SECTION = "Deadline slack as the ordering key"
PUBLISHED = "Published figures and reference set-ups"
INTERACTION = "The interaction that makes both insufficient"
_LOAD, _NESTED = frozenset({"deadlines"}), frozenset({"nesting"})

CLIFF = 0.2
"""Share of all promises that is newly broken from one rate of the sweep to the next, at a cliff; at a slope never."""


def _shares(values: list[float]) -> str:
    return ", ".join(f"{value * 100:.1f}" for value in values)


def _steepest(broken: list[float]) -> float:
    return max(later - earlier for earlier, later in pairwise(broken))


def _light(runs: Runs) -> Judged:
    saved = [fcfs - slack for fcfs, slack in zip(runs.broken("fcfs"), runs.broken("slack"), strict=True)]
    most = max(saved)
    parts = {
        "at the lowest load the order barely matters": abs(saved[0]) < 0.02,
        "at a higher one it does": most > CLIFF,
    }
    return in_parts(
        parts,
        f"slack breaks {saved[0] * 100:.1f} points less than order of arrival at {runs.rates[0]:g}/s, "
        f"{most * 100:.1f} at {runs.rates[saved.index(most)]:g}/s",
    )


def _graceful(runs: Runs) -> Judged:
    alone, shed = _steepest(runs.broken("slack")), _steepest(runs.broken("slack-demote"))
    parts = {
        "slack order alone degrades by degrees": alone < CLIFF,
        "with doomed requests demoted it does, and better": shed < CLIFF and shed < alone,
    }
    judged = in_parts(parts, f"steepest step {alone * 100:.0f} points alone, {shed * 100:.0f} with demotion")
    if judged.verdict != "holds in part":
        return judged
    return Judged(
        judged.ours, "", judged.verdict, "Past a load threshold slack order alone misses nearly every deadline."
    )


def _identifiable(runs: Runs) -> Judged:
    name, fcfs = f"edf-reject@{runs.rates[-1]:g}", f"edf@{runs.rates[-1]:g}"
    served, told = runs.of(name, "served"), runs.of(name, "at_once")
    parts = {
        "of those that are let in nearly all are in time": served > 0.95 > runs.of(fcfs, "served"),
        "and most of the others are told on arrival": told > 0.5,
    }
    return in_parts(
        parts, f"{served * 100:.1f} % of those let in are in time; {told * 100:.0f} % of the refused told on arrival"
    )


def _reject_is_better(runs: Runs) -> Judged:
    rate = runs.rates[-1]
    kept, reject = f"edf@{rate:g}", f"edf-reject@{rate:g}"
    better = runs.of(kept, "broken") - runs.of(reject, "broken")
    goodput = runs.ratio("goodput", reject, kept)
    parts = {"more promises are kept": better > 0.05, "and more tokens arrive in time": goodput > 1.2}
    return in_parts(parts, f"{better * 100:.0f} points fewer broken, {goodput:.1f} times the goodput at {rate:g}/s")


def _order_only(runs: Runs) -> Judged:
    right, wrong, fcfs = (runs.of(f"{name}@{MODEL_AT:g}", "broken") for name in ("slack", "slack-wrong", "fcfs"))
    parts = {"a model that is three times too slow orders nearly as well": abs(wrong - right) < 0.1 * (fcfs - right)}
    return in_parts(
        parts,
        f"{right * 100:.1f} % broken with the fitted model, {wrong * 100:.1f} with a wrong one; fcfs {fcfs * 100:.1f}",
    )


def _cliff(runs: Runs) -> Judged:
    edf, demoted = runs.broken("edf"), runs.broken("edf-demote")
    parts = {
        "near 0 at first": edf[1] < 0.01,
        "then a cliff": edf == sorted(edf) and _steepest(edf) > CLIFF,
        "that demotion makes a slope": demoted == sorted(demoted) and _steepest(demoted) < 0.7 * _steepest(edf),
    }
    return in_parts(parts, f"{_shares(edf)} % at {', '.join(f'{rate:g}' for rate in runs.rates)}/s")


def _ablation(runs: Runs) -> Judged:
    names = ("edf", "edf-demote", "hybrid-demote")
    edf, demoted, hybrid = (runs.of(f"{name}@{runs.rates[-1]:g}", "broken") for name in names)
    parts = {
        "demoting doomed requests helps": edf > demoted + 0.1,
        "a hybrid key helps further": demoted > hybrid + 0.05,
    }
    return in_parts(parts, f"{_shares([edf, demoted, hybrid])} % at {runs.rates[-1]:g}/s")


def _chunks(runs: Runs) -> Judged:
    edf, capped = (runs.of(f"{name}@{runs.rates[-1]:g}", "broken") for name in ("edf", "edf-capped"))
    judged = in_parts(
        {"smaller chunks break fewer promises": capped < 0.9 * edf},
        f"{_shares([edf, capped])} % at {runs.rates[-1]:g}/s",
    )
    if judged.verdict == "holds":
        return judged
    why = "No chunk grows with the slack of those who decode here; a fixed cap on chunks, as shown, does not do it."
    return Judged(judged.ours, "", "not run", why)


def _goodput(runs: Runs, other: str, low: float, high: float) -> Judged:
    ours, theirs = runs.goodput("slack-demote"), runs.goodput(other)
    ratio = ours / theirs
    return in_parts(
        {f"{low:g} to {high:g} times": low <= ratio <= high}, f"{ratio:.2f} times ({ours:.1f} against {theirs:.1f}/s)"
    )


def _goodput_fcfs(runs: Runs) -> Judged:
    return _goodput(runs, "fcfs", 1.5, 2.4)


def _goodput_edf(runs: Runs) -> Judged:
    judged = _goodput(runs, "edf", 1.2, 1.4)
    why = "" if judged.verdict == "holds" else "Here no chunk grows with slack, and at 1 % both stand before the cliff."
    return Judged(judged.ours, "", judged.verdict, why)


def _nesting(runs: Runs) -> Judged:
    slack, tenant = "slack-first-0", "tenant-first"
    parts = {
        "tenant first stays within 2U": runs.of(tenant, "gap") <= runs.of(tenant, "bound"),
        "slack first leaves it": runs.of(slack, "gap") > runs.of(slack, "bound"),
        "and keeps more promises, beyond chance": runs.apart(tenant, slack, "broken"),
    }
    gaps = f"gap {runs.of(tenant, 'gap'):,.0f} against {runs.of(slack, 'gap'):,.0f} units"
    ours = f"{gaps}; broken {_shares([runs.of(tenant, 'broken'), runs.of(slack, 'broken')])} %"
    return in_parts(parts, ours)


def _bands(runs: Runs) -> Judged:
    def same(one: str, other: str) -> bool:
        return all(runs.of(one, figure) == runs.of(other, figure) for figure in ("broken", "gap", "wait"))

    ends = runs.of("slack-first-0", "gap"), runs.of("slack-first-2", "gap"), runs.of("slack-first-inf", "gap")
    parts = {
        "a band of 0 is pure slack": same("slack-first-0", "pure-slack"),
        "an infinite one picks the tenant first": same("slack-first-inf", "tenant-first"),
        "and in between the gap lies between": ends[0] > ends[1] > ends[2],
    }
    return in_parts(parts, f"gap {ends[0]:,.0f}, {ends[1]:,.0f} (band 2 s) and {ends[2]:,.0f} units")


CLAIMS = (
    Claim("light-load", "Under light load the order barely matters.", SECTION, _light, "", _LOAD),
    Claim("graceful", "Slack ordering degrades gracefully.", SECTION, _graceful, "", _LOAD),
    Claim(
        "identifiable",
        "Under heavy load, requests whose deadlines are unattainable are identifiable.",
        SECTION,
        _identifiable,
        "",
        _LOAD,
    ),
    Claim(
        "reject-early",
        "Rejecting them early is better than admitting them anyway.",
        SECTION,
        _reject_is_better,
        "",
        _LOAD,
    ),
    Claim(
        "order-not-prediction",
        "A linear iteration model is adequate, since the decision needs only an ordering.",
        SECTION,
        _order_only,
        "",
        _LOAD,
    ),
    Claim(
        "nesting",
        "Tenants may arbitrate before slack or after it: the first keeps the bound, the second keeps more promises.",
        INTERACTION,
        _nesting,
        "",
        _NESTED,
    ),
    Claim(
        "bands",
        "Several requests qualify within a band of slack: at 0 slack alone decides, without end the tenant does.",
        INTERACTION,
        _bands,
        "",
        _NESTED,
    ),
    Claim(
        "cliff",
        "Earliest deadline breaks nearly no promise, then falls off a cliff; demotion makes it a slope.",
        PUBLISHED,
        _cliff,
        "",
        _LOAD,
    ),
    Claim(
        "ablation",
        "At high load demotion helps earliest deadline, and a hybrid key helps further.",
        PUBLISHED,
        _ablation,
        "100, 26 and 16 %",
        _LOAD,
    ),
    Claim(
        "slack-chunks",
        "At high load slack-sized chunks help earliest deadline.",
        PUBLISHED,
        _chunks,
        "100 and 74 %",
        _LOAD,
    ),
    Claim(
        "goodput-fcfs",
        "Goodput of slack and shedding over order of arrival, at 1 % of violations.",
        PUBLISHED,
        _goodput_fcfs,
        "1.5 to 2.4 times",
        _LOAD,
    ),
    Claim(
        "goodput-edf",
        "Goodput of slack and shedding over earliest deadline, at 1 % of violations.",
        PUBLISHED,
        _goodput_edf,
        "1.2 to 1.4 times",
        _LOAD,
    ),
)
