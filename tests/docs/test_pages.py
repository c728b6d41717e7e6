"""Everything has its page, every option its line, every link its target."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

import headway
from headway.cli.main import app
from headway.cli.policies import KINDS
from headway.core.engine import GPUS, MODELS, PRESETS, EngineProfile
from headway.core.request import Request
from headway.core.sequence import REJECTED, Sequence
from headway.core.spec import parameters
from headway.measure.swept import Overview, groups
from headway.measure.why import why
from headway.serve import wire
from headway.serve.access import digest
from headway.serve.config import SECTIONS, Config, option_of
from headway.serve.refusal import refusal_of
from headway.studies.formulas import formula_waits
from headway.studies.frontier import frontier
from headway.studies.grid import AXES, SEEDS
from headway.studies.sweep import sweep
from headway.studies.theory import explain
from headway.theory import Service, TwoClasses
from headway.workload.columns import OPTIONAL, REQUIRED
from headway.workload.named import NAMED
from headway.workload.tenants import TenantsFile, Terms
from headway.workload.tenants_toml import GLOBAL, SERVED, TERMS, TRAFFIC, tenants_from_toml
from headway.workload.traces.azure import azure
from headway.workload.traces.blis import BLIS
from headway.workload.traces.burstgpt import BURSTGPT
from headway.workload.traces.mooncake import MOONCAKE
from headway.workload.traces.vidur import VIDUR
from headway.workload.traffic import ARRIVAL_KINDS, Traffic, length_kinds
from tests.docs.blocks import PAGES, ROOT, blocks
from tests.measure.reproduction_by_hand import typical

DOCS = ROOT / "docs"
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
RULES = {name: make for known in KINDS.values() for name, make in known.items()}


def table(text: str) -> dict[str, list[str]]:
    """Return the rows of all tables whose first cell is one code word: that word → the other cells."""
    rows = re.findall(r"^\| `([\w\[\].-]+)` \|(.*)\|$", text, re.MULTILINE)
    return {name: [cell.strip() for cell in rest.split("|")] for name, rest in rows}


def default(value: object) -> str:
    return "none" if value is None else f"`{value}`"


@pytest.mark.parametrize("name", RULES)
def test_every_rule_has_a_page_with_its_options_and_defaults(name: str):
    text = (DOCS / "policies" / f"{name}.md").read_text()
    shown = table(text.partition("## Options")[2].partition("\n## ")[0])
    options = parameters(RULES[name])
    assert {option: cells[0] for option, cells in shown.items()} == {
        option: default(parameter.default) for option, parameter in options.items()
    }
    for heading in ("## Rule", "## When to choose it", "## Trade-offs", "## Cost", "## Source"):
        assert heading in text, heading


def with_subcommands(command: Any) -> list[Any]:
    """Return a command, and those that it groups."""
    return [command, *getattr(command, "commands", {}).values()]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_page_with_its_options(name: str):
    text = (DOCS / "commands" / f"{name}.md").read_text()
    if name == "simulate":
        text += (DOCS / "commands" / "compare.md").read_text()
    shown = table(text)
    for parameter in (parameter for command in with_subcommands(COMMANDS[name]) for parameter in command.params):
        option = max(parameter.opts, key=len)
        if option.startswith("--") and option != "--help":
            assert option in shown, option
    assert f"$ headway {name}" in text


def test_every_key_of_an_engine_is_explained():
    shown = table((DOCS / "engines.md").read_text())
    for field in dataclasses.fields(EngineProfile):
        if field.name == "cost":
            continue
        required = field.default is dataclasses.MISSING and field.name != "name"
        said = shown[field.name][0]
        if required:
            assert said == "required"
        elif field.name not in ("name", "source"):
            text = f'"{field.default}"' if isinstance(field.default, str) else str(field.default).lower()
            assert said == ("none" if field.default is None else f"`{text}`"), field.name


def test_every_preset_accelerator_and_model_is_there():
    text = (DOCS / "engines.md").read_text()
    for name in (*PRESETS, *GPUS, *MODELS):
        assert f"`{name}`" in text, name
    for key in ("c0", "a", "b0", "prefill", "decode", "context", "gpu", "model", "count"):
        assert f"`{key}`" in text, key


def test_every_workload_has_its_options_and_defaults():
    text = (DOCS / "workloads.md").read_text()
    for name, make in NAMED.items():
        part = text.partition(f"## `{name}`")[2].partition("\n## ")[0]
        shown = {option: cells[0] for option, cells in table(part).items()}
        options = {key: p for key, p in parameters(make).items() if key != "seed"}
        assert shown == {key: f"`{parameter.default}`" for key, parameter in options.items()}, name


def test_every_column_of_a_trace_is_there():
    text = (DOCS / "traces.md").read_text()
    assert set(table(text)) >= {*REQUIRED, *OPTIONAL}
    for form in (azure(0), VIDUR, MOONCAKE, BLIS, BURSTGPT):
        for column in (*form.required, *form.optional):
            assert f"`{column}`" in text, column


def test_every_key_of_a_tenants_file_is_explained():
    text = (DOCS / "tenants.md").read_text().partition("## The file")[2].partition("\n### ")[0]
    given = [{key: cells[0] for key, cells in table(part).items()} for part in text.split("| key | default |")[1:]]
    assert [set(keys) for keys in given] == [set(GLOBAL), {"name", *TERMS}, set(TRAFFIC), set(SERVED)]
    defaults = {key: value for keys in given for key, value in keys.items() if value != "none"}
    assert defaults == {
        "strict": f"`{str(TenantsFile('', ()).strict).lower()}`",
        "name": "required",
        "weight": f"`{Terms().weight}`",
        "start": f"`{Traffic.start}`",
    }


def test_every_key_of_a_configuration_is_explained():
    shown = table((DOCS / "commands" / "serve.md").read_text().partition("## Options")[2].partition("\n## ")[0])
    keys = {
        name: f"`{section}.{key}`".replace("`.", "`")
        for section in SECTIONS
        for key, (name, _) in SECTIONS[section].items()
    }
    assert {option: cells[0] for option, cells in shown.items() if cells[0]} == {
        option_of(name): key for name, key in keys.items()
    }
    for name in keys.keys() - {"model", "auth", "memory", "threads"}:
        assert shown[option_of(name)][1] == default(getattr(Config, name)), name


def test_every_key_of_a_sweep_is_explained():
    said = table((DOCS / "commands" / "sweep.md").read_text().partition("## The file")[2].partition("\n## ")[0])
    assert set(said) == {*AXES, *SEEDS}
    for name, axis in AXES.items():
        shown = f"`{str(axis.default).lower() if isinstance(axis.default, bool) else axis.default}`"
        assert axis.default is None or said[name][0] == shown, name


def test_the_sweep_file_that_is_shown_is_the_example():
    shown, several = blocks(DOCS / "commands" / "sweep.md", "toml")
    assert (ROOT / "examples" / "sweep.toml").read_text().endswith(f"\n\n{shown.text}")
    assert len(tomllib.loads(several.text)["grid"]) == 2


def test_every_path_of_the_json_of_sweep_is_explained(tmp_path: Path):
    said = set(table((DOCS / "commands" / "sweep.md").read_text().partition("## JSON")[2]))
    frame = sweep({"workload": "qba-paper(n=20)", "policy": "fcfs", "seeds": 2, "sla": "ttft=1"}, tmp_path, workers=1)
    overview = Overview(
        dict.fromkeys(("headway", "command", "results", "cells", "finished", "computed"), 1), groups(frame, list(AXES))
    )
    once = re.compile(r"^groups\[\]\.(settings|wait)\..*")
    assert said == {once.sub(r"groups[].\1", path) for path in paths(overview.to_dict())}


def test_every_header_and_refusal_is_explained():
    text = (DOCS / "commands" / "serve.md").read_text()
    for name in (*wire.TENANT, *wire.CLASS, *wire.TTFT, *wire.ITL, *wire.COMPLETION, *wire.PREDICTED, *wire.TIERS):
        assert f"`{name}`" in text, name
    said = table(text.partition("## Who is not served")[2])
    for reason in ("deadline", "queue_full", "unreachable", "kv_capacity"):
        seq = Sequence(Request(0, 0.0, 1), 0)
        seq.state, seq.reason = REJECTED, reason
        refused = refusal_of(seq, 0.0)
        assert said[refused.code][:2] == [str(refused.status), "yes" if refused.should_retry else "no"]


def test_the_key_that_is_shown_has_the_hash_that_is_shown():
    (block,) = blocks(DOCS / "commands" / "key.md", "text")
    _, key, shown = block.text.split("\n", 2)
    (tenant,) = tenants_from_toml(shown, "shown.toml").tenants
    assert (tenant.name, tenant.keys) == ("chat", (digest(key),))


def test_the_tenants_file_that_is_shown_is_one():
    (block,) = blocks(DOCS / "tenants.md", "toml")
    shown = tenants_from_toml(block.text, "shown.toml")
    assert len(shown.draw()) > 500
    assert shown.weights == {"chat": 2.0, "nightly": 1.0}


def test_the_hashes_that_are_shown_hit_as_said(tmp_path: Path):
    (block,) = (block for block in blocks(DOCS / "traces.md", "csv") if "blocks" in block.text)
    (tmp_path / "shown.csv").write_text(block.text)
    engine = dataclasses.replace(PRESETS["h100-llama3-8b"], prefix_cache=10_000)
    record = headway.simulate(headway.read_trace(tmp_path / "shown.csv"), "fcfs", engine)
    assert record.totals.cached_positions == 1536 + 512
    assert "the second prompt 1,536 tokens are cached, of the third 512" in (DOCS / "traces.md").read_text()


@pytest.mark.parametrize(("heading", "kinds"), [("Arrivals", ARRIVAL_KINDS), ("Lengths", length_kinds(1))])
def test_every_kind_of_arrivals_and_lengths_has_its_options(heading: str, kinds: dict[str, Any]):
    part = (DOCS / "tenants.md").read_text().partition(f"### {heading}")[2].partition("\n#")[0]
    assert {kind: cells[0] for kind, cells in table(part).items()} == {
        kind: ", ".join(
            f"`{name}`" if option.default is option.empty else f"`{name}` = {option.default}"
            for name, option in parameters(make).items()
        )
        for kind, make in kinds.items()
    }


def paths(data: Any, path: str = "") -> set[str]:
    """Return the key paths of an object, as the page on JSON writes them."""
    if isinstance(data, dict) and data:
        return {leaf for key, value in data.items() for leaf in paths(value, f"{path}.{key}" if path else key)}
    if isinstance(data, list) and data and isinstance(data[0], dict):
        return paths(data[0], f"{path}[]")
    return {path}


def test_every_path_of_the_json_is_explained():
    """Statistics and classes are explained once, not under each measure."""
    said = set(table((DOCS / "json.md").read_text()))
    real = paths(headway.compare("qba-paper(n=200)", seeds=range(2), command="headway").to_dict())
    once = re.compile(r"^policies\[\]\.(tenants\.NAME\.)?(wait|ttft|itl|e2e|mtpot|classes|predicted)\.")
    source = headway.read_tenants(ROOT / "examples" / "noisy-neighbour.toml")
    tenants = paths(headway.compare(source, ["fcfs"]).to_dict())
    labels = {re.sub(r"labels\.\w+", "tenants.NAME", path) for path in tenants if path.startswith("policies[].labels.")}
    named = {re.sub(r"tenants\.\w+", "tenants.NAME", path) for path in tenants if ".tenants." in path}
    shares = {path for path in tenants if re.match(r"policies\[\]\.(promises|fairness)\.", path)}
    assert labels == named
    every = {path for path in real | named | shares if not once.match(path)}
    assert every == {path for path in said if path.count(".") or path in real}
    measures = {"wait", "ttft", "itl", "e2e", "mtpot", "classes", "predicted"}
    assert said >= measures | {"mean", "p50", "p90", "p99", "max", "ci95"}
    assert {match[2] for path in real if (match := once.match(path))} == measures


def test_every_path_of_the_json_of_frontier_is_explained():
    """The use of memory is explained once, for the whole run and for its steady part."""
    said = set(table((DOCS / "commands" / "frontier.md").read_text().partition("## JSON")[2]))
    found = frontier("d1(n=80)", ["watermark", "ema"], steady_after=10, seeds=range(2), command="headway")
    once = re.compile(r"^curves\[\]\.points\[\]\.(whole|steady)\..*")
    real = {once.sub(r"curves[].points[].\1", path) if once.match(path) else path for path in paths(found.to_dict())}
    assert said == real


def test_every_path_of_the_json_of_theory_is_explained():
    """Classes and ageing orders are explained once."""
    numbers, runs = (DOCS / "commands" / "theory.md").read_text().partition("## JSON")[2].split("From a workload:")
    traffic = TwoClasses(1, 0.5, Service(0.1, 0.02), Service(0.2, 0.05), 1)
    assert set(table(numbers)) == paths(formula_waits(traffic, 0.5, "headway"))
    real = paths(explain("qba-paper(n=100)", seeds=range(2), command="headway", workers=1).to_dict())
    once = re.compile(r"^calibration\.(service\.(short|long)|promoted\.qba\[\])\.")
    assert set(table(runs)) == {path for path in real if not once.match(path)}


def test_every_path_of_the_json_of_why_is_explained():
    said = set(table((DOCS / "commands" / "why.md").read_text().partition("## JSON")[2]))
    record = headway.simulate(headway.workload("qba-paper(n=400)"), "fcfs", "qba-paper", journal=True)
    assert record.journal is not None
    tolds = [why(record.journal, str(row)).to_dict() for row in range(400)]
    real = {path for told in tolds for path in paths(json.loads(json.dumps({"request": "0", "policies": [told]})))}
    assert said == {path for path in real if not any(other.startswith(f"{path}[]") for other in real)}


def test_every_path_of_the_json_of_reproduce_is_explained():
    said = set(table((DOCS / "commands" / "reproduce.md").read_text().partition("## JSON")[2]))
    real = {re.sub(r"^(settings|verdicts|versions)\..*", r"\1", path) for path in paths(typical().to_dict())}
    assert said == real


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_and_pictures_are_there(page: Path):
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        aim = (page.parent / file).resolve() if file else page
        assert aim.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.*)$", aim.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}, target


def test_every_page_can_be_reached_from_the_index():
    reached, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#\s:]+)", page.read_text())
        todo += [(page.parent / link).resolve() for link in links]
    assert set(DOCS.glob("**/*.md")) <= reached


def test_pictures_are_small():
    for picture in (DOCS / "images").glob("*.*g"):
        assert picture.stat().st_size < 300_000, picture.name
