"""The pages of tune and capacity explain every path of their JSON."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from headway.studies.capacity import capacity
from headway.studies.tune import tune
from tests.docs.test_pages import DOCS, paths, table


def said(page: str) -> set[str]:
    return set(table((DOCS / "commands" / page).read_text().partition("## JSON")[2]))


def plain(data: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(data))


@cache
def tuned() -> dict[str, Any]:
    found = tune("qba-paper(n=120)", "ttft=1", windows=8, budget=100, workers=1, command="headway")
    return plain(found.to_dict())


def test_every_path_of_the_json_of_tune_is_explained():
    """A gain is explained once; the baseline is as a candidate is."""
    data = tuned()
    for one in (data["baseline"], *data["candidates"]):
        one["gain"], one["behind"] = {}, {}
    for change in data["changes"]:
        change["gain"] = {}
    data["baseline"] = {}
    assert paths(data) == said("tune.md")


def test_every_path_of_the_json_of_capacity_is_explained():
    found = capacity("qba-paper(n=150)", "ttft=1", windows=2, attain=0.9, workers=1, command="headway")
    real = paths(plain(found.to_dict()))
    named = {re.sub(r"(limit\.(limits|causes|at_limit))\..*", r"\1.NAME", path) for path in real}
    assert named == said("capacity.md")
