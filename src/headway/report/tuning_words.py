"""What `tune` found, in words: the same on the terminal and on the page."""

from __future__ import annotations

import math

from headway.measure.gain import Gain
from headway.measure.tuning import Candidate, Change, Tuning
from headway.report.numbers import count_text, list_text, percent_text, rate_text, seconds_text

MOST_WORSE = 4
MOST_ALIKE = 3
MINUS = "\N{MINUS SIGN}"
UNSEEN = 5e-4
"""Share that is shown as none."""

DOUBLE = 2.0
"""Gain from which on times are easier to read than per cent."""


def tuning_question(found: Tuning) -> str:
    """Return what was asked."""
    workload, engine = found.settings.get("workload", "this traffic"), found.settings.get("engine", "the engine")
    return f"What should {engine} run on {workload}?"


def tuning_answer(found: Tuning) -> list[str]:
    """Return the answer: what to run, how sure that is, what else would do, what it costs."""
    return [_verdict(found), *_alike(found), *_unpredicted(found), *_price(found)]


ALONE = "See the baseline by its own rules: above, all but --policy holds for both"
"""Head of the command line that runs the baseline alone."""


def tuning_facts(found: Tuning) -> str:
    """Say how much was tried."""
    traffic = found.settings["traffic"]
    return (
        f"{found.searched} settings were tried in {found.runs:,} runs: searched on {found.settings['training']} "
        f"{traffic}, judged on {found.settings['held_out']} others of about {found.settings['requests']:,} requests."
    )


def amount(value: float, unit: str) -> str:
    """Return a figure with its unit."""
    if unit == "s":
        return seconds_text(value)
    if unit == "%":
        return f"{value * 100:.1f} %"
    return f"{count_text(round(value, 1) if abs(value) < 100 else round(value))} {unit}".rstrip()


def interval_text(gain: Gain, unit: str) -> str:
    """Return the interval of a gain, both ends alike: `+0.30 to +0.52 s`."""
    if gain.ci95 is None:
        return "no interval"
    ends = gain.ci95.to_list()
    largest = max(map(abs, ends))
    factor, shown = (100.0, "points") if unit == "%" else (1.0, unit)
    if unit == "s" and largest < 0.1:
        factor, shown = 1000.0, "ms"
    places = max(0, 2 - math.floor(math.log10(largest * factor))) if largest * factor >= 0.001 else 0
    low, high = (f"{'+' if end >= 0 else MINUS}{abs(end) * factor:,.{min(places, 4)}f}" for end in ends)
    return f"{low} to {high} {shown}".rstrip()


def relative_text(gain: Gain) -> str:
    """Return a gain as a share of what there was, with its sign."""
    if gain.relative is None:
        return ""
    if gain.relative >= DOUBLE:
        return f"\N{MULTIPLICATION SIGN} {rate_text(1 + gain.relative)}"
    if abs(gain.relative) < UNSEEN:
        return "0 %"
    sign = "+" if gain.relative >= 0 else MINUS
    return f"{sign}{percent_text(abs(gain.relative))}"


def _verdict(found: Tuning) -> str:
    chosen, base, aim = found.chosen, found.baseline, found.objective
    if chosen.name == base.name:
        return _nothing_else(found)
    if found.recommended != chosen:
        return _keep(found)
    way = _way(chosen.gain, lower=aim.lower_is_better) + base.name
    return f"Run {chosen.name}: {aim.words} is {way} on {_stretches(found)} ({_figures(found)}; {_sure(found)})."


def _nothing_else(found: Tuning) -> str:
    base = found.baseline
    if found.objective.name == "goodput" and not base.held_out:
        return (
            f"Nothing can be said: no request of {_stretches(found)} keeps the agreement under {base.name}, and the "
            "search found nothing under which any does. Give limits that can be kept (--sla)."
        )
    return f"Keep what you have: nothing else came to the end of the search ({base.name})."


def _keep(found: Tuning) -> str:
    """Say why to keep the baseline, and what the best of the search came to."""
    chosen, aim = found.chosen, found.objective
    have = f"eep what you have ({found.baseline.name})"
    best, stretches, figures = f"The best that the search found, {chosen.name},", _stretches(found), _figures(found)
    if found.unsafe:
        return f"K{have}. {best} runs out of memory in {found.unsafe} of {stretches}."
    if found.hollow is not None:
        kept = f"{amount(found.hollow.before, '%')} before, {amount(found.hollow.after, '%')} then"
        return (
            f"K{have}. {best} has a higher goodput on {stretches} ({figures}) but keeps the agreement for no more "
            f"requests ({kept}): goodput is per second of a run, and one with fewer requests in it ends sooner."
        )
    if found.judgement == "worse":
        return f"K{have}. {best} is worse on {stretches} ({figures}; {_sure(found)})."
    if found.judgement == "too small to matter":
        gained = relative_text(chosen.gain)
        return f"No difference that matters: k{have}. {best} gains {gained} on {stretches} ({_sure(found)})."
    words = f"{aim.words} of {figures}"
    return f"No significant difference: k{have}. {best} has {words} on {stretches} ({_sure(found)})."


def _stretches(found: Tuning) -> str:
    return f"{found.settings['held_out']} held-out {found.settings['traffic']}"


def _figures(found: Tuning) -> str:
    return f"{_value(found, found.chosen)} against {_value(found, found.baseline)}"


def _sure(found: Tuning) -> str:
    return f"95 % interval of the gain {interval_text(found.chosen.gain, found.objective.unit)}"


def _way(gain: Gain, *, lower: bool) -> str:
    """Return `12 % lower than under `, to be followed by a name."""
    if gain.relative is not None and gain.relative >= DOUBLE:
        return f"{rate_text(1 + gain.relative)} times that under "
    share = "" if gain.relative is None else f"{percent_text(gain.relative)} "
    return f"{share}{'lower' if lower else 'higher'} than under "


def _value(found: Tuning, one: Candidate) -> str:
    return "nothing" if one.held_out is None else amount(one.held_out, found.objective.unit)


def _alike(found: Tuning) -> list[str]:
    """Say what does as well, and that the simplest was taken."""
    if found.recommended != found.chosen or found.chosen.name == found.baseline.name:
        return []
    alike = [one for one in found.candidates[1:] if one.within_noise]
    above = [one for one in found.candidates[1:] if one.behind.judgement == "better"]
    told: list[str] = []
    if alike:
        more = "" if len(alike) <= MOST_ALIKE else f" and {len(alike) - MOST_ALIKE} more"
        names = (
            list_text([one.name for one in alike[:MOST_ALIKE]])
            if not more
            else ", ".join(one.name for one in alike[:MOST_ALIKE])
        )
        told.append(
            f"Within noise of it on these: {names}{more}. The choice was made in the search, for the simplest of "
            "what did about as well there."
        )
    if above:
        names = list_text([f"{one.name} ({relative_text(one.behind)})" for one in above[:MOST_ALIKE]])
        told.append(
            f"Better still on these: {names}; the search did not see that for sure, so it is a hint and no result."
        )
    return told


def _unpredicted(found: Tuning) -> list[str]:
    """Say that predictions are needed, and what to run without."""
    if found.recommended != found.chosen or not found.chosen.predicts:
        return []
    told = "It needs a prediction of who will be long."
    other = found.unpredicted
    if other is None:
        return [f"{told} Nothing that needs none came to the end of the search."]
    how = {
        "better": f"is better than {found.baseline.name} too",
        "worse": f"is worse than {found.baseline.name}",
    }.get(other.gain.judgement, f"does not differ from {found.baseline.name}")
    gain = f"{relative_text(other.gain)}, {interval_text(other.gain, found.objective.unit)}"
    return [f"{told} Without one, {other.name} {how} ({gain})."]


def _price(found: Tuning) -> list[str]:
    if found.recommended != found.chosen or found.chosen.name == found.baseline.name:
        return []
    worse = sorted(found.worse, key=lambda change: change.gain.relative or 0.0)
    if not worse:
        return ["Nothing else that was looked at gets worse for sure."]
    names = "; ".join(change_text(change) for change in worse[:MOST_WORSE])
    more = "" if len(worse) <= MOST_WORSE else f"; and {len(worse) - MOST_WORSE} more in the table"
    return [f"What gets worse: {names}{more}."]


def change_text(change: Change) -> str:
    """Return `long: TTFT P99 from 2.1 s to 4.5 s`, or `requests turned away from 0 to 7.2 of 250 (2.9 %)`."""
    told = f"{change.words} from {amount(change.before, change.unit)} to {amount(change.after, change.unit)}"
    if change.of is None:
        return told
    return f"{told} of {amount(change.of, change.unit)} ({percent_text(change.after / change.of)})"


def change_amount(change: Change, value: float) -> str:
    """Return a figure before or after, `4.5 s`; one that counts requests with its share of all, `7.2 (2.9 %)`."""
    told = amount(value, change.unit)
    return told if change.of is None or value == 0 else f"{told} ({percent_text(value / change.of)})"
