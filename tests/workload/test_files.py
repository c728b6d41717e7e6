"""Reading what has an end, and nothing else."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from headway.core.errors import InvalidTrace
from headway.workload import read_trace
from headway.workload.files import read_bytes

TRACE = b"arrival,prompt_tokens,output_tokens\n0,5,5\n"


def test_a_file(tmp_path: Path):
    (tmp_path / "f").write_bytes(TRACE)
    assert read_bytes(tmp_path / "f") == TRACE
    (tmp_path / "link").symlink_to(tmp_path / "f")
    assert read_bytes(tmp_path / "link") == TRACE


def test_a_pipe_is_read_to_its_end_however_slowly_it_comes(tmp_path: Path):
    out, into = os.pipe()
    writer = threading.Timer(0.1, lambda: (os.write(into, TRACE * 1000), os.close(into)))
    writer.start()
    assert read_bytes(Path(f"/dev/fd/{out}")) == TRACE * 1000
    writer.join()
    os.close(out)


def test_a_pipe_into_which_nobody_writes_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidTrace, match=r"cannot read .*pipe: nobody writes to this pipe"):
        read_trace(tmp_path / "pipe")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused(device: str):
    with pytest.raises(InvalidTrace, match=r"cannot read /dev/\w+: neither a file nor a pipe"):
        read_trace(device)


def test_a_folder_and_nothing_at_all(tmp_path: Path):
    with pytest.raises(IsADirectoryError):
        read_bytes(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "none")
