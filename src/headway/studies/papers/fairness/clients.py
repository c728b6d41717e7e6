"""Claims about long and short requests, starvation, and what clients observe."""

from __future__ import annotations

from headway.measure.findings import Claim, Judged
from headway.studies.papers.fairness.grid import BUDGETS, HORIZONS
from headway.studies.papers.fairness.runs import Runs
from headway.studies.papers.qba.runs import in_parts

INTERACTION = "The interaction that makes both insufficient"
STARVATION = "Starvation, and why arrival order is not fair"
CLIENTS = "What the client observes"
_MIX, _STARVE, _TOKENS, _SIGNALS = (frozenset({part}) for part in ("mix", "starvation", "tokens", "signals"))


def _times(a: float, b: float) -> float:
    return a / b if b else float("inf")


def _favours_long(runs: Runs) -> Judged:
    short = runs.ratio("short.ttft", "mix-slack", "mix-fcfs")
    long = runs.ratio("long.ttft", "mix-slack", "mix-fcfs")
    parts = {"long prompts come to their first token sooner": long < 0.97, "short ones later": short > 1.1}
    return in_parts(parts, f"first tokens at {long:.2f} (long) and {short:.2f} (short) of the time in order of arrival")


def _neither(runs: Runs) -> Judged:
    slack, fair, both = (runs.of(f"mix-{name}", "short.ttft") for name in ("slack", "fair", "combined"))
    parts = {"slack alone leaves short requests waiting": slack > 5 * both, "fair shares alone too": fair > 5 * both}
    return in_parts(parts, f"mean first token of short requests {slack:.2f} s and {fair:.2f} s, combined {both:.2f} s")


def _combined(runs: Runs) -> Judged:
    short = runs.ratio("short.ttft", "mix-slack", "mix-combined")
    work = runs.ratio("throughput", "mix-combined", "mix-slack")
    parts = {
        "short requests come to their first token at least 5 times sooner": short > 5,
        "at the same throughput": short > 5 and work > 0.98,
    }
    return in_parts(parts, f"{short:.0f} times sooner than by slack alone, {work:.3f} of the throughput")


def _share_bounds(runs: Runs) -> Judged:
    none, quarter, half = (runs.of(f"share-{share}", "book.ttft") for share in ("0", "0.25", "0.5"))
    parts = {
        "a share of a quarter lets it in sooner": quarter < 0.8 * none,
        "one of a half sooner still": half < 0.6 * quarter,
    }
    return in_parts(parts, f"first token of a long prompt after {none:.0f}, {quarter:.0f} and {half:.0f} s")


def _drain(runs: Runs) -> Judged:
    waits = {budget: runs.of(f"burst-fcfs-{budget}", "short.wait") for budget in BUDGETS}
    bursts = {budget: runs.of(f"burst-fcfs-{budget}", "long.last") for budget in BUDGETS}
    small, other = BUDGETS[0], f"burst-shortest-work-{BUDGETS[0]}"
    share = _times(runs.of(other, "short.wait"), runs.of(other, "long.last"))
    parts = {
        f"it waits for the whole burst at a budget of {budget}": 0.95 < _times(waits[budget], bursts[budget]) <= 1.0
        for budget in BUDGETS
    }
    parts["and need not, in another order"] = share < 0.2
    ours = f"{waits[small]:.1f} s of {bursts[small]:.1f} s; shortest work first {share * 100:.0f} % of that"
    return in_parts(parts, ours)


def _no_batching(runs: Runs) -> Judged:
    small, large = BUDGETS[0], BUDGETS[-1]
    batching = runs.ratio("short.wait", f"burst-fcfs-{large}", f"burst-fcfs-{small}")
    order = runs.ratio("short.wait", f"burst-shortest-work-{small}", f"burst-fcfs-{small}")
    parts = {
        "16 times the budget takes less than a tenth off the wait": 0.9 < batching <= 1.0,
        "another order takes off nine tenths": order < 0.1,
    }
    return in_parts(
        parts, f"{batching:.2f} of the wait with {large // small} times the budget, {order:.2f} in another order"
    )


def _shortest_mean(runs: Runs) -> Judged:
    names = ("fcfs", "fair", "slack", "combined")
    shortest, others = runs.of("mix-shortest", "wait"), {name: runs.of(f"mix-{name}", "wait") for name in names}
    parts = {f"below {name}": shortest < wait for name, wait in others.items()}
    judged = in_parts(parts, f"{shortest:.2f} s; {', '.join(f'{name} {wait:.2f}' for name, wait in others.items())}")
    if judged.verdict != "holds in part":
        return judged
    why = (
        "The mean is least among orders that fill one prompt after the other; a cap on chunks, which fills several at "
        "once, is lower still."
    )
    return Judged(judged.ours, "", judged.verdict, f"{judged.why} {why}")


def _starves(runs: Runs) -> Judged:
    few, many = (runs.of(f"starve-shortest-{horizon}", "long.longest") for horizon in HORIZONS)
    fcfs = runs.of(f"starve-fcfs-{HORIZONS[1]}", "long.longest")
    parts = {
        "long requests wait as long as short ones come": few > HORIZONS[0] and many > HORIZONS[1],
        "where in order of arrival they would not": fcfs < HORIZONS[0] / 2,
    }
    return in_parts(
        parts, f"{few:.0f} s of {HORIZONS[0]} s, {many:.0f} s of {HORIZONS[1]} s; in order of arrival {fcfs:.0f} s"
    )


def _guarded(runs: Runs, name: str) -> Judged:
    few, many = (runs.of(f"starve-{name}-{horizon}", "long.longest") for horizon in HORIZONS)
    bare = runs.of(f"starve-shortest-{HORIZONS[1]}", "long.longest")
    parts = {
        "the wait of a long request no longer grows with the time": many < 1.2 * few,
        "and is a fraction of what it was": many < 0.3 * bare,
    }
    return in_parts(parts, f"at most {few:.0f} and {many:.0f} s, without {bare:.0f} s")


def _aged(runs: Runs) -> Judged:
    return _guarded(runs, "aged")


def _reserved(runs: Runs) -> Judged:
    return _guarded(runs, "reserved")


def _reservation_cost(runs: Runs) -> Judged:
    name = f"starve-reserved-{HORIZONS[1]}"
    work = runs.ratio("throughput", name, f"starve-shortest-{HORIZONS[1]}")
    wait = runs.ratio("wait", name, f"starve-shortest-{HORIZONS[1]}")
    parts = {"a share over a window costs no throughput": 0.99 < work < 1.01, "but mean wait": wait > 1.1}
    return in_parts(parts, f"{work:.3f} of the throughput, {wait:.2f} times the mean wait")


def _ttft(runs: Runs) -> Judged:
    share = runs.ratio("book.ttft", "share-0.5", "share-0")
    order = runs.ratio("ttft", "slots-16-shortest", "slots-16-fcfs")
    parts = {"the share of prompts moves it": share < 0.5, "and so does admission": order < 0.9}
    return in_parts(parts, f"{share:.2f} of the time at a share of a half; {order:.2f} by another order of admission")


def _itl(runs: Runs) -> Judged:
    by_order = [runs.of(f"slots-64-{name}", "itl") for name in ("fcfs", "slack", "shortest")]
    spread = max(by_order) / min(by_order) - 1
    by_slots = runs.ratio("itl", "slots-64-fcfs", "slots-16-fcfs")
    parts = {"sequences that share the batch move it": by_slots > 1.1, "the order hardly does": spread < 0.05}
    return in_parts(
        parts, f"{(by_slots - 1) * 100:.0f} % longer with 64 slots than with 16; orders {spread * 100:.1f} % apart"
    )


def _sum(runs: Runs) -> Judged:
    names = ("slots-16-fcfs", "slots-64-fcfs")
    apart = max(runs.of(name, "apart") for name in names)
    faster = runs.of(names[1], "e2e") < runs.of(names[0], "e2e") and runs.of(names[1], "itl") > runs.of(names[0], "itl")
    parts = {"to the rounding of sums": apart < 1e-6, "so that it may fall while the time between tokens grows": faster}
    return in_parts(
        parts,
        f"{apart:.0e} s apart; {runs.of(names[0], 'e2e'):.1f} s at 16 slots, {runs.of(names[1], 'e2e'):.1f} s at 64",
    )


def _expense(runs: Runs) -> Judged:
    gap = runs.ratio("stream.gap", "cap-128", "cap-none")
    first = runs.ratio("book.ttft", "cap-128", "cap-none")
    parts = {"a cap on chunks shortens the largest gap of streams": gap < 0.5, "and delays the long prompt": first > 2}
    return in_parts(parts, f"largest gap {gap:.2f} times, first token of the prompt {first:.1f} times")


def _signal(runs: Runs) -> Judged:
    count = runs.ratio("requests", "large-burst", "small-burst")
    work, time = (runs.ratio(name, "large-burst", "small-burst") for name in ("seconds", "drained"))
    parts = {
        "the number of requests does not tell": 0.9 < count < 1.1 and time > 5,
        "outstanding work does": abs(work / time - 1) < 0.25 and time > 5,
    }
    return in_parts(
        parts,
        f"{count:.1f} times the requests, {work:.1f} times the outstanding work, {time:.1f} times the time to drain",
    )


CLAIMS = (
    Claim(
        "neither-alone",
        "Neither slack nor shares handle long and short requests within one tenant.",
        INTERACTION,
        _neither,
        "",
        _MIX,
    ),
    Claim(
        "favours-long",
        "Pure deadline ordering favours long requests, and delays every short one behind them.",
        INTERACTION,
        _favours_long,
        "",
        _MIX,
    ),
    Claim(
        "resolution",
        "A cap on chunks, slack among what fits and virtual time between tenants resolve it.",
        INTERACTION,
        _combined,
        "",
        _MIX,
    ),
    Claim(
        "prefill-share",
        "A share of the iterations that is reserved for prompts bounds their wait.",
        INTERACTION,
        _share_bounds,
        "",
        _TOKENS,
    ),
    Claim(
        "burst",
        "In order of arrival, a short request after a burst of long prompts waits for the whole burst.",
        STARVATION,
        _drain,
        "",
        _STARVE,
    ),
    Claim(
        "no-batching",
        "No amount of batching removes that: it changes throughput, not order.",
        STARVATION,
        _no_batching,
        "",
        _STARVE,
    ),
    Claim("shortest-mean", "Shortest remaining work has the least mean wait.", STARVATION, _shortest_mean, "", _MIX),
    Claim(
        "starves",
        "Long requests starve under it as long as short work keeps coming.",
        STARVATION,
        _starves,
        "",
        _STARVE,
    ),
    Claim(
        "ageing",
        "An ageing term lifts a long request as it waits.",
        STARVATION,
        _aged,
        "",
        _STARVE,
    ),
    Claim(
        "reservation",
        "A reservation for those who waited past a threshold guarantees progress.",
        STARVATION,
        _reserved,
        "",
        _STARVE,
    ),
    Claim(
        "reservation-window",
        "As a share over a window it costs no throughput where it goes unused.",
        STARVATION,
        _reservation_cost,
        "",
        _STARVE,
    ),
    Claim(
        "ttft", "Time to first token is governed by admission and by the share of prompts.", CLIENTS, _ttft, "", _TOKENS
    ),
    Claim(
        "itl",
        "Time between tokens is governed by how many share the batch, by the order only indirectly.",
        CLIENTS,
        _itl,
        "",
        _TOKENS,
    ),
    Claim("completion", "Completion time is the sum of the two.", CLIENTS, _sum, "", _TOKENS),
    Claim("expense", "One of them can be optimised at the expense of the others.", CLIENTS, _expense, "", _TOKENS),
    Claim(
        "signal",
        "A fleet that is scaled on the number of requests is sized for the wrong quantity.",
        CLIENTS,
        _signal,
        "",
        _SIGNALS,
    ),
)
