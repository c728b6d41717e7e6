"""headway serve: its check, its start, and headway key."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from headway.serve.access import digest
from headway.serve.config import CHECKS, Config
from headway.workload.tenants_toml import tenants_from_toml
from tests.cli.conftest import Headway

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """Configurations with which a server was started; it ends with status 3."""
    configs: list[Config] = []

    def run(config: Config) -> int:
        configs.append(config)
        return 3

    module = ModuleType("headway.serve.run")
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "headway.serve.run", module)
    return configs


def test_the_check_says_what_holds_and_starts_nothing(headway: Headway, started: list[Config], folder: Path):
    shutil.copytree(EXAMPLES, folder / "examples")
    printed = headway("serve", "--check", "--config", "examples/serve.toml", "--port", 9)
    assert (printed.status, printed.err, started) == (0, "", [])
    for line in ("port 9", "order combined", "shed reject", "(tenants: 3, keys: 0)", "auth nobody brings a key"):
        assert line in printed.words
    found = headway("serve", "--check", "--config", "examples/serve.toml", "--json", "-").json
    assert (found["port"], found["auth"], found["policy"]["order"]) == (8000, False, "combined")
    assert found["engine"] == {"threads": 2, "kv_tokens": 8192, "slots": 16, "token_budget": 128}


def test_keys_are_counted_and_not_shown(headway: Headway, folder: Path):
    hashed = digest("hw-a").hex()
    (folder / "t.toml").write_text(f'[[tenant]]\nname = "a"\nkeys = ["sha256:{hashed}"]\n')
    for more in ((), ("--json", "-")):
        printed = headway("serve", "--check", "--tenants", "t.toml", "--host", "192.0.2.1", *more)
        assert printed.status == 0
        assert hashed not in printed.out + printed.err
    assert headway("serve", "--check", "--tenants", "t.toml").words.count("keys: 1") == 1


def test_a_server_is_started_with_what_was_typed(headway: Headway, started: list[Config], folder: Path):
    (folder / "c.toml").write_text('stop_seconds = 4\n[policy]\nshed = "reject"\n')
    (folder / "m.gguf").write_bytes(b"GGUF")
    options = {
        "--config": "c.toml",
        "--model": "m.gguf",
        "--host": "localhost",
        "--port": 81,
        "--max-body-bytes": 5000,
        "--log-level": "error",
        "--policy": "qba(k=3)",
        "--memory": "watermark",
        "--evict": "least-computed",
        "--pools": 0.5,
        "--reserve": "share=0.1,after=5",
        "--threads": 2,
        "--kv-tokens": 1000,
        "--slots": 4,
        "--token-budget": 32,
    }
    flat = [word for option in options.items() for word in option]
    assert headway("serve", *flat, "--no-auth").status == 3
    (config,) = started
    typed = {name: getattr(config, name) for name in CHECKS}
    assert typed == {
        "model": "m.gguf",
        "host": "localhost",
        "port": 81,
        "tenants": None,
        "auth": False,
        "max_body_bytes": 5000,
        "stop_seconds": 4.0,
        "log_level": "error",
        "policy": "qba(k=3)",
        "memory": "watermark",
        "shed": "reject",
        "evict": "least-computed",
        "prefill_share": 0.0,
        "pools": 0.5,
        "reserve": "share=0.1,after=5",
        "threads": 2,
        "kv_tokens": 1000,
        "slots": 4,
        "token_budget": 32,
    }
    assert config.again() == config


def test_an_own_order_is_found_beside_the_file_that_names_it(headway: Headway, folder: Path):
    shutil.copy(EXAMPLES / "own_order.py", folder)
    name = next(
        line.split()[1].partition("(")[0]
        for line in (folder / "own_order.py").read_text().splitlines()
        if line.startswith("class ")
    )
    (folder / "c.toml").write_text(f'[policy]\norder = "own_order:{name}"\n')
    assert headway("serve", "--check", "--config", "c.toml").status == 0


WRONG = {
    "no file": (("--config", "none.toml"), "cannot read none.toml: No such file"),
    "empty": (("--config", ""), "--config is empty"),
    "port": (("--port", 70000), "--port must be in [0, 65535], got 70000"),
    "port text": (("--port", "x"), "'x' is not a whole number"),
    "policy": (("--policy", "fcsf"), "unknown policy 'fcsf'; did you mean 'fcfs'?"),
    "log": (("--log-level", "loud"), "--log-level: unknown value loud"),
    "open": (("--host", "192.0.2.1"), "host 192.0.2.1: clients must bring API keys, and there is no tenants file"),
    "no auth": (("--host", "192.0.2.1", "--no-auth"), "--no-auth on host 192.0.2.1"),
    "tenants": (("--tenants", "none.toml"), "cannot read none.toml"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("check", [(), ("--check",)])
def test_wrong_values_end_in_one_line(
    headway: Headway, started: list[Config], arguments: tuple[object, ...], said: str, check: tuple[str, ...]
):
    assert said in headway("serve", *arguments, *check).refusal()
    assert not started


def test_json_is_for_the_check(headway: Headway, started: list[Config]):
    assert "give --check too" in headway("serve", "--json", "-").refusal()
    assert not started


def test_without_the_extra_a_line_says_what_to_install(headway: Headway, monkeypatch: pytest.MonkeyPatch):
    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            if name == "headway.serve.run":
                raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")

    monkeypatch.delitem(sys.modules, "headway.serve.run", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    line = headway("serve").refusal()
    assert line == 'serving needs uvicorn, which is not installed; install it with: pip install "headway[serve]"'


def test_a_new_key_each_time_and_its_hash_is_what_the_file_wants(headway: Headway):
    made = [headway("key", 'the "a" team').out for _ in range(3)]
    for text in made:
        key, _, rest = text.partition("\n")
        assert key.startswith("hw-")
        assert len(key) >= 43
        assert key not in rest
        (tenant,) = tenants_from_toml(rest, "f").tenants
        assert (tenant.name, tenant.keys) == ('the "a" team', (digest(key),))
    assert len(set(made)) == 3


def test_a_key_without_a_tenant_and_as_json(headway: Headway):
    key, _, rest = headway("key").out.partition("\n")
    (tenant,) = tenants_from_toml('[[tenant]]\nname = "x"\n' + rest, "f").tenants
    assert tenant.keys == (digest(key),)
    found = headway("key", "chat", "--json", "-").json
    assert found["tenant"] == "chat"
    assert found["hash"] == f"sha256:{digest(found['key']).hex()}"
    assert headway("key", "--json", "-").json["tenant"] is None


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\x7f"])
def test_a_tenant_has_a_printable_name(headway: Headway, name: str):
    assert "expected a printable name" in headway("key", name).refusal()
