"""A reproduction in words: the answer, and the findings as they are listed."""

from __future__ import annotations

from collections import Counter

from headway.measure.findings import Finding, Verdict, counts
from headway.measure.reproduction import Reproduction
from headway.report.numbers import list_text

_VERBS: dict[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds in part": ("holds in part", "hold in part"),
    "does not hold here": ("does not hold here", "do not hold here"),
}


def reproduction_question(found: Reproduction) -> str:
    """Return the question that a reproduction answers."""
    return f"Does it come out? {found.title}"


def reproduction_answer(found: Reproduction) -> str:
    """Say how many claims hold, and how many were not looked at."""
    by_verdict = counts(found.findings)
    left_out = by_verdict["not run"]
    judged = len(found.findings) - left_out
    parts = [f"{by_verdict[verdict]} {words[by_verdict[verdict] != 1]}" for verdict, words in _VERBS.items()]
    answer = f"Of {judged} claims {list_text(parts)}." if judged else "No claim was judged."
    if not left_out:
        return answer
    return f"{answer} {left_out} {'was' if left_out == 1 else 'were'} not run."


def listed(found: Reproduction) -> list[Finding]:
    """Return the findings that are shown one by one: those that were judged, then those that say why they cannot be."""
    judged = [one for one in found.findings if one.verdict != "not run"]
    return judged + [one for one in found.findings if one.verdict == "not run" and one.why]


def left_out_text(found: Reproduction) -> str:
    """Say in a line how many claims were left out, and of which parts of the paper; empty where none was."""
    parts = Counter(one.where for one in found.findings if one.verdict == "not run" and not one.why)
    if not parts:
        return ""
    return f"Not run, {parts.total()}: {'; '.join(f'{where} ({count})' for where, count in parts.items())}."


def not_held(found: Reproduction) -> list[Finding]:
    """Return the findings that say what does not come out, or only in part."""
    return [one for one in found.findings if one.verdict in ("holds in part", "does not hold here")]


def figures_text(finding: Finding) -> str:
    """Return our figures with their interval in one line."""
    return f"{finding.ours} ({finding.interval})" if finding.interval else finding.ours
