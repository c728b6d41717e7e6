from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import polars as pl
import pytest

from headway.core.errors import InvalidInput
from headway.workload.traces import read_trace

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
MULTIMODAL = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
OWN = "arrival,prompt_tokens,output_tokens\n"
REQUESTS = ["id", "arrival", "prompt_tokens", "output_tokens"]


def write(tmp_path: Path, text: str | bytes, name: str = "trace.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_azure_2023_has_seven_digits_of_fraction(tmp_path: Path):
    trace = read_trace(
        write(
            tmp_path,
            AZURE
            + "2023-11-16 18:15:46.6805900,374,44\n"
            + "2023-11-16 18:15:46.6805901,396,0\n"
            + "2023-11-16 18:15:50.9951690,879,55\n"
            + "2023-11-17 00:00:00.0000000,91,16\n",
        )
    )
    assert trace.frame.select(REQUESTS).rows() == [
        (0, 0.0, 374, 44),
        (1, 1e-7, 396, 0),
        (2, 4.314579, 879, 55),
        (3, 20653.31941, 91, 16),
    ]
    assert (trace.name, trace.notes) == ("trace.csv", ())


def test_azure_2024_has_an_offset_and_may_lack_the_fraction(tmp_path: Path):
    text = AZURE + "2024-05-10 00:00:00+00:00,5,6\n2024-05-10 00:00:00.009930+00:00,7,8\n2024-05-10 00:00:01Z,1,1\n"
    assert read_trace(write(tmp_path, text)).frame["arrival"].to_list() == [0.0, 0.00993, 1.0]


def test_azure_2025_counts_images_as_prompt_tokens_and_says_when_it_does_not(tmp_path: Path):
    text = MULTIMODAL + "2025-01-01 00:00:00.5,2,100,7\n2025-01-01 00:00:01.5,0,50,7\n"
    path = write(tmp_path, gzip.compress(text.encode()), "multimodal.csv.gz")
    counted = read_trace(path, tokens_per_image=576)
    assert counted.frame["prompt_tokens"].to_list() == [100 + 2 * 576, 50]
    assert counted.notes == ()
    ignored = read_trace(path)
    assert ignored.frame["prompt_tokens"].to_list() == [100, 50]
    assert ignored.notes == ("2 images count as 0 prompt tokens: give tokens_per_image to count them",)


def test_azure_2025_needs_no_text_beside_an_image(tmp_path: Path):
    path = write(tmp_path, MULTIMODAL + "2025-01-01 00:00:00,1,0,7\n")
    assert read_trace(path, tokens_per_image=10).frame["prompt_tokens"].to_list() == [10]
    with pytest.raises(InvalidInput, match="column 'ContextTokens', row 1: found 0"):
        read_trace(path)
    with pytest.raises(InvalidInput, match="tokens_per_image must be"):
        read_trace(path, tokens_per_image=-1)


def test_azure_without_images_gets_no_note(tmp_path: Path):
    assert read_trace(write(tmp_path, MULTIMODAL + "2025-01-01 00:00:00,0,5,7\n")).notes == ()


def test_azure_counts_from_the_earliest_arrival(tmp_path: Path):
    trace = read_trace(write(tmp_path, AZURE + "2023-11-16 18:00:02,1,1\n2023-11-16 18:00:00,2,2\n"))
    assert trace.frame.select("id", "arrival").rows() == [(1, 0.0), (0, 2.0)]
    assert trace.notes == ("the arrivals were not in order: sorted by arrival",)


@pytest.mark.parametrize(
    "stamp",
    [
        "2023-11-16",
        "18:15:46.68",
        "1700158546",
        "2023-13-16 18:15:46",
        "2023-11-16 25:15:46",
        "2023-11-16T18:15:46Z",
        "2023-11-16 18:15:46+02:00",
        "9999-11-16 18:15:46",
        "1601-01-01 00:00:00",
        "",
    ],
)
def test_azure_refuses_another_time(tmp_path: Path, stamp: str):
    path = write(tmp_path, AZURE + f"2023-11-16 18:15:46.68,1,1\n{stamp},1,1\n")
    with pytest.raises(InvalidInput, match=r"column 'TIMESTAMP', row 2: found .*expected a UTC time like"):
        read_trace(path)


def test_vidur(tmp_path: Path):
    text = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.25,374,44\n1.5,396,109\n"
    assert read_trace(write(tmp_path, text)).frame.rows() == [(0, 0.25, 374, 44), (1, 1.5, 396, 109)]


def test_vidur_with_totals(tmp_path: Path):
    text = "arrived_at,num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n0.25,8,2,10,4.0\n"
    assert read_trace(write(tmp_path, text)).frame.rows() == [(0, 0.25, 8, 2)]


def test_vidur_lengths_without_arrivals_are_refused(tmp_path: Path):
    path = write(tmp_path, "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n8,2,10,4.0\n")
    with pytest.raises(InvalidInput, match="nearest is vidur: missing 'arrived_at'"):
        read_trace(path)


HASHES = [0, *range(14, 27)]  # of 14 blocks of 512 tokens, the last one of 102


def mooncake(**fields: object) -> str:
    return json.dumps({"timestamp": 27482, "input_length": 6758, "output_length": 500, "hash_ids": HASHES} | fields)


def test_mooncake_counts_in_milliseconds(tmp_path: Path):
    lines = [mooncake(), mooncake(timestamp=30535, hash_ids=[]), mooncake(timestamp=30536, output_length=0)]
    trace = read_trace(write(tmp_path, "\n".join(lines) + "\n", "trace.jsonl"))
    assert trace.frame.select(REQUESTS).rows() == [
        (0, 27.482, 6758, 500),
        (1, 30.535, 6758, 500),
        (2, 30.536, 6758, 0),
    ]
    assert trace.notes == ()


def test_mooncake_names_blocks_of_512_tokens(tmp_path: Path):
    lines = [mooncake(), mooncake(hash_ids=[]), mooncake(input_length=5, hash_ids=[7])]
    trace = read_trace(write(tmp_path, "\n".join(lines) + "\n", "trace.jsonl"))
    assert trace.frame["blocks"].to_list() == [HASHES, None, [7]]
    assert trace.frame["block_tokens"].to_list() == [512, 512, 512]
    assert trace.frame.schema["blocks"] == pl.List(pl.Int64)


@pytest.mark.parametrize("last", [0, 1])
def test_alibaba_names_blocks_of_16_tokens(tmp_path: Path, last: int):
    """With a hash for the last and shorter block, or without one."""
    hashes = list(range(100 // 16 + last))
    trace = read_trace(write(tmp_path, mooncake(input_length=100, hash_ids=hashes) + "\n"))
    assert trace.frame["blocks"].to_list() == [hashes]
    assert trace.frame["block_tokens"].to_list() == [16]


@pytest.mark.parametrize("hashes", [[0, 14], list(range(400))])
def test_hashes_of_other_blocks_are_left_out_with_a_note(tmp_path: Path, hashes: list[int]):
    trace = read_trace(write(tmp_path, mooncake() + "\n" + mooncake(hash_ids=hashes) + "\n"))
    assert trace.frame.columns == REQUESTS
    assert trace.notes == ("hash_ids are left out: they are too many or too few for blocks of 512 or 16 tokens",)


def test_no_hashes_at_all_are_no_column(tmp_path: Path):
    trace = read_trace(write(tmp_path, mooncake(hash_ids=[]) + "\n"))
    assert (trace.frame.columns, trace.notes) == (REQUESTS, ())


def test_mooncake_fields_without_hashes_say_how_time_was_read(tmp_path: Path):
    text = '{"timestamp": 1500, "input_length": 5, "output_length": 6}\n'
    trace = read_trace(write(tmp_path, text))
    assert trace.frame.rows() == [(0, 1.5, 5, 6)]
    assert trace.notes == ("timestamps are read as milliseconds: all are whole numbers",)


@pytest.mark.parametrize("fields", [{}, {"hash_ids": [3]}])
def test_one_fraction_makes_all_timestamps_seconds(tmp_path: Path, fields: dict[str, object]):
    rows = [{"timestamp": stamp, "input_length": 5, "output_length": 6, **fields} for stamp in (0, 1.5, 20)]
    trace = read_trace(write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows)))
    assert trace.frame["arrival"].to_list() == [0.0, 1.5, 20.0]
    assert trace.notes == ("timestamps are read as seconds: some have a fraction",)


def test_alibaba_has_more_fields(tmp_path: Path):
    extra = {"chat_id": 159, "parent_chat_id": -1, "type": "text", "turn": 1}
    trace = read_trace(write(tmp_path, mooncake(timestamp=61.114, **extra) + "\n"))
    assert trace.frame.select(REQUESTS).rows() == [(0, 61.114, 6758, 500)]


def test_own_csv_and_parquet(tmp_path: Path):
    columns = {
        "tenant": ["a", "b"],
        "priority": [0, 2],
        "arrival": [0.5, 1.0],
        "prompt_tokens": [10, 20],
        "output_tokens": [5, 0],
        "class": ["chat", "code"],
        "predicted": ["short", "long"],
    }
    table = pl.DataFrame(columns)
    csv, parquet = tmp_path / "own.csv", tmp_path / "own.parquet"
    table.write_csv(csv)
    table.write_parquet(parquet)
    expected = [(0, 0.5, 10, 5, "a", "chat", "short", 0), (1, 1.0, 20, 0, "b", "code", "long", 2)]
    assert read_trace(csv).frame.rows() == read_trace(str(parquet)).frame.rows() == expected
    assert read_trace(parquet).name == "own.parquet"


def test_own_blocks_are_lists_in_parquet_and_texts_in_csv(tmp_path: Path):
    base = {"arrival": [0.5, 1.0, 1.5], "prompt_tokens": [40, 20, 9], "output_tokens": [5, 0, 1]}
    csv, parquet = tmp_path / "own.csv", tmp_path / "own.parquet"
    lists = pl.Series([[1, -2, 2**62], [1], None], dtype=pl.List(pl.Int64))
    pl.DataFrame(base | {"blocks": lists}).write_parquet(parquet)
    pl.DataFrame(base | {"blocks": [f" 1 -2  {2**62} ", "1", ""]}).write_csv(csv)
    for path in (csv, parquet):
        frame = read_trace(path).frame
        assert frame.columns == [*REQUESTS, "blocks"]
        assert frame["blocks"].to_list() == lists.to_list()


def test_the_content_decides_and_not_the_suffix(tmp_path: Path):
    pl.DataFrame({"arrival": [0.5], "prompt_tokens": [1], "output_tokens": [2]}).write_parquet(tmp_path / "a.csv")
    assert read_trace(tmp_path / "a.csv").frame.rows() == [(0, 0.5, 1, 2)]
    assert read_trace(write(tmp_path, gzip.compress(mooncake().encode()), "a.csv")).frame["arrival"].to_list() == [
        27.482
    ]


PLAIN = OWN + "0.5,10,5\n1.5,20,6\n"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.rstrip(),
        "\ufeff" + PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN + "\n\n\r\n",
        PLAIN.replace("\n", "\n\n"),
        PLAIN + ",,\n",
        PLAIN.replace(",", ", "),
        PLAIN.replace("10", '"10"').replace("arrival", '"arrival"'),
        PLAIN.replace("10", "10.0"),
    ],
    ids=[
        "plain",
        "no-end",
        "bom",
        "crlf",
        "blank-end",
        "blank-lines",
        "blank-row",
        "spaces",
        "quotes",
        "floats",
    ],
)
def test_harmless_spellings_of_the_same_table(tmp_path: Path, text: str):
    assert read_trace(write(tmp_path, text)).frame.rows() == [(0, 0.5, 10, 5), (1, 1.5, 20, 6)]


def test_mooncake_with_mark_and_blank_lines(tmp_path: Path):
    text = "\ufeff" + mooncake() + "\r\n\r\n" + mooncake() + "\n\n"
    assert len(read_trace(write(tmp_path, text))) == 2


@pytest.mark.slow
def test_twenty_thousand_rows_take_under_a_tenth_of_a_second(tmp_path: Path):
    rows = "".join(
        f"2023-11-16 18:{i // 600 % 60:02d}:{i // 10 % 60:02d}.{i % 10}805900,374,44\n" for i in range(20_000)
    )
    path = write(tmp_path, AZURE + rows)
    read_trace(path)
    began = time.perf_counter()
    assert len(read_trace(path)) == 20_000
    assert time.perf_counter() - began < 0.1
