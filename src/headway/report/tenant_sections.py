"""The sections of the HTML report on tenants, classes and fairness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headway.measure.comparison import Comparison
from headway.report.fragments import figure_grid, section, table_html
from headway.report.tenant_tables import classes_table, fairness_table, tenants_table

if TYPE_CHECKING:
    from headway.report.drawing import Figure  # it imports altair, which takes long

_TENANTS = (
    "Promises kept is the share of requests that finished and kept everything that was promised to them; one without "
    "promises needs only to finish. TTFT, ITL and E2E are of the requests that were promised a first token, a pace of "
    "tokens or an end. A token is late if it comes after its deadline: the first token's time, and the promised gap "
    "for each token since. Goodput is the tokens of the requests that kept all, a second of the time from the first "
    "arrival to the last finish. The best figure of a tenant is green."
)
_CLASSES = "The same by the users' own classes."
_FAIRNESS = (
    "Service is what the engine did for a tenant, a prompt position counting one unit and a decode position two, over "
    "the tenant's weight. Tenants are compared while both have requests waiting. Jain is 1 where all get the same and "
    "1/n where one of n gets everything; the gap is the largest difference between two tenants over any stretch of "
    "time; 2U is what fair queueing guarantees. Without service is the longest that a tenant with requests waiting got "
    "nothing."
)


def tenant_sections(comparison: Comparison, drawn: Sequence[Figure]) -> list[str]:
    """Return the sections for which there are figures, each as HTML; the charts stand with fairness."""
    made = (
        ("Tenants", _TENANTS, tenants_table(comparison), ""),
        ("Classes", _CLASSES, classes_table(comparison), ""),
        ("Fairness", _FAIRNESS, fairness_table(comparison), figure_grid(drawn)),
    )
    return [section(title, how, table_html(table) + charts) for title, how, table, charts in made if table is not None]
