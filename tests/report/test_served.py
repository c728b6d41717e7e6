"""What leads the answer where waits alone would mislead."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from headway.measure.comparison import Comparison, ComparisonBuilder
from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.report.numbers import percent_text
from headway.report.sentences import MOST, answer
from headway.report.tables import differences_table
from tests.measure.fake_runs import LEFT, REJECTED, outcome, record, residence, waiting_run
from tests.report.comparisons import SETTINGS, of_tenants, of_waits, typical

TWO = of_tenants()


def of_served(*counts: int, requests: int = 100, lost: dict[str, object] = LEFT, sla: Sla | None = None) -> Comparison:
    """Policies a, b, c …, of which each serves only the first so many requests, at waits as short as they are few."""
    builder = ComparisonBuilder(SETTINGS, sla=sla)
    for policy, count in zip("abcdef", counts, strict=False):
        rows = [
            outcome(i, start=i + count / 10, finish=i + 20.0)
            if i < count
            else outcome(i, **lost | {"start": None, "finish": i + 1.0})
            for i in range(requests)
        ]
        builder.add(record(rows, policy=policy, residence=residence()))
    return builder.build()


def share(comparison: Comparison, policy: str, tenant: str | None = None) -> str:
    tenancy = comparison.summary(policy).tenancy
    assert tenancy is not None
    service = tenancy.promises if tenant is None else tenancy.tenants[tenant].promises
    assert service is not None
    assert service.attainment is not None
    return percent_text(service.attainment)


def test_promises_kept_go_before_the_mean_wait() -> None:
    all_of_them, quiet = share(TWO, "fcfs"), share(TWO, "fcfs", "quiet")
    assert answer(TWO).startswith(
        f"On trace.csv, fair-share keeps promises to every request; fcfs to fewest, {all_of_them}. "
        f"quiet is hurt most, under fcfs: {quiet} of its requests got what was promised, 100 % under "
        "fair-share. fcfs has the lowest mean wait in this run"
    )


def test_policies_that_keep_as_much_are_told_together() -> None:
    text = answer(of_tenants(policies=("fcfs", "fair-share", "psf", "least-slack")))
    assert "fair-share and least-slack keep promises to every request; fcfs and psf to fewest" in text
    many = of_tenants(
        policies=("fcfs", "fair-share", "least-slack", "shortest-work", "psf", "aa"), ttft_slo=[1e6] * 200
    )
    assert answer(many).startswith("On trace.csv, all policies keep promises to every request. ")
    assert "hurt" not in answer(many)
    none = answer(of_tenants(ttft_slo=[1e-6] * 200))
    assert "all policies keep promises to about as many requests, " in none
    assert "is hurt most, under every policy: " in none


def named(name: str, order: str, shed: str = "keep") -> Policy:
    return replace(Policy.of(order, None, shed), name=name)


def test_more_than_three_policies_are_counted() -> None:
    alike = [named(name, "fair-share") for name in "abcd"]
    text = answer(of_tenants(policies=(*alike, named("e", "fcfs"))))
    assert "4 of 5 policies keep promises to every request; e to fewest" in text


def test_a_rejected_request_counts_as_a_promise_not_kept() -> None:
    found = of_tenants(policies=("fcfs", named("least-slack", "least-slack", "reject")), ttft_slo=[0.5] * 200)
    rejected = found.summary("least-slack").rejected
    assert rejected
    text = answer(found)
    assert f"least-slack keeps promises to most requests in this run, {share(found, 'least-slack')} of all; " in text
    assert f"fcfs to fewest, {share(found, 'fcfs')}; a rejected request counts as one not kept." in text
    assert "the lowest mean wait" not in text  # of those that were started: fewer
    assert "in the mean, but these are not the same requests." in text
    assert f"Rejected requests have no wait and do not count in it: least-slack {rejected} of 200." in text


@pytest.mark.parametrize("seeds", [1, 2])
@pytest.mark.parametrize("limit", [0.5, 2.0])
def test_an_answer_is_no_longer_than_five_sentences(seeds: int, limit: float) -> None:
    rules = tuple(
        named(f"{order} {shed}", order, shed) for order in ("fcfs", "least-slack") for shed in ("keep", "reject")
    )
    text = answer(of_tenants(policies=rules, seeds=seeds, ttft_slo=[limit] * 200))
    assert 3 <= len(re.findall(r"\.(?: [A-Za-z]|$)", text)) <= MOST


def test_nothing_leads_where_nobody_was_promised_anything_and_all_were_served() -> None:
    assert answer(of_tenants(ttft_slo=None)).startswith("On trace.csv, fcfs has the lowest mean wait")
    assert answer(typical()).startswith("On trace.csv, psf has the lowest mean wait")
    assert answer(of_tenants(policies=("fcfs",))).startswith("Under fcfs, requests wait")


def test_a_single_tenant_needs_no_name() -> None:
    one = answer(of_tenants(policies=("fcfs", "shortest-work"), tenant=None, ttft_slo=[3.0] * 200))
    assert "shortest-work keeps promises to most requests" in one
    assert "default" not in one


def test_where_clients_left_those_that_were_finished_go_first() -> None:
    found = of_served(90, 8, 30)
    text = answer(found)
    assert text.startswith(
        "On trace.csv, a finishes most in this run, 90 of 100 requests; b fewest, 8. Requests that were started waited "
        "from 0.80 s (b) to 9.00 s (a) in the mean, but these are not the same requests."
    )
    assert "lowest mean wait" not in text
    assert "Clients left before their answer was complete: a 10 of 100, b 92 of 100 and c 70 of 100" in text


def test_with_an_agreement_its_share_of_all_requests_goes_first() -> None:
    text = answer(of_served(90, 8, sla=Sla.parse("e2e=30")))
    assert text.startswith(
        "On trace.csv, a keeps the agreement for most requests in this run, 90 % of all; b for fewest"
    )


def test_whoever_gives_an_agreement_is_told_of_it_first() -> None:
    """Even where all were served, and before promises of the requests' own: what was asked is the agreement."""
    found = of_tenants(sla=Sla(ttft=1.0))
    met = {one.policy: percent_text(one.sla.attainment or 0) for one in found.policies if one.sla is not None}
    assert len(set(met.values())) == 2
    best, least = sorted(met, key=lambda policy: float(met[policy].removesuffix(" %")), reverse=True)
    assert answer(found).startswith(
        f"On trace.csv, {best} keeps the agreement for most requests in this run, {met[best]} of all; {least} for "
        f"fewest, {met[least]}. "
    )
    assert "is hurt most, under " in answer(found)
    assert "promises to" not in answer(found)
    builder = ComparisonBuilder(SETTINGS, sla=Sla(ttft=2.0))
    for policy, wait in (("a", 1.0), ("b", 3.0)):
        builder.add(waiting_run(policy, [wait] * 50))
    assert answer(builder.build()).startswith(
        "On trace.csv, a keeps the agreement for every request; b for fewest, 0 %. a has the lowest mean wait"
    )


def test_one_policy_is_told_with_its_agreement() -> None:
    text = answer(of_served(90, sla=Sla.parse("e2e=30"), lost=REJECTED))
    assert text.startswith(
        "a keeps the agreement for 90 % of all requests; a rejected request counts as one not kept. Under a, requests "
    )


def test_of_many_policies_the_least_and_most_are_named() -> None:
    text = answer(of_served(90, 8, 30, 40, 50, lost=REJECTED))
    assert "Rejected requests have no wait and do not count in it: 10 to 92 of 100 under 5 of the policies." in text


def test_headline_table_and_note_speak_of_the_same_requests() -> None:
    found = of_served(90, 8)
    assert found.paired[0].requests == 8
    (note,) = found.notes
    assert note.startswith("Differences are of the requests that both policies of a pair started, 8 of 100: too few to")
    assert note.endswith("say how sure the differences are; 40 or several seeds would do.")
    assert [row[4] for row in differences_table(found)] == ["too few: 8"]
    enough = of_served(90, 80)
    assert enough.notes[0] == "Differences are of the requests that both policies of a pair started, 80 of 100."
    assert enough.notes[1].startswith("One run: the intervals")


def test_policies_that_did_the_same_are_told_once() -> None:
    waits = np.random.default_rng(0).exponential(1.0, size=100)
    found = of_waits({"keep": waits, "fcfs": waits + 1, "reject": waits, "demote": waits})
    assert "The same as another policy, every request with the same outcome: reject, demote as keep." in found.notes
    assert "On trace.csv, keep has the lowest mean wait in this run" in answer(found)
    assert [row[4] for row in differences_table(found)].count("none: the same outcomes") == 3
    other = of_waits({"keep": waits, "reject": waits[::-1]})
    assert not any("The same" in note for note in other.notes)


def test_over_seeds_all_of_them_must_be_the_same() -> None:
    def same(*later: float) -> bool:
        return of_waits({"a": [1.0, 2.0], "b": [1.0, 2.0]}, {"a": [1.0, 2.0], "b": list(later)}).paired[0].same

    assert same(1.0, 2.0)
    assert not same(1.0, 2.5)
    builder = ComparisonBuilder({})
    builder.add(waiting_run("a", [1.0]))
    builder.add(record([outcome(0, **REJECTED)], policy="b", residence=residence()))
    assert not builder.build().paired[0].same
