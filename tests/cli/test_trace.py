"""headway trace: what is in a file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.cli.conftest import HEAD, Headway

FORMATS = {
    "azure.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:46.6805900,100,10\n2023-11-16 18:15:47.6805900,200,20\n2023-11-16 18:15:48.6805900,300,30\n",
    "vidur.csv": "arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,10\n1,200,20\n2,300,30\n",
    "mooncake.jsonl": "".join(
        json.dumps(
            {"timestamp": 1000 * i, "input_length": 100 * (i + 1), "output_length": 10 * (i + 1), "hash_ids": []}
        )
        + "\n"
        for i in range(3)
    ),
    "own.csv": HEAD + "0,100,10\n1,200,20\n2,300,30\n",
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("zipped", [False, True])
def test_the_facts_are_the_same_in_every_format(headway: Headway, folder: Path, name: str, zipped: bool):
    content = FORMATS[name].encode()
    (folder / name).write_bytes(gzip.compress(content) if zipped else content)
    facts = headway("trace", name, "--json", "-").json
    assert facts["name"] == name
    assert facts["rows"] == 3
    assert facts["span_seconds"] == pytest.approx(2.0)
    assert facts["rate_per_s"] == pytest.approx(1.0)
    assert facts["interarrival_scv"] == pytest.approx(0.0)
    assert facts["prompt_tokens"] == {"mean": 200.0, "p50": 200.0, "p90": 300.0, "p99": 300.0, "max": 300.0}
    assert facts["output_tokens"]["p50"] == 20.0


def test_the_histogram_counts_every_request(headway: Headway, folder: Path):
    lengths = [1, 2, 3, 50, 51, 999, 1000, 4096]
    (folder / "t.csv").write_text(HEAD + "".join(f"{i},{n},{n % 7}\n" for i, n in enumerate(lengths)))
    result = headway("trace", "t.csv")
    assert result.status == 0
    for kind in ("prompt tokens", "output tokens"):
        part = result.out.split(kind)[1].split("output tokens")[0]
        counts = [int(line.split()[3]) for line in part.splitlines() if " - " in line]
        assert sum(counts) == len(lengths)


@pytest.mark.parametrize("rows", ["0,5,0\n", "3,1,1\n3,1,1\n"])
def test_tiny_traces(headway: Headway, folder: Path, rows: str):
    (folder / "t.csv").write_text(HEAD + rows)
    assert "all arrive at once" in headway("trace", "t.csv").out
    facts = headway("trace", "t.csv", "--json", "-").json
    assert facts["rate_per_s"] is None
    assert facts["interarrival_scv"] is None


def test_notes_are_shown(headway: Headway, folder: Path):
    (folder / "t.csv").write_text(HEAD + "2,5,1\n1,5,1\n")
    assert "sorted by arrival" in headway("trace", "t.csv").out
    assert headway("trace", "t.csv", "--json", "-").json["notes"] == [
        "the arrivals were not in order: sorted by arrival"
    ]
