"""How a policy is called and coloured, the same in every sentence, table and chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

_KNOWN_COLOURS = {"fcfs": "#4477AA", "psf": "#EE6677", "aa": "#AA3377", "qba": "#228833"}
_RULE_COLOURS = {"past-future": "#228833", "ema": "#4477AA", "watermark": "#EE6677", "conservative": "#997700"}
_OTHER_COLOURS = ("#CCBB44", "#66CCEE", "#997700", "#882255", "#44AA99", "#888888")
"""Paul Tol's colour-blind safe schemes; each is at least readable on white and on near-black."""


def short_labels(policies: Sequence[str]) -> dict[str, str]:
    """Return a short label for each spec: the name before the parameters, where that tells them apart."""
    names = {policy: policy.partition("(")[0].strip() for policy in policies}
    uses = Counter(names.values())
    return {policy: name if name and uses[name] == 1 else policy for policy, name in names.items()}


def policy_colours(policies: Sequence[str]) -> dict[str, str]:
    """Return a colour for each spec: always the same for the built-in four, in order for others."""
    return _colours(policies, _KNOWN_COLOURS)


def rule_colours(rules: Sequence[str]) -> dict[str, str]:
    """Return a colour for each spec of a memory rule: always the same for the built-in ones, in order for others."""
    return _colours(rules, _RULE_COLOURS)


def _colours(specs: Sequence[str], usual: Mapping[str, str]) -> dict[str, str]:
    colours: dict[str, str] = {}
    others = 0
    for policy in specs:
        known = usual.get(policy.partition("(")[0].strip())
        if known is None or known in colours.values():
            known = _OTHER_COLOURS[others % len(_OTHER_COLOURS)]
            others += 1
        colours[policy] = known
    return colours
