import os
import stat
import threading
from pathlib import Path

import pytest

from headway.files import write_whole


def test_a_file_is_replaced_whole(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"old, and longer than the new one")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_it_has_the_usual_permissions(tmp_path: Path):
    usual, written = tmp_path / "usual", tmp_path / "written"
    usual.touch()
    write_whole(written, b"new")
    assert stat.S_IMODE(written.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


def test_what_fails_half_way_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(self: Path, content: bytes) -> int:
        with self.open("wb") as file:
            file.write(content[:1])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_is_refused(tmp_path: Path):
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, b"new")


def test_a_link_stays_a_link(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=write_whole, args=(pipe, b"new"))
    writer.start()
    assert pipe.read_bytes() == b"new"
    writer.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
