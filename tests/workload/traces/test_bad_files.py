"""Every file that cannot be a trace gets one line that names the file and what is wrong with it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.exceptions import PanicException

from headway.core.errors import InvalidTrace
from headway.workload.traces import read_trace, table

OWN = b"arrival,prompt_tokens,output_tokens\n"
WITH_TENANT = b"arrival,prompt_tokens,output_tokens,tenant\n"
MOON = {"timestamp": 1000, "input_length": 5, "output_length": 6, "hash_ids": [0]}
TRIED = "Tried: headway (arrival, prompt_tokens, output_tokens); azure (TIMESTAMP, "


def moon(**fields: object) -> bytes:
    return f"{json.dumps(MOON)}\n{json.dumps(MOON | fields)}\n".encode()


def refusal(path: Path) -> str:
    with pytest.raises(InvalidTrace) as caught:
        read_trace(path)
    text = str(caught.value)
    assert len(text.splitlines()) == 1
    assert str(path) in text
    return text


ROWS = {
    "too few fields": (OWN + b"1,2,3\n1,2\n", "row 2 has 2 fields, expected 3 as in the header"),
    "too many fields": (OWN + b"1,2,3\n1,2,3,4\n", "row 2 has 4 fields, expected 3 as in the header"),
    "a comma too many": (OWN + b"1,2,3\n1,2,3,\n", "row 2 has 4 fields, expected 3 as in the header"),
    "blank lines are not counted": (OWN + b"\n1,2,3\n\n1,2\n", "row 2 has 2 fields"),
    "a decimal comma": (OWN + b"0,5,10,5\n", "row 1 has 4 fields"),
    "short of an optional field": (WITH_TENANT + b"1,2,3,a\n1,2,3\n", "row 2 has 3 fields, expected 4"),
    "short after a quoted comma": (WITH_TENANT + b'1,2,3,"a,b"\n1,2,"3,4"\n', "row 2 has 3 fields"),
    "an open quote": (OWN + b'1,"2,3\n1,2,3\n', "row 1 has 2 fields"),
    "text after a quote": (OWN + b'1,"2"x,3\n', "cannot be read as CSV"),
    "a negative number": (OWN + b"1,2,3\n1,2,-3\n", "column 'output_tokens', row 2: found '-3'"),
    "a fraction": (OWN + b"1,2.5,3\n", "column 'prompt_tokens', row 1: found '2.5'"),
    "an exponent": (OWN + b"1,2,1e3\n", "column 'output_tokens', row 1: found '1e3'"),
    "not a number": (OWN + b"1,2,NaN\n", "column 'output_tokens', row 1: found 'NaN'"),
    "an infinite arrival": (OWN + b"inf,2,3\n", "column 'arrival', row 1: found 'inf'"),
    "a date": (OWN + b"2023-01-01,2,3\n", "column 'arrival', row 1: found '2023-01-01'"),
    "milliseconds since 1970": (OWN + b"1700158546680,2,3\n", "column 'arrival', row 1"),
    "an empty cell": (OWN + b"1,,3\n", "column 'prompt_tokens', row 1: found nothing"),
    "an empty last cell": (OWN + b"1,2,\n", "column 'output_tokens', row 1: found nothing"),
    "no prompt": (OWN + b"1,0,3\n", "column 'prompt_tokens', row 1: found '0'"),
    "hashes of letters": (
        b"arrival,prompt_tokens,output_tokens,blocks\n1,2,3,1 2\n1,2,3,1 b\n",
        "column 'blocks', row 2: found '1 b', expected whole numbers of 64 bits, as a list or with spaces between",
    ),
    "a hash of 65 bits": (
        b"arrival,prompt_tokens,output_tokens,blocks\n1,2,3,9223372036854775808\n",
        "column 'blocks', row 1: found '9223372036854775808'",
    ),
    "blocks without tokens": (
        b"arrival,prompt_tokens,output_tokens,block_tokens\n1,2,3,0\n",
        "column 'block_tokens', row 1: found '0', expected a whole number of tokens from 1",
    ),
    "an id twice": (b"id," + OWN + b"a,1,2,3\na,2,2,3\n", "column 'id', row 2: found 'a'"),
    "the original names": (
        b"arrived_at,num_prefill_tokens,num_decode_tokens\n0,5,-6\n",
        "column 'num_decode_tokens', row 1: found '-6'",
    ),
}

COLUMNS = {
    "a missing column": (
        b"arrival,prompt_tokens\n1,2\n",
        "nearest is headway: missing 'output_tokens'. " + TRIED,
    ),
    "an unknown column": (
        OWN.strip() + b",color\n1,2,3,red\n",
        "nearest is headway: unknown 'color'. " + TRIED,
    ),
    "another name": (
        b"Timestamp,ContextTokens,GeneratedTokens\n1,2,3\n",
        "nearest is azure: missing 'TIMESTAMP' and unknown 'Timestamp'. " + TRIED,
    ),
    "no header": (b"1,2,3\n4,5,6\n", "unknown '1', '2', '3'. "),
    "semicolons": (
        OWN.replace(b",", b";") + b"1;2;3\n",
        "missing 'arrival', 'prompt_tokens', 'output_tokens' and",
    ),
    "old line ends": (OWN.replace(b"\n", b"\r") + b"1,2,3\r", "output_tokens\\r1"),
    "prose": (b"Dear all:\nplease find the trace attached.\n", "no trace format fits"),
    "fifty columns": (
        b",".join(b"c%d" % i for i in range(50)) + b"\n" + b"1," * 49 + b"1\n",
        "'c4' and 45 more",
    ),
    "a name of a thousand letters": (b"x" * 1000 + b",y\n1,2\n", "xxx...xxx"),
    "a name over two lines": (b'"a\nb",y\n1,2\n', "no trace format fits"),
    "a column twice": (b"arrival," + OWN + b"1,1,2,3\n", "unknown 'arrival_duplicated_0'"),
    "a column twice but for a space": (
        b"arrival, " + OWN + b"1,1,2,3\n",
        "a column is there twice: arrival, arrival",
    ),
}

CONTENTS = {
    "nothing": (b"", "the file is empty"),
    "blank lines": (b"\r\n\n  \n", "the file is empty"),
    "a byte order mark": (b"\xef\xbb\xbf", "the file is empty"),
    "a header": (OWN, "there are no requests in it"),
    "a header of Azure": (b"TIMESTAMP,ContextTokens,GeneratedTokens\n\n", "there are no requests in it"),
    "zero bytes": (OWN + b"1,2,\0\n", "neither UTF-8 text nor Parquet nor gzip"),
    "an image": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "neither UTF-8 text nor Parquet nor gzip"),
    "UTF-16": ("arrival,prompt_tokens\n".encode("utf-16"), "neither UTF-8 text nor Parquet nor gzip"),
    "Latin-1": (WITH_TENANT + b"1,2,3,caf\xe9\n", "neither UTF-8 text nor Parquet nor gzip"),
    "Latin-1 far behind": (
        WITH_TENANT + b"1,2,3,a\n" * 20_000 + b"1,2,3,caf\xe9\n",
        "cannot be read as CSV: invalid utf-8",
    ),
    "a JSON array": (b"[{}]", "a JSON array; expected CSV, Parquet or JSON lines"),
    "half a gzip file": (gzip.compress(OWN * 100)[:-9], "broken gzip file"),
    "a broken gzip file": (
        gzip.compress(OWN * 9)[:15] + b"zzzzzzzz" + gzip.compress(OWN * 9)[23:],
        "broken gzip file",
    ),
    "the start of a Parquet file": (b"PAR1" + b"x" * 40, "broken Parquet file"),
}

JSON = {
    "a negative time": (moon(timestamp=-5), "column 'timestamp', row 2: found -5"),
    "a time as text": (moon(timestamp="soon"), "column 'timestamp', row 2: found 'soon'"),
    "no time": (moon(timestamp=None), "column 'timestamp', row 2: found nothing"),
    "infinity": (
        moon(timestamp=float("inf")),
        "column 'timestamp', row 2: found Infinity, expected a number",
    ),
    "not a number": (
        moon(input_length=float("nan")),
        "column 'input_length', row 2: found NaN, expected a number",
    ),
    "no prompt": (moon(input_length=0), "column 'input_length', row 2: found 0"),
    "a fraction": (moon(input_length=1.5), "column 'input_length', row 2: found 1.5"),
    "a truth": (moon(input_length=True), "column 'input_length', row 2: found true, expected a number"),
    "a list": (moon(input_length=[1]), "column 'input_length', row 2: found [1], expected a number"),
    "a huge number": (moon(output_length=10**25), "column 'output_length', row 2: found 1000000000"),
    "an unknown key": (moon(model="x"), "nearest is mooncake: unknown 'model'"),
    "a key only once": (json.dumps(MOON).encode() + b'\n{"timestamp": 5}\n', "row 2: found nothing"),
    "a key never": (b'{"timestamp": 5, "input_length": 3}\n', "nearest is mooncake: missing 'output_length'"),
    "hashes that are no list": (moon(hash_ids=5), "cannot be read as JSON lines"),
    "hashes that are fractions": (moon(hash_ids=[0.5]), "column 'hash_ids' holds List(Float64), expected lists of"),
    "a hash that is missing": (moon(hash_ids=[None]), "column 'hash_ids', row 2: found [None], expected whole numbers"),
    "a line of text": (json.dumps(MOON).encode() + b"\nhello\n", "row 2 is not a JSON object: 'hello'"),
    "half a line": (json.dumps(MOON).encode()[:-5], "row 1 is not a JSON object"),
    "one object on many lines": (json.dumps(MOON, indent=1).encode(), "row 1 is not a JSON object: '{'"),
    "only braces": (b"{}\n{}\n", "no trace format fits"),
    "depth": (b'{"a":' * 5000, "row 1 is not a JSON object"),
}

FILES = {
    f"{kind}: {name}": case
    for kind, cases in {"row": ROWS, "column": COLUMNS, "content": CONTENTS, "json": JSON}.items()
    for name, case in cases.items()
}


@pytest.mark.parametrize("case", FILES)
def test_one_line_names_the_file_and_the_fault(tmp_path: Path, case: str):
    content, fault = FILES[case]
    path = tmp_path / "trace.csv"
    path.write_bytes(content)
    assert fault in refusal(path)


@pytest.mark.parametrize("bad", [7, 150_000, 299_999])
@pytest.mark.parametrize("row", [b"1,2\n", b"1,2,3,4\n"])
def test_a_ragged_row_is_found_anywhere_in_a_large_file(tmp_path: Path, bad: int, row: bytes):
    path = tmp_path / "trace.csv"
    path.write_bytes(OWN + b"1,2,3\n" * bad + row + b"1,2,3\n" * (300_000 - bad - 1))
    assert f"row {bad + 1} has {row.count(b',') + 1} fields" in refusal(path)


def test_a_missing_file_and_a_directory(tmp_path: Path):
    assert refusal(tmp_path / "nowhere.csv").endswith("nowhere.csv: No such file or directory")
    assert ": Is a directory without ServeGen clients; expected chunk-0-trace.csv and" in refusal(tmp_path)
    inside = tmp_path / "file"
    inside.touch()
    assert "Not a directory" in refusal(inside / "trace.csv")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(table, "read_bytes", denied)
    assert refusal(tmp_path / "trace.csv").endswith("trace.csv: Permission denied")


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"arrival": [None, 1.0]}, "column 'arrival', row 1: found nothing"),
        ({"arrival": [1.0, float("nan")]}, "column 'arrival', row 2: found nan"),
        ({"prompt_tokens": [1.5, 2.0]}, "column 'prompt_tokens', row 1: found 1.5"),
        ({"output_tokens": [1, -2]}, "column 'output_tokens', row 2: found -2"),
        ({"output_tokens": [True, False]}, "column 'output_tokens' holds Boolean, expected numbers"),
        ({"color": ["red", "red"]}, "unknown 'color'"),
    ],
)
def test_parquet_values_are_judged_alike(tmp_path: Path, columns: dict[str, list[object]], fault: str):
    path = tmp_path / "trace.parquet"
    base: dict[str, list[object]] = {"arrival": [0.0, 1.0], "prompt_tokens": [1, 2], "output_tokens": [1, 2]}
    pl.DataFrame(base | columns).write_parquet(path)
    assert fault in refusal(path)


def test_a_broken_parquet_file_that_makes_the_reader_panic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def panic(source: object) -> pl.DataFrame:
        raise PanicException("index out of bounds\nsecond line")

    monkeypatch.setattr(table.pl, "read_parquet", panic)
    path = tmp_path / "trace.parquet"
    path.write_bytes(b"PAR1")
    assert refusal(path).endswith("broken Parquet file: index out of bounds")


def survives(path: Path, content: bytes) -> None:
    """Reading gives a trace or one line, nothing else."""
    path.write_bytes(content)
    try:
        trace = read_trace(path)
    except InvalidTrace as error:
        text = str(error)
    else:
        assert len(trace) > 0
        return
    assert len(text.splitlines()) == 1
    assert str(path) in text


FUZZ = settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@FUZZ
@given(content=st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, content: bytes):
    survives(tmp_path / "trace", content)


CELL = st.sampled_from(["", "1", "2.5", "-3", "nan", "x", '"', '"a,b"', "\n", ",", "\r", "1e9", " 4 ", "é", "short"])


@FUZZ
@given(cells=st.lists(st.lists(CELL, max_size=5), max_size=6), columns=st.sampled_from([OWN, WITH_TENANT]))
def test_any_cells(tmp_path: Path, cells: list[list[str]], columns: bytes):
    survives(tmp_path / "trace", columns + "\n".join(",".join(row) for row in cells).encode())


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2), max_leaves=3)


@FUZZ
@given(rows=st.lists(st.dictionaries(st.sampled_from([*MOON, "foo"]), VALUES), min_size=1, max_size=4))
def test_any_json(tmp_path: Path, rows: list[dict[str, object]]):
    survives(tmp_path / "trace", "\n".join(json.dumps(row) for row in rows).encode())


def test_any_change_of_a_good_file(tmp_path: Path):
    rng = np.random.default_rng(1)
    good = [
        OWN + b"0.5,10,5\n1.5,20,6\n" * 5,
        b"TIMESTAMP,ContextTokens,GeneratedTokens\n" + b"2023-11-16 18:15:46.6805900,374,44\n" * 5,
        moon() * 3,
        gzip.compress(OWN + b"0.5,10,5\n" * 5),
    ]
    for index in range(400):
        content = np.frombuffer(good[index % 4], dtype=np.uint8).copy()
        content[rng.integers(0, len(content), 2)] = rng.integers(0, 256, 2)
        survives(tmp_path / "trace", content.tobytes()[: rng.integers(1, 2 * len(content))])
