"""Tables, sections and charts of tenants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
import vl_convert

from headway.measure.sla import Sla
from headway.policies.policy import Policy
from headway.report.columns import NO_VALUE, Column, Table, lowest
from headway.report.drawing import Figure
from headway.report.html import html_report
from headway.report.tenant_charts import MOST as MOST_DRAWN
from headway.report.tenant_charts import POINTS, tenant_figures
from headway.report.tenant_tables import MOST, classes_table, fairness_table, tenants_table
from headway.simulate.run import simulate
from headway.workload.trace import Trace
from tests.report.comparisons import ENGINE, of_tenants, typical
from tests.report.test_html import Page

TWO = of_tenants()


def table_of(table: Table | None) -> Table:
    assert table is not None
    return table


def column(table: Table, group: str, name: str) -> Column:
    return next(c for c in table.columns if (c.group, c.name) == (group, name))


def test_a_row_a_tenant_and_policy():
    table = table_of(tenants_table(TWO))
    assert table.rows == ("fcfs", "fair-share") * 2
    assert table.blocks == ("noisy (noisy)", "noisy (noisy)", "quiet (quiet)", "quiet (quiet)")
    assert column(table, "Requests", "").cells == ("160", "160", "40", "40")
    groups = [TWO.policies[k].tenancy.tenants[name] for name in ("noisy", "quiet") for k in (0, 1)]  # type: ignore[union-attr]
    kept = column(table, "Promises kept", "All")
    assert kept.cells == tuple(f"{100 * (group.promises.attainment or 0):.1f}" for group in groups)
    assert kept.best == {3}  # fair-share keeps more of what was promised to quiet; noisy was promised nothing
    wait = column(table, "Wait", "Mean")
    assert wait.cells == tuple(f"{group.latency.wait.mean or 0:.2f}" for group in groups)
    assert wait.best == {0, 3}
    assert {c.name for c in table.columns if c.group == "Between tokens (ITL)"} == {"Mean", "P99", "Max"}


def test_each_kind_of_promise_has_a_column_where_there_are_several():
    names = [c.name for c in table_of(tenants_table(TWO)).columns if c.group == "Promises kept"]
    assert names == ["All"]
    table = table_of(tenants_table(of_tenants(itl_slo=[0.5] * 200)))
    names = [c.name for c in table.columns if c.group == "Promises kept"]
    assert names == ["All", "TTFT", "ITL"]
    assert column(table, "Promises kept", "TTFT").cells[:2] == (NO_VALUE, NO_VALUE)
    assert column(table, "Promises kept", "ITL").cells == ("100.0",) * 4


def test_without_promises_none_are_shown_but_for_an_agreement():
    bare = table_of(tenants_table(of_tenants(ttft_slo=None)))
    assert not [c for c in bare.columns if c.group in ("Promises kept", "Goodput")]
    agreed = table_of(tenants_table(of_tenants(ttft_slo=None, sla=Sla(ttft=2.0))))
    assert column(agreed, "Promises kept", "All").best


def test_without_tenants_and_promises_there_are_no_tables():
    for make in (tenants_table, classes_table, fairness_table):
        assert make(typical()) is None
    one = of_tenants(tenant=None)
    assert table_of(tenants_table(one)).blocks == ("default", "default")
    assert fairness_table(one) is None
    assert tenant_figures(one) == []


def test_classes_have_a_table_unless_each_tenant_is_one():
    assert classes_table(TWO) is None
    assert classes_table(of_tenants(**{"class": None})) is None
    mixed = table_of(classes_table(of_tenants(**{"class": [("chat", "batch")[k % 2] for k in range(200)]})))
    assert mixed.blocks == ("batch", "batch", "chat", "chat")
    assert mixed.block_head == "class"


def test_of_many_tenants_those_with_the_most_requests_are_shown():
    many = of_tenants(tuple(f"t{k:02}" for k in range(MOST + 5)), ("fcfs",))
    table = table_of(tenants_table(many))
    assert table.title == f"Tenants: {MOST} of {MOST + 5}, those with the most requests"
    assert len(table.rows) == MOST
    (service, _) = tenant_figures(many)
    assert {row["tenant"] for row in rows(service)} == {f"t{k:02}" for k in range(MOST_DRAWN)}
    assert f"The {MOST_DRAWN} of {MOST + 5} tenants" in service.caption


def test_fairness_by_policy():
    table = table_of(fairness_table(TWO))
    shares = [summary.tenancy.fairness for summary in TWO.policies if summary.tenancy]
    assert table.rows == ("fcfs", "fair-share")
    assert not table.blocks
    for name, of in (("Largest", "max_gap"), ("2U", "bound")):
        found = column(table, "Service gap, units", name)
        assert found.cells == tuple(f"{getattr(one, of):,.0f}" for one in shares)
    assert column(table, "Service gap, units", "Largest").best == {1}
    assert column(table, "Service gap, units", "2U").best == frozenset()
    assert column(table, "Service", "Jain").cells[0] == f"{shares[0].jain:.3f}"  # type: ignore[union-attr]
    worst = [
        min(group.promises.attainment or 0 for group in summary.tenancy.tenants.values())
        for summary in TWO.policies
        if summary.tenancy
    ]
    assert column(table, "Promises kept", "Worst tenant").cells == tuple(f"{100 * share:.1f}" for share in worst)
    assert column(table, "Without service", "Longest").unit in ("s", "ms")


def test_the_lowest_of_each_block():
    assert lowest([3, 1, 1, 2, 2, None], ["a", "a", "a", "b", "b", "b"]) == {1, 2}
    assert lowest([None, None]) == frozenset()


def test_the_page_has_a_section_for_each_and_places_for_the_charts():
    page = Page(html_report(TWO))
    assert [title for title in page.texts["h2"] if title in ("Tenants", "Classes", "Fairness")] == [
        "Tenants",
        "Fairness",
    ]
    assert page.texts["span"].count("noisy (noisy)") == 1
    places = {attributes.get("id") for tag, attributes in page.elements if tag == "div"}
    charts = {chart["place"] for chart in page.charts()}
    assert {"chart-service-0", "chart-service-1", "chart-gaps-0"} <= charts <= places
    assert "Tenants" not in Page(html_report(typical())).texts["h2"]


def test_a_tenants_name_cannot_become_markup():
    evil = "</script><b>&"
    page = Page(html_report(of_tenants((evil, "quiet"))))
    assert "b" not in [tag for tag, _ in page.elements]
    assert f"{evil} ({evil})" in page.text("span")


def rows(figure: Figure, chart: int = 0) -> list[dict[str, Any]]:
    return figure.charts[chart].to_dict()["data"]["values"]


@pytest.mark.parametrize("seeds", [1, 2])
def test_charts_are_ones_that_vega_can_draw(seeds: int):
    service, gaps = tenant_figures(of_tenants(seeds=seeds))
    assert [len(figure.charts) for figure in (service, gaps)] == [2, 1]
    for figure in (service, gaps):
        assert figure.caption.startswith("Of seed 0.") == (seeds > 1)
        for chart in figure.charts:
            picture = vl_convert.vegalite_to_svg(chart.properties(width=400).to_dict())
            assert "NaN" not in picture
            assert "<path" in picture
    assert "2U" in vl_convert.vegalite_to_svg(gaps.charts[0].properties(width=400).to_dict())


def test_curves_of_service_climb_to_what_each_tenant_was_served():
    service, _ = tenant_figures(TWO)
    for chart, summary in enumerate(TWO.policies):
        assert summary.tenancy is not None
        for name, group in summary.tenancy.tenants.items():
            curve = [row["value"] for row in rows(service, chart) if row["tenant"] == name]
            assert len(curve) == POINTS
            assert curve == sorted(curve)
            assert curve[-1] == pytest.approx(group.served, rel=1e-5)


def test_gaps_lie_below_the_largest_and_the_bound_is_drawn():
    _, gaps = tenant_figures(TWO)
    layers = gaps.charts[0].to_dict()["layer"]
    fair = TWO.policies[1].tenancy.fairness  # type: ignore[union-attr]
    assert fair is not None
    assert layers[1]["data"]["values"] == [{"value": fair.bound, "text": "2U"}]
    points = layers[0]["data"]["values"]
    for summary in TWO.policies:
        assert summary.tenancy is not None
        assert summary.tenancy.fairness is not None
        most = max(row["value"] for row in points if row["policy"] == summary.policy)
        assert most <= (summary.tenancy.fairness.max_gap or 0)


def test_tenants_that_never_wait_together_have_no_chart_of_gaps():
    (service,) = tenant_figures(of_tenants(arrival=[float(k) for k in range(200)]))
    assert service.key == "service"


def test_who_was_rejected_or_demoted_is_told_by_tenant_and_class():
    rules = tuple(replace(Policy.of("fcfs", None, shed), name=shed) for shed in ("keep", "reject", "demote"))
    found = of_tenants(policies=rules, ttft_slo=[0.5] * 200, **{"class": ["chat", "code"] * 100})
    for make in (tenants_table, classes_table):
        table = table_of(make(found))
        for name, policy in (("Rejected", "reject"), ("Demoted", "demote")):
            cells = dict(zip(zip(table.rows, table.blocks, strict=True), column(table, name, "").cells, strict=True))
            total = sum(int(cell) for (row, _), cell in cells.items() if row == policy)
            summary = found.summary(policy)
            assert total == (summary.rejected if policy == "reject" else summary.refusals.demoted) > 0
            assert all(cell == "0" for (row, _), cell in cells.items() if row != policy)
    entry = found.summary("reject").to_dict()
    assert sum(one["rejected"] for one in entry["tenants"].values()) == entry["rejected"]
    demoted = found.first["demote"].outcomes.filter("demoted")
    quiet = demoted.filter(pl.col("tenant") == "quiet").height
    assert found.summary("demote").to_dict()["tenants"]["quiet"]["demoted"] == quiet
    names = {column.group for column in table_of(tenants_table(TWO)).columns}
    assert not names & {"Rejected", "Demoted"}


def test_a_client_that_leaves_was_demoted_all_the_same():
    """The reason is then the client's, and the demotion must not be lost."""
    frame = pl.DataFrame({"arrival": [0.0] * 60, "prompt_tokens": [50] * 60, "output_tokens": [20] * 60})
    run = simulate(
        Trace.from_frame("t", frame.with_columns(pl.lit(0.3).alias("ttft_slo"))),
        Policy.of("fcfs", None, "demote"),
        ENGINE,
        patience=1.0,
    )
    assert run.totals.demoted == run.outcomes["demoted"].sum()
    assert run.outcomes.filter(pl.col("demoted") & (pl.col("outcome") == "cancelled")).height
