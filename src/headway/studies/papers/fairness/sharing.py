"""Claims about shares: what is charged, idle time, the bound, and who is favoured."""

from __future__ import annotations

from headway.measure.findings import Claim, Judged
from headway.studies.papers.fairness.runs import Runs
from headway.studies.papers.qba.runs import in_parts

SECTION = "Shares as the ordering key"
PUBLISHED = "Published figures and reference set-ups"
_CHARGES, _SHARES = frozenset({"charges"}), frozenset({"shares"})


def _within(value: float, of: float, slack: float) -> bool:
    return abs(value - of) <= slack * abs(of)


def _long_over_short(runs: Runs, charge: str) -> float:
    name = f"charge-{charge}"
    return runs.of(name, "service.long") / runs.of(name, "service.short")


def _proportional(runs: Runs) -> Judged:
    equal = runs.of("gap-fair", "units.fast") / runs.of("gap-fair", "units.slow")
    slow = runs.of("gap-weighted", "units.slow") / runs.of("gap-weighted", "units.fast")
    parts = {
        "equal weights, equal service": _within(equal, 1, 0.05),
        "twice the weight, twice the service": _within(slow, 2, 0.1),
    }
    return in_parts(parts, f"{equal:.2f} : 1 at equal weights, {slow:.2f} : 1 at weights 2 : 1")


def _bounded(runs: Runs) -> Judged:
    fair, fcfs, bound = runs.of("gap-fair", "gap"), runs.of("gap-fcfs", "gap"), runs.of("gap-fair", "bound")
    parts = {"fair queueing stays within 2U": fair <= bound, "order of arrival does not": fcfs > bound}
    return in_parts(parts, f"gap {fair:,.0f} units, 2U = {bound:,.0f}; in order of arrival {fcfs:,.0f}")


def _admission_is_no_outcome(runs: Runs) -> Judged:
    gap, bound = runs.of("charge-admission", "gap"), runs.of("charge-admission", "bound")
    fair = runs.of("charge-iteration", "gap")
    parts = {"charged at admission the gap passes 2U": gap > bound, "charged per iteration it does not": fair <= bound}
    return in_parts(parts, f"gap {gap:,.0f} units against {fair:,.0f}; 2U = {bound:,.0f}")


def _discount(runs: Runs) -> Judged:
    wrong, right = _long_over_short(runs, "admission"), _long_over_short(runs, "iteration")
    parts = {
        "10.66 : 1 at admission": _within(wrong, 10.66, 0.05),
        "1.15 : 1 per iteration": _within(right, 1.15, 0.05),
    }
    return in_parts(parts, f"{wrong:.2f} : 1 at admission, {right:.2f} : 1 per iteration")


def _biased_to_long(runs: Runs) -> Judged:
    wrong, right = _long_over_short(runs, "admission"), _long_over_short(runs, "iteration")
    parts = {
        "long requests get several times more at admission": wrong > 3,
        "and nearly as much per iteration": right < 1.5,
    }
    return in_parts(parts, f"{wrong:.1f} times the service, against {right:.2f}")


def _banked(runs: Runs) -> Judged:
    """The sample lifts nobody. Lifting over waiting tenants is the same here: nobody else waits when b returns."""
    share = runs.of("lift-waiting", "service.a") / runs.of("lift-waiting", "total")
    right = runs.of("lift-active", "service.a") / runs.of("lift-active", "total")
    parts = {
        "after idle time the sample divides evenly": 0.4 < share < 0.6,
        "as it does with a lift": abs(share - right) < 0.1,
    }
    judged = in_parts(
        parts, f"the tenant that stayed gets {share * 100:.1f} % of the service, with a lift {right * 100:.0f} %"
    )
    if judged.verdict != "does not hold here":
        return judged
    why = (
        "The sample has no idle lift: a tenant that returns holds the credit of its idle time, and the other one gets "
        "nothing while it lasts."
    )
    return Judged(judged.ours, "", judged.verdict, why)


def _idle_lift(runs: Runs) -> Judged:
    ahead = runs.of("lift-active", "gap")
    kept, other = runs.of("lift-waiting", "service.a"), runs.of("lift-waiting", "service.b")
    bound = runs.of("lift-active", "bound")
    parts = {
        "with the lift over active tenants the gap stays below a tenth of 2U": ahead < bound / 10,
        "over waiting tenants alone it is more than ten times 2U": other - kept > 10 * bound,
        "and who stayed gets less than a hundredth": kept < 0.01 * other,
        "a gap of 336 units within a tenth": _within(ahead, 336, 0.1),
    }
    return in_parts(parts, f"gap {ahead:,.0f} units; over waiting tenants alone {kept:,.0f} : {other:,.0f}")


def _most_queued(runs: Runs) -> Judged:
    queued = runs.of("gap-fair", "waiting.fast") / runs.of("gap-fair", "waiting.slow")
    share = runs.of("gap-fair", "service.fast") / runs.of("gap-fair", "total")
    parts = {
        "whoever has more queued gets more": share > 0.55,
        "though it has more queued": share > 0.55 and queued > 1.5,
    }
    judged = in_parts(parts, f"{queued:.1f} times the queue, {share * 100:.1f} % of the service")
    if judged.verdict != "does not hold here":
        return judged
    return Judged(
        judged.ours,
        "",
        judged.verdict,
        "The smallest virtual time picks on service received; a backlog does not enter.",
    )


def _linear(runs: Runs) -> Judged:
    fcfs, fair = runs.of("gap-fcfs", "slope"), runs.of("gap-fair", "slope")
    straight, drift, bound = runs.of("gap-fcfs", "straight"), runs.of("gap-fair", "drift"), runs.of("gap-fair", "bound")
    parts = {
        "in order of arrival the gap grows linearly": straight > 0.99 and fcfs > 100,
        "by virtual time it is flat": drift < bound / 4 and abs(fair) < 0.05 * abs(fcfs),
    }
    return in_parts(
        parts, f"{fcfs:,.0f} units/s (correlation with time {straight:.3f}), by virtual time {fair:,.1f} units/s"
    )


def _equal_throughput(runs: Runs) -> Judged:
    ratio = runs.of("gap-fair", "total") / runs.of("gap-fcfs", "total")
    flatter = abs(runs.of("gap-fair", "slope")) < 0.05 * abs(runs.of("gap-fcfs", "slope"))
    return in_parts(
        {"as much in all": _within(ratio, 1, 0.01), "while the gap is flat": flatter}, f"{ratio:.3f} times the work"
    )


def _pools(runs: Runs) -> Judged:
    gap, fcfs, bound = runs.of("gap-pools", "gap"), runs.of("gap-fcfs", "gap"), runs.of("gap-pools", "bound")
    ratio = runs.of("gap-pools", "service.fast") / runs.of("gap-pools", "service.slow")
    parts = {
        "both get the same": _within(ratio, 1, 0.05),
        "within 2U, which order of arrival leaves": gap <= bound < fcfs,
    }
    return in_parts(parts, f"{ratio:.2f} : 1, gap {gap:,.0f} units; in order of arrival {fcfs:,.0f}")


CLAIMS = (
    Claim("proportional", "Tenants are served in proportion to their weights.", SECTION, _proportional, "", _SHARES),
    Claim("bounded", "A tenant falls behind by no more than a bound.", SECTION, _bounded, "2U", _SHARES),
    Claim(
        "admission-no-outcome",
        "Fairness at admission is not fairness in outcome.",
        SECTION,
        _admission_is_no_outcome,
        "",
        _CHARGES,
    ),
    Claim(
        "charge-per-iteration",
        "Charging per admission gives long requests a discount and favours them.",
        SECTION,
        _biased_to_long,
        "",
        _CHARGES,
    ),
    Claim(
        "sample-code",
        "The code sample divides service by virtual time, also after idle time.",
        SECTION,
        _banked,
        "",
        _CHARGES,
    ),
    Claim(
        "most-queued",
        "Pure fair queueing favours the tenant with the most queued work.",
        "The interaction that makes both insufficient",
        _most_queued,
        "",
        _SHARES,
    ),
    Claim(
        "two-pools",
        "Decode slots and prompt capacity may each be shared by fair queueing, with a fixed split.",
        "The interaction that makes both insufficient",
        _pools,
        "",
        _SHARES,
    ),
    Claim(
        "charge-ratios",
        "Service of a long-output against a short-output tenant, charged at admission or per iteration.",
        PUBLISHED,
        _discount,
        "10.66 : 1 and 1.15 : 1",
        _CHARGES,
    ),
    Claim(
        "idle-lift",
        "Idle time is no credit if the lift counts running tenants as active; it is if it does not.",
        PUBLISHED,
        _idle_lift,
        "gap 336; 2,450 : 446,420",
        _CHARGES,
    ),
    Claim(
        "gap-grows",
        "In order of arrival the gap between a 1.5/s and a 3/s tenant grows linearly; virtual time keeps it flat.",
        PUBLISHED,
        _linear,
        "",
        _SHARES,
    ),
    Claim("equal-throughput", "Fair shares cost no throughput.", PUBLISHED, _equal_throughput, "", _SHARES),
)
