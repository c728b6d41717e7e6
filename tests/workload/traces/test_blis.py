"""BLIS TraceV2: the CSV, and the header beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.core.errors import InvalidTrace
from headway.workload.traces import read_trace

FULL = (
    "request_id,client_id,tenant_id,slo_class,vllm_priority,session_id,round_index,prefix_group,prefix_length,streaming,"
    "input_tokens,output_tokens,text_tokens,image_tokens,audio_tokens,video_tokens,reason_ratio,model,deadline_us,"
    "slo_target_us,server_input_tokens,arrival_time_us,send_time_us,first_chunk_time_us,last_chunk_time_us,num_chunks,"
    "status,error_message,finish_reason,x_request_id,adapter"
)
FIRST = (  # before prefixes, priorities and deadlines
    "request_id,client_id,tenant_id,slo_class,session_id,round_index,prefix_group,streaming,input_tokens,output_tokens,"
    "text_tokens,image_tokens,audio_tokens,video_tokens,reason_ratio,arrival_time_us,send_time_us,first_chunk_time_us,"
    "last_chunk_time_us,num_chunks,status,error_message"
)
LEAST = "request_id,tenant_id,slo_class,input_tokens,output_tokens,arrival_time_us"
USUAL: dict[str, object] = {
    "client_id": "c",
    "tenant_id": "t1",
    "slo_class": "standard",
    "input_tokens": 10,
    "output_tokens": 5,
    "reason_ratio": "0.0",
    "streaming": "true",
    "status": "ok",
    "session_id": "",
    "prefix_group": "",
    "model": "",
    "error_message": "",
    "finish_reason": "",
    "x_request_id": "",
    "adapter": "",
}


def text(head: str, *rows: dict[str, object]) -> str:
    """A file of these columns: what a row does not give is usual, or 0; ids count up, and a request comes a second."""
    lines = [head]
    for number, row in enumerate(rows):
        given = {**USUAL, "request_id": number, "arrival_time_us": 1_000_000 * number, **row}
        lines.append(",".join(str(given.get(column, 0)) for column in head.split(",")))
    return "\n".join(lines) + "\n"


def write(tmp_path: Path, content: str, name: str = "trace.csv") -> Path:
    path = tmp_path / name
    path.write_text(content)
    return path


@pytest.mark.parametrize("head", [FULL, FIRST, LEAST])
def test_old_and_new_files(tmp_path: Path, head: str):
    path = write(tmp_path, text(head, {"tenant_id": "a", "slo_class": "critical"}, {"arrival_time_us": 1234567}))
    trace = read_trace(path)
    assert trace.frame.select("id", "arrival", "prompt_tokens", "output_tokens", "tenant", "class").rows() == [
        (0, 0.0, 10, 5, "a", "critical"),
        (1, 1.234567, 10, 5, "t1", "standard"),
    ]
    assert (trace.name, trace.notes) == ("trace.csv", ())
    assert set(trace.frame.columns) <= {
        "id",
        "arrival",
        "prompt_tokens",
        "output_tokens",
        "tenant",
        "class",
        "priority",
    }


def test_promises_and_priorities(tmp_path: Path):
    rows = (
        {"deadline_us": 500_100, "arrival_time_us": 100, "vllm_priority": 4},
        {"slo_target_us": 250_000, "vllm_priority": 0},
        {"deadline_us": 3_000_000, "slo_target_us": 1},
    )
    frame = read_trace(write(tmp_path, text(FULL, *rows))).frame
    assert frame["ttft_slo"].to_list() == [None, 0.25, 1e-6]
    assert frame["completion_slo"].to_list() == [0.5, None, 1.0]
    assert frame["priority"].to_list() == [-4, 0, 0]


def test_a_deadline_is_exact_beside_unix_time(tmp_path: Path):
    now = 1_790_000_000_123_457
    frame = read_trace(write(tmp_path, text(FULL, {"arrival_time_us": now, "deadline_us": now + 300_001}))).frame
    assert frame["completion_slo"].to_list() == [0.300001]


def test_columns_without_a_value_are_left_out(tmp_path: Path):
    frame = read_trace(write(tmp_path, text(FULL, {"tenant_id": "", "slo_class": ""}))).frame
    assert frame.columns == ["id", "arrival", "prompt_tokens", "output_tokens", "priority"]


def test_prompts_with_a_shared_prefix_and_as_the_server_counted(tmp_path: Path):
    rows = (
        {"server_input_tokens": 17},
        {"prefix_group": "g", "prefix_length": 50},
        {"prefix_group": "g", "prefix_length": 50, "server_input_tokens": 75},
        {"prefix_length": 50},
        {"prefix_group": "g", "prefix_length": 50, "input_tokens": 0},
    )
    assert read_trace(write(tmp_path, text(FULL, *rows))).frame["prompt_tokens"].to_list() == [17, 60, 60, 10, 50]


def test_the_prefix_of_a_group_is_one_block(tmp_path: Path):
    rows = (
        {"prefix_group": "g", "prefix_length": 50},
        {"prefix_group": "h", "prefix_length": 50},
        {"prefix_length": 50},
        {"prefix_group": "g", "prefix_length": 50, "status": "error"},
        {"prefix_group": "g", "prefix_length": 70},
        {"prefix_group": "g", "prefix_length": 50},
        {"prefix_group": "g"},
    )
    frame = read_trace(write(tmp_path, text(FULL, *rows))).frame
    first, second, none, longer, third, empty = frame["blocks"].to_list()
    assert first == third
    assert len({*first, *second, *longer}) == 3
    assert none is None
    assert empty is None
    assert frame["block_tokens"].to_list() == [50, 50, None, 70, 50, None]


def test_errors_are_left_out_and_those_that_had_not_ended_are_kept(tmp_path: Path):
    rows = (
        {"status": "error", "input_tokens": 0, "output_tokens": 0},
        {"status": "timeout", "output_tokens": 2},
        {},
        {"status": "incomplete"},
        {"status": ""},
    )
    trace = read_trace(write(tmp_path, text(FULL, *rows)))
    assert trace.frame.select("id", "output_tokens").rows() == [(1, 2), (2, 5), (3, 5), (4, 5)]
    assert trace.notes == (
        "1 request ended in an error: left out",
        "2 requests had not ended: kept, with the output tokens of the file",
    )


WRONG = {
    "a deadline in the past": (
        text(FULL, {}, {"deadline_us": 999_999}),
        "column 'deadline_us', row 2: found '999999', expected a time after arrival_time_us, or 0 for no deadline",
    ),
    "a deadline at once": (text(FULL, {}, {"deadline_us": 1_000_000}), "column 'deadline_us', row 2: found '1000000'"),
    "a negative deadline": (
        text(FULL, {"deadline_us": -5}),
        "column 'deadline_us', row 1: found '-5', expected a number",
    ),
    "a negative target": (text(FULL, {"slo_target_us": -1}), "column 'slo_target_us', row 1: found '-1'"),
    "no target": (text(FULL, {"slo_target_us": "nan"}), "column 'slo_target_us', row 1: found 'nan'"),
    "a negative priority": (text(FULL, {"vllm_priority": -1}), "column 'vllm_priority', row 1: found '-1'"),
    "a time as text": (text(FULL, {"arrival_time_us": "soon"}), "column 'arrival_time_us', row 1: found 'soon'"),
    "no prompt": (text(FULL, {"status": "error"}, {"input_tokens": 0}), "column 'input_tokens', row 2: found '0'"),
    "a negative prompt": (text(FULL, {"input_tokens": -3}), "column 'input_tokens', row 1: found '-3'"),
    "a negative prefix": (text(FULL, {"prefix_length": -3}), "column 'prefix_length', row 1: found '-3'"),
    "half a token": (text(FULL, {"output_tokens": 2.5}), "column 'output_tokens', row 1: found '2.5'"),
    "an id twice": (text(FULL, {"status": "error"}, {}, {"request_id": 1}), "column 'request_id', row 3: found '1'"),
    "only errors": (text(FULL, {"status": "error"}), "all 1 requests ended in an error"),
    "no rows": (text(FULL), "no requests in it"),
    "without times": (text(LEAST.removesuffix(",arrival_time_us"), {}), "nearest is blis: missing 'arrival_time_us'"),
    "another column": (text(LEAST + ",colour", {"colour": "red"}), "nearest is blis: unknown 'colour'"),
    "the header": ("trace_version: 2\ntime_unit: us\nmode: real\n", "the header of a BLIS trace; expected the CSV"),
}


@pytest.mark.parametrize(("content", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_gets_one_line(tmp_path: Path, content: str, said: str):
    path = write(tmp_path, content)
    with pytest.raises(InvalidTrace) as caught:
        read_trace(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("header", "refused"),
    [
        ("trace_version: 3\nsession_context_growth: accumulate\nmode: real\n", True),
        ('session_context_growth: "accumulate"\n', True),
        ("trace_version: 3\ntime_unit: us\nmode: generated\n", False),
        ("note: session_context_growth is not set\n", False),
    ],
)
def test_increments_are_not_taken_for_prompts(tmp_path: Path, header: str, refused: bool):
    path = write(tmp_path, text(FULL, {}))
    write(tmp_path, header, "trace.yaml")
    if refused:
        with pytest.raises(InvalidTrace, match=r"its header trace\.yaml says session_context_growth: accumulate"):
            read_trace(path)
    else:
        assert len(read_trace(path)) == 1
