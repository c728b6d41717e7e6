"""docs/api.md has every parameter, path and metric of the server, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from headway.serve.api.app import create_app
from headway.serve.api.schema import ChatBody, CompletionBody
from headway.serve.metrics import Metrics
from headway.testing.fake_backend import FakeBackend
from tests.serve.served import serving

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def first_cells(text: str) -> set[str]:
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_every_parameter_has_a_row():
    assert first_cells(section("Parameters")) == {*ChatBody.model_fields, *CompletionBody.model_fields}


def test_every_path_is_there():
    with serving(FakeBackend()) as server:
        app = create_app(server.service, server.metrics, version="0", most_bytes=1000)
        paths = app.openapi()["paths"]
    told = {cell.split()[-1] for cell in first_cells(PAGE.split("\n## ")[0])}
    assert {*paths, "/docs", "/openapi.json"} <= told | {"/v1/models/{name}"}


def test_every_metric_has_a_row():
    with serving(FakeBackend()) as server:
        families = {family.name: family.type for family in server.metrics.registry.collect()}
    names = {f"{name}_total" if kind == "counter" else name for name, kind in families.items()}
    assert first_cells(section("Metrics")) == names
    assert isinstance(server.metrics, Metrics)
