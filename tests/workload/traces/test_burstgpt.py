from __future__ import annotations

from pathlib import Path

import pytest

from headway.core.errors import InvalidTrace
from headway.workload.traces import read_trace

OLD = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
NEW = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "BurstGPT_1.csv"
    path.write_text(text)
    return path


def test_old_files(tmp_path: Path):
    text = OLD + "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,230,1317,API log\n"
    trace = read_trace(write(tmp_path, text))
    assert trace.frame.rows() == [(0, 5.0, 472, 18), (1, 45.0, 1087, 230)]
    assert (trace.name, trace.notes) == ("BurstGPT_1.csv", ())


def test_new_files_have_sessions(tmp_path: Path):
    text = NEW + "5.25,12,3.5,GPT-4,472,18,490,Conversation log\n45,,,GPT-4,1087,230,1317,API log\n"
    assert read_trace(write(tmp_path, text)).frame.rows() == [(0, 5.25, 472, 18), (1, 45.0, 1087, 230)]


@pytest.mark.parametrize(("failed", "note"), [(1, "1 request"), (1200, "1,200 requests")])
def test_failed_requests_are_left_out_and_counted(tmp_path: Path, failed: int, note: str):
    text = OLD + "0,ChatGPT,0,0,0,API log\n" * failed + "7,ChatGPT,4,2,6,API log\n"
    trace = read_trace(write(tmp_path, text))
    assert trace.frame.rows() == [(0, 7.0, 4, 2)]
    assert trace.notes == (f"{note} without response tokens left out: failed",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (OLD + "0,ChatGPT,5,0,5,API log\n1,ChatGPT,5,0,5,API log\n", "all 2 requests failed"),
        (OLD, "no requests in it"),
        (OLD + "0,ChatGPT,5,0,5,API log\n1,ChatGPT,0,3,3,API log\n", "column 'Request tokens', row 2: found '0'"),
        (OLD + "0,ChatGPT,5,0,5,API log\n1,ChatGPT,5,-3,2,API log\n", "column 'Response tokens', row 2: found '-3'"),
        (OLD + "soon,ChatGPT,5,3,8,API log\n", "column 'Timestamp', row 1: found 'soon'"),
        (OLD.replace("Model,", "") + "0,5,3,8,API log\n", "nearest is burstgpt: missing 'Model'"),
        (OLD.replace("Model", "Modell") + "0,x,5,3,8,API log\n", "missing 'Model' and unknown 'Modell'"),
    ],
)
def test_a_wrong_file_gets_one_line(tmp_path: Path, text: str, says: str):
    path = write(tmp_path, text)
    with pytest.raises(InvalidTrace) as caught:
        read_trace(path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
