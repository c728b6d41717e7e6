"""The tenants file: what each key becomes, and the one line for what cannot be."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInput
from headway.core.spec import Spec, parse_spec
from headway.workload import read_tenants
from headway.workload.tenants import Tenant, TenantsFile, Terms
from headway.workload.tenants_toml import tenants_from_toml
from headway.workload.traffic import Traffic

HEAD = '[[tenant]]\nname = "a"\n'
SENDS = HEAD + 'arrivals = "poisson(rate=5)"\nprompt = "constant(tokens=10)"\noutput = "constant(tokens=5)"\n'


def test_every_key_has_its_place():
    text = """
        duration = 60
        requests = 1000
        strict = true
        [default]
        weight = 0.5
        class = "other"
        [[tenant]]
        name = "team a"
        weight = 2
        class = "chat"
        priority = -1
        ttft_slo = 6
        itl_slo = 0.05
        completion_slo = 600.5
        arrivals = "gamma(rate=5, cv=3)"
        prompt = "uniform(low=1, high=9)"
        output = "constant(tokens=5)"
        requests = 50
        start = 1.5
        end = 30
        keys = ["sha256:ZERO", "sha256:FULL"]
        max_unfinished = 4
        requests_per_minute = 0.5
        [[tenant]]
        name = "b"
        arrivals = "at-once"
        lengths = "d1"
        requests = 3
        [[tenant]]
        name = "c"
    """
    text = text.replace("ZERO", "0a" * 32).replace("FULL", "FF" * 32)
    promised = {"class": "chat", "priority": -1, "ttft_slo": 6.0, "itl_slo": 0.05, "completion_slo": 600.5}
    sizes = (parse_spec("uniform(low=1, high=9)"), parse_spec("constant(tokens=5)"))
    assert tenants_from_toml(text, "f.toml") == TenantsFile(
        "f.toml",
        (
            Tenant(
                "team a",
                Terms({"weight": 2.0, **promised}),
                Traffic(parse_spec("gamma(rate=5, cv=3)"), sizes, 50, 1.5, 30.0),
                (b"\n" * 32, b"\xff" * 32),
                4,
                0.5,
            ),
            Tenant("b", Terms(), Traffic(Spec("at-once"), Spec("d1"), 3, 0.0, math.inf)),
            Tenant("c"),
        ),
        Terms({"weight": 0.5, "class": "other"}),
        strict=True,
        requests=1000,
        duration=60.0,
    )


def test_what_is_left_out_is_not_there():
    assert tenants_from_toml(HEAD, "f") == TenantsFile("f", (Tenant("a", Terms({}), None),))
    assert tenants_from_toml("[default]\nttft_slo = 3", "f").default == Terms({"ttft_slo": 3.0})


WRONG = {
    "not TOML": ("name = ", "f.toml: not TOML: "),
    "a huge number": ("x = " + "9" * 5000, "f.toml: not TOML: "),
    "empty": ("", "f.toml: there is no tenant in it; expected a [[tenant]] table"),
    "nobody": ("duration = 5", "there is no tenant in it"),
    "unknown key": ("durations = 5\n" + HEAD, "unknown key 'durations'; did you mean 'duration'?"),
    "unknown table": (HEAD + "[defaults]\n", "unknown key 'defaults'; did you mean 'default'?"),
    "tenants": ('[[tenants]]\nname = "a"\n', "unknown key 'tenants'; did you mean 'tenant'?"),
    "one table": ('[tenant]\nname = "a"\n', "tenants are tables of their own; head each with [[tenant]]"),
    "no table": ("tenant = 3\n", "head each with [[tenant]]"),
    "numbers": ("tenant = [3]\n", "head each with [[tenant]]"),
    "default no table": ("default = 3\n" + HEAD, "default is a table; head it with [default]"),
    "duration 0": ("duration = 0\n" + HEAD, "duration must be in (0, inf), got 0"),
    "duration inf": ("duration = inf\n" + HEAD, "duration must be in (0, inf), got inf"),
    "duration text": ('duration = "5"\n' + HEAD, "duration must be a number in (0, inf), got '5'"),
    "requests 0": ("requests = 0\n" + HEAD, "requests must be in [1, 100000000], got 0"),
    "requests half": ("requests = 1.5\n" + HEAD, "requests must be a whole number in [1, 100000000], got 1.5"),
    "strict": ("strict = 1\n" + HEAD, "strict must be true or false, got 1"),
    "no name": ("[[tenant]]\nweight = 1\n", '[[tenant]] number 1 has no name; give one, as in name = "chat"'),
    "second no name": (HEAD + "[[tenant]]\n", "[[tenant]] number 2 has no name"),
    "name a number": ("[[tenant]]\nname = 3\n", 'name must be a text, as in name = "chat", got 3'),
    "name empty": ('[[tenant]]\nname = " "\n', "name must be a text"),
    "twice": (HEAD + HEAD, "tenant 'a' is there twice; name each once"),
    "key of a tenant": (HEAD + "wieght = 2\n", "tenant 'a': unknown key 'wieght'; did you mean 'weight'?"),
    "slo of other name": (HEAD + "slo_ttft = 2\n", "tenant 'a': unknown key 'slo_ttft'; did you mean 'ttft_slo'?"),
    "negative weight": (HEAD + "weight = -1\n", "tenant 'a': weight must be in [1e-06, 1e+06], got -1"),
    "no weight": (HEAD + "weight = 0\n", "weight must be in [1e-06, 1e+06], got 0"),
    "weight inf": (HEAD + "weight = inf\n", "weight must be in [1e-06, 1e+06], got inf"),
    "weight nan": (HEAD + "weight = nan\n", "weight must be a number in [1e-06, 1e+06], got nan"),
    "weight text": (HEAD + 'weight = "big"\n', "weight must be a number in [1e-06, 1e+06], got big"),
    "weight truth": (HEAD + "weight = true\n", "got true"),
    "weight list": (HEAD + "weight = [1]\n", "weight must be a number in [1e-06, 1e+06], got [1]"),
    "class": (HEAD + "class = 3\n", "tenant 'a': class must be a text"),
    "priority": (HEAD + "priority = 0.5\n", "priority must be a whole number in"),
    "negative slo": (HEAD + "ttft_slo = -2\n", "tenant 'a': ttft_slo must be in (0, inf), got -2"),
    "no time": (HEAD + "itl_slo = 0\n", "itl_slo must be in (0, inf), got 0"),
    "slo nan": (HEAD + "completion_slo = nan\n", "completion_slo must be a number in (0, inf), got nan"),
    "slo inf": (HEAD + "completion_slo = inf\n", "completion_slo must be in (0, inf), got inf"),
    "default slo": ("[default]\nttft_slo = -2\n", "f.toml: [default]: ttft_slo must be in (0, inf), got -2"),
    "default sends": ('[default]\narrivals = "at-once"\n', "[default]: unknown key 'arrivals'"),
    "default name": ('[default]\nname = "a"\n', "[default]: unknown key 'name'"),
    "arrivals alone": (
        HEAD + 'arrivals = "at-once"\n',
        "tenant 'a': arrivals need lengths; give prompt and output, or",
    ),
    "half of lengths": (SENDS.rpartition("output")[0], "tenant 'a': arrivals need lengths"),
    "lengths twice": (SENDS + 'lengths = "d1"\n', "tenant 'a': arrivals need lengths"),
    "lengths alone": (HEAD + 'lengths = "d1"\n', "tenant 'a': lengths needs arrivals; give them, as in arrivals ="),
    "requests alone": (HEAD + "requests = 5\n", "tenant 'a': requests needs arrivals"),
    "unknown arrivals": (SENDS.replace("poisson", "poison"), "unknown arrivals 'poison'; did you mean 'poisson'?"),
    "no rate": (SENDS.replace("(rate=5)", ""), "arrivals 'poisson' needs rate=..."),
    "negative rate": (SENDS.replace("=5)", "=-5)", 1), "arrivals 'poisson': rate must be in (0, inf), got -5"),
    "a number": (HEAD + "arrivals = 5\n", 'arrivals must be a text, as in arrivals = "poisson(rate=5)", got 5'),
    "no spec": (SENDS.replace("poisson(", "poisson[("), "cannot read the spec 'poisson[(rate=5)'"),
    "start": (SENDS + "start = -1\n", "start must be in [0, inf), got -1"),
    "key itself": (
        HEAD + 'keys = ["hw-secret"]\n',
        "tenant 'a': keys: number 1 is no hash (not shown, it",
    ),
    "short hash": (HEAD + f'keys = ["sha256:{64 * "0"}", "sha256:secret"]\n', "tenant 'a': keys: number 2 is no hash"),
    "key no list": (HEAD + 'keys = "hw-secret"\n', 'keys must be a list of hashes, as in keys = ["sha256:..."]'),
    "key no text": (HEAD + "keys = [3]\n", "keys: number 1 is no hash"),
    "keys empty": (HEAD + "keys = []\n", "keys must be a list of hashes"),
    "default keys": (f'[default]\nkeys = ["sha256:{64 * "0"}"]\n', "[default]: unknown key 'keys'"),
    "unfinished 0": (HEAD + "max_unfinished = 0\n", "tenant 'a': max_unfinished must be in [1, 100000000], got 0"),
    "rate 0": (HEAD + "requests_per_minute = 0\n", "requests_per_minute must be in [1e-06, 1e+06], got 0"),
    "end before start": (SENDS + "start = 5\nend = 4\n", "tenant 'a': end must be after start (5), got 4"),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_one_line_names_the_file_the_tenant_and_the_fault(text: str, said: str):
    with pytest.raises(InvalidInput) as caught:
        tenants_from_toml(text, "f.toml")
    assert str(caught.value).startswith("f.toml: ")
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("second", "said"),
    [("b", "tenants 'a' and 'b' have a key in common"), (None, "tenant 'a' has a key twice")],
)
def test_a_key_belongs_to_one_tenant_and_is_not_shown(second: str | None, said: str):
    digest = "12" * 32
    head = f'{HEAD}keys = ["sha256:{digest}"' + (f']\n[[tenant]]\nname = "{second}"\nkeys = [' if second else ", ")
    with pytest.raises(InvalidInput) as caught:
        tenants_from_toml(head + f'"sha256:{digest.upper()}"]', "f.toml")
    assert said in str(caught.value)
    assert digest not in str(caught.value).lower()


def test_a_tenant_does_not_show_its_keys():
    assert "x12" not in repr(tenants_from_toml(f'{HEAD}keys = ["sha256:{"12" * 32}"]', "f"))


@pytest.mark.parametrize(
    ("content", "said"), [(None, "No such file"), (b"\xff\xfe", "not UTF-8 text; expected a tenants file in TOML")]
)
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None, said: str):
    path = tmp_path / "f.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInput, match=said) as caught:
        read_tenants(path)
    assert str(path) in str(caught.value)


NAMES = ["name", "weight", "ttft_slo", "arrivals", "prompt", "output", "lengths", "requests", "end", "x"]
NUMBERS = ["1", "-1", "0.5", "nan", "inf", "true", "[]", "{}"]
TEXTS = ['""', '"a"', '"d1"', '"poisson(rate=5)"', '"constant(tokens=5)"']
KEYS, VALUES = st.sampled_from(NAMES), st.sampled_from(NUMBERS + TEXTS)


@given(
    tables=st.lists(st.tuples(st.sampled_from(["[[tenant]]", "[default]", "[x]", ""]), st.dictionaries(KEYS, VALUES)))
)
def test_any_tables_are_tenants_or_one_line(tables: list[tuple[str, dict[str, str]]]):
    text = "\n".join([head + "\n" + "\n".join(f"{k} = {v}" for k, v in rows.items()) for head, rows in tables])
    try:
        file = tenants_from_toml(text, "f.toml")
    except InvalidInput as error:
        line = str(error)
    else:
        assert all(weight > 0 for weight in file.weights.values())
        return
    assert line.startswith("f.toml: ")
    assert len(line.splitlines()) == 1
