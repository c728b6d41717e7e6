"""The queueing model in words: where it explains the simulator and where it does not, told from the runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from headway.measure.modelled import Agreement, Excess, Modelled
from headway.report.numbers import list_text, load_text, rate_text, seconds_text

CLOSE, ROUGH = 1.25, 3.0
"""Factors between simulated and modelled waits up to which the size is said to hold, and to hold roughly."""

NOBODY = 1000.0
"""Factor beyond which waits are told as none: the model and the simulator speak of different things there."""

ORDER = "fcfs > aa ≥ qba > psf"
SOURCES = {"literal": "slots and memory", "fitted": "fitted to the wait of fcfs"}


def modelled_question(found: Modelled) -> str:
    """Return what was asked."""
    return f"Does a queueing model explain mean waits on {found.settings['workload']}, {found.settings['engine']}?"


def modelled_answer(found: Modelled) -> str:
    """Return the answer: order, size for each number of servers, and what the model cannot show."""
    agreements = found.agreements
    sizes = [_size(found, one) for one in agreements]
    return " ".join([_order(agreements[-1]), *sizes, _aa(found)])


def servers_text(found: Modelled, agreement: Agreement) -> str:
    """Return the number of servers and where it comes from: `n = 4.14 (fitted to the wait of fcfs)`."""
    interval = found.calibration["fitted_ci95"]
    if agreement.servers != "fitted":
        return f"n = {agreement.n:g} ({SOURCES[agreement.servers]})"
    sure = f", 95 % interval {interval[0]:.2f} to {interval[1]:.2f}" if interval else ""
    return f"n = {agreement.n:.2f} ({SOURCES['fitted']} at {load_text(found.calibration['rate'])}/s{sure})"


def calibration_text(found: Modelled) -> str:
    """Say what was taken from runs."""
    of = found.calibration
    service, share = of["service"], of["short_share"]
    return (
        f"Taken from runs under fcfs at {load_text(of['rate'])} requests/s: a request is in the engine for "
        f"{seconds_text(service['all']['mean'])} (scv {service['all']['scv']:.2f}; predicted short "
        f"{seconds_text(service['short']['mean'])}, {share * 100:.0f} % of them; long "
        f"{seconds_text(service['long']['mean'])}). Promoted fractions of long requests: {_promoted(found)}."
    )


def _promoted(found: Modelled) -> str:
    texts: list[str] = []
    for policy, points in found.calibration["promoted"].items():
        ends = points[0], points[-1]
        low, high = (f"{end['fraction']:.2f} at {load_text(end['rate'])}/s" for end in ends)
        texts.append(f"{policy} {low} to {high}")
    return list_text(texts)


def _order(one: Agreement) -> str:
    if not one.stable:
        return "In order nothing can be said: the model has no mean wait at any of these rates."
    model = _at(one.ordered, one.stable)
    told = f"In order: the model has {ORDER} at {model}"
    told += f", and the simulator at {_at(one.simulated_ordered, one.stable, of_these=True)}."
    verdict = "holds" if one.ordered == one.simulated_ordered == one.stable else "holds in part"
    if not one.ordered or not one.simulated_ordered:
        verdict = "does not hold"
    return f"{told} The order {verdict}."


def _at(some: Sequence[float], every: Sequence[float], *, of_these: bool = False) -> str:
    if len(some) == len(every):
        return "all of them" if of_these else f"all {len(every)} rates at which it is stable"
    count = f"{len(some)} of {'them' if of_these else f'{len(every)} rates at which it is stable'}"
    return count if some else f"none{' of them' if of_these else ' of the rates at which it is stable'}"


def _size(found: Modelled, one: Agreement) -> str:
    told = f"In size, with {servers_text(found, one)}: "
    calibrated = found.calibration["rate"]
    near = [load_text(rate) for rate in one.stable if rate <= calibrated]
    if not near:
        told += f"the model has no mean wait up to {load_text(calibrated)}/s, where it was calibrated"
    else:
        span = f"from {near[0]} to {near[-1]}/s" if len(near) > 1 else f"at {near[0]}/s"
        told += f"{span} {_apart(one.near)}, {_verdict(one.near)}"
    if near and any(rate > calibrated for rate in one.stable):
        told += f"; above, {'the same' if _apart(one.far) == _apart(one.near) else _apart(one.far)}"
    if one.unstable_from is not None:
        told += f"; unstable (no mean wait) from {load_text(one.unstable_from)}/s"
    return f"{told}."


def _apart(ratios: tuple[float, float] | None) -> str:
    """Say how simulated waits compare with modelled ones."""
    if ratios is None:
        return "nobody waits, in the model and in the simulator"
    low, high = ratios
    if low > NOBODY:
        return "the model says that practically nobody waits, and in the simulator requests do"
    if low >= 1 / CLOSE and high <= CLOSE:
        return f"simulated waits are {low:.2f} to {high:.2f} times the model's"
    if high > ROUGH and low >= 1:
        return f"its waits are {rate_text(low)} to {_factor(high)} times too small"
    if low < 1 / ROUGH and high <= 1:
        least, most = (_factor(1 / ratio if ratio else math.inf) for ratio in (high, low))
        return f"its waits are {least if least == most else f'{least} to {most}'} times too large"
    least = rate_text(low) if low >= 1 / NOBODY else f"less than {1 / NOBODY:g}"
    return f"simulated waits are {least} to {_factor(high)} times the model's"


def _factor(value: float) -> str:
    return rate_text(value) if value <= NOBODY else f"more than {NOBODY:,.0f}"


def _verdict(ratios: tuple[float, float] | None) -> str:
    if ratios is None:
        return "so the size holds"
    worst = max(ratios[1], 1 / ratios[0] if ratios[0] else float("inf"))
    if worst <= CLOSE:
        return "so the size holds"
    return f"within a factor of {rate_text(worst)}" if worst <= ROUGH else "so the size does not hold"


def _aa(found: Modelled) -> str:
    above = [one for one in found.aa_over_fcfs if one.seconds > 0]
    if not above:
        return "In the simulator aa stays below fcfs at all these rates, as it must in the model."
    sure = [one for one in above if one.significant]
    if not sure:
        doubt = "though by no more than chance" if above[0].interval else "though one run cannot tell whether by chance"
        return f"In the simulator aa waits longer than fcfs at {_rates(above)}, {doubt}; in the model it never does."
    return (
        f"What the model cannot show: in the simulator aa waits longer than fcfs at {_rates(sure)}, beyond chance. "
        "A promoted fraction of 0 is psf and of 1 is fcfs, so that by construction every curve lies between the two."
    )


def _rates(some: Sequence[Excess]) -> str:
    return f"{list_text([load_text(one.rate) for one in some])}/s"
