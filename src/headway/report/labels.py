"""How a policy is called and coloured, the same in every sentence, table and chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

_KNOWN_COLOURS = {"fcfs": "#4477AA", "psf": "#EE6677", "aa": "#AA3377", "qba": "#228833"}
_RULE_COLOURS = {"past-future": "#228833", "ema": "#4477AA", "watermark": "#EE6677", "conservative": "#997700"}
_OTHER_COLOURS = ("#CCBB44", "#66CCEE", "#997700", "#882255", "#44AA99", "#888888", "#F1932D", "#AE76A3")
"""Of Paul Tol's colour-blind safe schemes; each is at least readable on white and on near-black. With those that no
built-in name takes there are twelve; of more policies some share a colour."""


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


def plate_colours(names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each line of a paper's figure: always the same for built-in orders and memory rules."""
    return _colours(names, _RULE_COLOURS | _KNOWN_COLOURS)


def _colours(specs: Sequence[str], usual: Mapping[str, str]) -> dict[str, str]:
    own = {spec: usual.get(spec.partition("(")[0].strip()) for spec in specs}
    free = [colour for colour in dict.fromkeys((*_OTHER_COLOURS, *usual.values())) if colour not in own.values()]
    colours: dict[str, str] = {}
    others = 0
    for spec, known in own.items():
        if known is not None and known not in colours.values():
            colours[spec] = known
            continue
        colours[spec] = free[others % len(free)]
        others += 1
    return colours
