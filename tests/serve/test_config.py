"""What a server is told: from the file, from the command line, and what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.cost import Steps
from headway.core.errors import InvalidInput
from headway.serve.access import digest
from headway.serve.config import CHECKS, LOOPBACK, SECTIONS, Config, config_of, option_of, processors, shown

EVERYTHING = """
model = "m.gguf"
host = "10.0.0.1"
port = 0
tenants = "t.toml"
auth = true
max_body_bytes = 4096
stop_seconds = 1.5
log_level = "debug"
[policy]
order = "qba(k=3)"
memory = "watermark"
shed = "reject"
evict = "least-computed"
prefill_share = 0.1
pools = 0.5
reserve = "share=0.1,after=5"
[engine]
threads = 3
kv_tokens = 999
slots = 7
token_budget = 64
"""
KEYED = f'[[tenant]]\nname = "a"\nkeys = ["sha256:{digest("hw-a").hex()}"]\n'
KEYLESS = '[[tenant]]\nname = "a"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "serve.toml"
    path.write_text(text)
    return path


def test_every_key_has_its_place(tmp_path: Path):
    path = written(tmp_path, EVERYTHING)
    values: dict[str, Any] = {
        "model": "m.gguf",
        "host": "10.0.0.1",
        "port": 0,
        "tenants": Path("t.toml"),
        "auth": True,
        "max_body_bytes": 4096,
        "stop_seconds": 1.5,
        "log_level": "debug",
        "policy": "qba(k=3)",
        "memory": "watermark",
        "shed": "reject",
        "evict": "least-computed",
        "prefill_share": 0.1,
        "pools": 0.5,
        "reserve": "share=0.1,after=5",
        "threads": 3,
        "kv_tokens": 999,
        "slots": 7,
        "token_budget": 64,
    }
    assert set(values) == set(CHECKS)
    assert config_of(path, {}) == Config(**values, file=path)
    assert [set(keys) for keys in shown(Config()).values()] == [set(keys) for keys in SECTIONS.values()]


def test_defaults_are_a_server_for_this_machine():
    config = config_of(None, {})
    assert config == Config()
    assert config.threads == processors() >= 1
    assert not config.keys_required
    config.check()


def test_the_command_line_goes_before_the_file(tmp_path: Path):
    path = written(tmp_path, 'port = 1\nhost = "localhost"\n[policy]\norder = "psf"\n')
    config = config_of(path, {"port": 2, "policy": "aa", "tenants": "x.toml"})
    assert (config.port, config.host, config.policy, config.tenants) == (2, "localhost", "aa", Path("x.toml"))


def test_reading_again_takes_the_new_file_under_the_same_command_line(tmp_path: Path):
    path = written(tmp_path, "port = 1\nstop_seconds = 5\n")
    config = config_of(path, {"port": 2})
    assert config.again() == config
    written(tmp_path, 'port = 3\n[policy]\norder = "psf"\n')
    again = config.again()
    assert (again.port, again.policy, again.stop_seconds) == (2, "psf", Config.stop_seconds)
    written(tmp_path, "prt = 3\n")
    with pytest.raises(InvalidInput):
        config.again()


WRONG = {
    "not TOML": ("port = ", "not TOML: "),
    "huge": ("port = " + "9" * 5000, "not TOML: "),
    "unknown": ("prt = 1", "unknown key 'prt'; did you mean 'port'?"),
    "unknown section": ("[polcy]\n", "unknown key 'polcy'; did you mean 'policy'?"),
    "unknown in section": ("[engine]\nslot = 1", "[engine]: unknown key 'slot'; did you mean 'slots'?"),
    "no section": ('policy = "fcfs"', "[policy] is a section; head it with [policy], got policy = 'fcfs'"),
    "port": ("port = 65536", "port must be in [0, 65535], got 65536"),
    "port text": ('port = "80"', "port must be a whole number in [0, 65535], got '80'"),
    "host": ('host = " "', "host must be a text that is not empty"),
    "tenants": ("tenants = 3", "tenants must be a text that is not empty, got 3"),
    "auth": ("auth = 1", "auth must be true or false, got 1"),
    "body": ("max_body_bytes = 10", "max_body_bytes must be in [1024, "),
    "stop": ("stop_seconds = -1", "stop_seconds must be in [0, inf), got -1"),
    "stop nan": ("stop_seconds = nan", "stop_seconds must be a number in [0, inf), got nan"),
    "log": ('log_level = "warn"', "log_level: unknown value warn; did you mean 'warning'?"),
    "order": ("[policy]\norder = 3", "[policy]: order must be a text"),
    "share": ("[policy]\nprefill_share = 1", "[policy]: prefill_share must be in [0, 1), got 1"),
    "pools": ("[policy]\npools = 0", "[policy]: pools must be in (0, 1), got 0"),
    "threads": ("[engine]\nthreads = 0", "[engine]: threads must be in [1, 1024], got 0"),
    "kv": ("[engine]\nkv_tokens = 0.5", "[engine]: kv_tokens must be a whole number in"),
    "slots": ("[engine]\nslots = 257", "[engine]: slots must be in [1, 256], got 257"),
    "budget": ("[engine]\ntoken_budget = true", "[engine]: token_budget must be a whole number in"),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_one_line_names_the_file_the_section_and_the_fault(text: str, said: str, tmp_path: Path):
    path = written(tmp_path, text)
    with pytest.raises(InvalidInput) as caught:
        config_of(path, {})
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(InvalidInput, match=r"cannot read .*missing\.toml: No such file"):
        config_of(tmp_path / "missing.toml", {})
    with pytest.raises(InvalidInput, match="cannot read"):
        config_of(tmp_path, {})
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="not UTF-8 text"):
        config_of(path, {})


@pytest.mark.parametrize("key", ["tenants", "model"])
def test_a_missing_file_is_told_with_the_configuration_that_names_it(key: str, tmp_path: Path):
    file = written(tmp_path, f'{key} = "no/such.gguf"\nauth = false\n')
    with pytest.raises(InvalidInput) as told:
        config_of(file, {}).check()
    assert str(told.value) == (
        f"{file}: {key} = 'no/such.gguf': there is no such file; paths count from the current folder"
    )
    absolute = tmp_path / "gone.gguf"
    with pytest.raises(InvalidInput) as told:
        config_of(written(tmp_path, f"{key} = '{absolute}'\nauth = false\n"), {}).check()
    assert str(told.value) == f"{file}: {key} = '{absolute}': there is no such file"
    with pytest.raises(InvalidInput) as told:
        config_of(file, {key: Path("typed.gguf") if key == "tenants" else "typed.gguf"}).check()
    assert "typed.gguf" in str(told.value)
    assert str(file) not in str(told.value)


def test_an_option_is_named_as_it_was_typed():
    for name, value in {
        "port": -1,
        "max_body_bytes": 0,
        "log_level": "loud",
        "policy": "",
        "prefill_share": 2.0,
    }.items():
        with pytest.raises(InvalidInput) as caught:
            config_of(None, {name: value})
        assert str(caught.value).startswith(option_of(name))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"policy": "fcsf"}, "unknown policy 'fcsf'; did you mean 'fcfs'?"),
        ({"memory": "prompt"}, "unknown memory rule 'prompt'"),
        ({"memory": "oracle"}, "memory rule 'oracle' needs true output lengths"),
        ({"shed": "rejct"}, "unknown shedding rule 'rejct'"),
        ({"evict": "youngest"}, "unknown eviction rule 'youngest'"),
        ({"reserve": "share=2,after=5"}, "reserve 'share=2,after=5': share must be in (0, 1]"),
        ({"prefill_share": 0.1, "pools": 0.5}, "exclude each other"),
        ({"prefill_share": 0.001}, "prefill share must be 0 or at least 0.005"),
        ({"pools": 0.9, "token_budget": 1}, "engine 'serve': pools = 0.9"),
        ({"policy": "no_such_module:Order"}, "cannot import it"),
        ({"model": "no-such.gguf"}, "there is no such file"),
        ({"model": "pyproject.toml"}, "no GGUF file"),
    ],
)
def test_a_policy_that_cannot_be_is_found_by_the_check(given: dict[str, object], said: str):
    config = config_of(None, given)
    with pytest.raises(InvalidInput) as caught:
        config.check()
    assert said in str(caught.value)


@pytest.mark.parametrize("host", [*LOOPBACK, "192.0.2.1", "::", "example.org"])
@pytest.mark.parametrize("auth", [None, True, False])
@pytest.mark.parametrize("tenants", [None, KEYLESS, KEYED])
def test_nobody_is_served_without_a_key_but_on_this_machine(
    host: str, auth: bool | None, tenants: str | None, tmp_path: Path
):
    path = tmp_path / "tenants.toml"
    given: dict[str, object] = {"host": host}
    if tenants is not None:
        path.write_text(tenants)
        given["tenants"] = str(path)
    if auth is not None:
        given["auth"] = auth
    config = config_of(None, given)
    local = host in LOOPBACK
    open_to_all = local and (auth is False or (auth is None and tenants is None))
    if open_to_all or (auth is not False and tenants == KEYED):
        config.check()
        assert config.keys_required == (not open_to_all)
    else:
        with pytest.raises(InvalidInput) as caught:
            config.check()
        assert host in str(caught.value)
        assert "key" in str(caught.value)
        assert ("--no-auth" in str(caught.value)) == (local or auth is False)


def test_the_engine_is_as_told():
    config = config_of(None, {"kv_tokens": 100, "slots": 3, "token_budget": 7})
    engine = config.make_engine("m", Steps(1.0))
    assert (engine.name, engine.kv_tokens, engine.max_sequences, engine.token_budget) == ("m", 100, 3, 7)
    assert config.make_policy().build(engine).engine is engine


KEYS = st.sampled_from([*sorted({key for keys in SECTIONS.values() for key in keys}), "x"])
VALUES = st.sampled_from(["1", "0", "-1", "0.5", "nan", "true", "[]", "{}", '""', '"a"', '"fcfs"', '"info"'])


@given(tables=st.dictionaries(st.sampled_from(["", "[policy]", "[engine]", "[x]"]), st.dictionaries(KEYS, VALUES)))
def test_any_file_is_a_configuration_or_one_line(tables: dict[str, dict[str, str]], tmp_path_factory: Any):
    text = "\n".join(
        head + "\n" + "\n".join(f"{key} = {value}" for key, value in tables[head].items()) for head in sorted(tables)
    )
    path = written(tmp_path_factory.getbasetemp(), text)
    try:
        config_of(path, {}).check()
    except InvalidInput as error:
        line = str(error)
    else:
        return
    assert len(line.splitlines()) == 1
