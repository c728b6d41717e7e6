"""A sweep that is killed goes on where it was: the real command, ended at random moments."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from headway.studies.grid import read_plan
from headway.studies.result_store import PARTS, finished_keys
from headway.studies.sweep import sweep
from tests.cli.test_process import HEADWAY, run, start

TIMED = "wall_seconds"
SWEEP = """
workload = "qba-paper(n=400)"
policy = ["fcfs", "psf", "qba(k=3)", "qba(k=6)"]
rate = [28, 32]
seeds = 10
"""
CELLS = 80  # more than are finished, on a fast machine, until three sweeps are dead
DEADLINE = 120  # seconds, for what takes a few


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)


def alive(group: int) -> bool:
    """Whether a process of the group runs."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def told(err: str) -> list[str]:
    """Return the lines on stderr without those that a slow machine adds: how far it has come."""
    return [line for line in err.splitlines() if not re.match(r"\d+%: ", line)]


def seconds(out: Path, keys: set[str]) -> dict[str, float]:
    """Return how long each finished cell took: another run of it would take another time."""
    found: dict[str, float] = {}
    for part in (out / PARTS).glob("*.parquet"):
        for key, names, values in pl.read_parquet(part).select("key", "names", "values").iter_rows():
            found[key] = dict(zip(names, values, strict=True))[TIMED]
    if (out / "results.parquet").exists():
        found |= dict(pl.read_parquet(out / "results.parquet").select("key", TIMED).iter_rows())
    assert set(found) == keys
    return found


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """What a sweep comes to that nobody disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "sweep.toml").write_text(SWEEP)
    sweep(folder / "sweep.toml", folder / "out", workers=1)
    return pl.read_parquet(folder / "out" / "results.parquet")


@pytest.fixture
def undisturbed(folder: Path, expected: pl.DataFrame) -> pl.DataFrame:
    """The same, and a folder with the file in it."""
    (folder / "sweep.toml").write_text(SWEEP)
    return expected


def test_killed_again_and_again_it_loses_and_repeats_nothing(folder: Path, undisturbed: pl.DataFrame):
    chance = random.Random(int(os.environ.get("HEADWAY_KILLS", "6")))
    out = folder / "out"
    kept: dict[str, float] = {}
    kills = 0
    while len(kept) < CELLS - 3:
        wanted = len(kept) + chance.randint(0, 10)
        process = start("sweep", "sweep.toml", "--out", "out", "--workers", "2", start_new_session=True)
        with process:
            until(lambda: len(finished_keys(out)) >= wanted or process.poll() is not None)  # noqa: B023
            time.sleep(chance.uniform(0, 0.05))
            process.kill()
            process.wait(DEADLINE)
        until(lambda: not alive(process.pid))  # noqa: B023 - its own processes end with it
        now = seconds(out, finished_keys(out))
        assert kept.items() <= now.items()  # nothing is lost, nothing was run again
        kept = now
        kills += 1
    assert kills >= 3
    status, _, err = run("sweep", "sweep.toml", "--out", "out", "--workers", "2")
    assert status == 0, err
    assert f"{CELLS} cells, {CELLS - len(kept)} computed now" in err
    final = pl.read_parquet("out/results.parquet")
    assert kept.items() <= dict(final.select("key", TIMED).iter_rows()).items()
    assert final.drop(TIMED).equals(undisturbed.drop(TIMED))
    assert final["key"].to_list() == [planned.key for planned in read_plan("sweep.toml").cells]


def test_two_at_once_do_not_mix(folder: Path, undisturbed: pl.DataFrame):
    with start("sweep", "sweep.toml", "--out", "out", "--workers", "1") as first:
        until(lambda: len(finished_keys(folder / "out")) > 0)
        first.send_signal(signal.SIGSTOP)  # so that it cannot come to its end meanwhile
        status, out, err = run("sweep", "sweep.toml", "--out", "out")
        first.send_signal(signal.SIGCONT)
        assert (status, out) == (2, "")
        assert told(err) == ["headway: out: another sweep writes there; wait for it, or choose another folder"]
        first.communicate(timeout=DEADLINE)
    assert first.returncode == 0
    assert pl.read_parquet("out/results.parquet").drop(TIMED).equals(undisturbed.drop(TIMED))


def test_ctrl_c_on_several_processes(folder: Path, undisturbed: pl.DataFrame):
    """As a terminal sends it: to all of them at once."""
    with start("sweep", "sweep.toml", "--out", "out", "--workers", "2", start_new_session=True) as process:
        until(lambda: len(finished_keys(folder / "out")) >= 4)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    lines = told(err)
    assert "Traceback" not in err
    assert lines[-1].endswith("cells are finished and kept; the same command goes on")
    until(lambda: not alive(process.pid))
    kept = pl.read_parquet("out/results.parquet")
    assert 4 <= kept.height < CELLS
    assert lines[0] == f"{kept.height} cells, {kept.height} computed now: out/results.parquet"
    status, _, err = run("sweep", "sweep.toml", "--out", "out", "--workers", "2")
    assert (status, told(err)) == (0, [f"{CELLS} cells, {CELLS - kept.height} computed now: out/results.parquet"])


@pytest.mark.parametrize("signalled", [signal.SIGINT, signal.SIGKILL])
def test_an_end_before_the_first_cell_is_nothing_to_speak_of(folder: Path, signalled: signal.Signals):
    """While processes start: nobody else says anything."""
    (folder / "sweep.toml").write_text(SWEEP.replace("n=400", "n=4000"))
    with start("sweep", "sweep.toml", "--out", "out", "--workers", "2", start_new_session=True) as process:
        until((folder / "out" / PARTS).exists)
        os.killpg(process.pid, signalled)
        _, err = process.communicate(timeout=DEADLINE)
    until(lambda: not alive(process.pid))
    assert "Traceback" not in err
    assert process.returncode == (130 if signalled == signal.SIGINT else -signal.SIGKILL)


def test_a_process_that_the_system_ends_is_one_line(folder: Path):
    order = "import os\nfrom headway import Order\nclass Deadly(Order):\n    def key(self, seq):\n        os._exit(9)\n"
    (folder / "deadly.py").write_text(order)
    (folder / "sweep.toml").write_text('workload = "qba-paper(n=50)"\npolicy = ["fcfs", "deadly:Deadly"]\nseeds = 6\n')
    status, out, err = run("sweep", "sweep.toml", "--out", "out", "--workers", "2")
    assert (status, out) == (1, "")
    (line,) = told(err)
    assert "ended from outside, as a rule by a system that ran out of memory" in line
    kept = len(finished_keys(folder / "out"))
    (folder / "sweep.toml").write_text('workload = "qba-paper(n=50)"\npolicy = "fcfs"\nseeds = 6\n')
    status, _, err = run("sweep", "sweep.toml", "--out", "out", "--workers", "2")
    assert (status, told(err)) == (0, [f"6 cells, {6 - kept} computed now: out/results.parquet"])


def test_a_disk_that_is_full_is_one_line(folder: Path):
    """What a file may hold is limited to less than a part needs."""
    (folder / "sweep.toml").write_text('workload = "qba-paper(n=50)"\npolicy = "fcfs"\n')
    command = 'ulimit -f 1; exec "$0" "$@"'
    entry = [*HEADWAY, "sweep", "sweep.toml", "--out", "out", "--workers", "1"]
    done = subprocess.run(["/bin/sh", "-c", command, *entry], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = told(done.stderr)
    assert line.startswith("headway: cannot write out/parts/")
    assert "File too large" in line
    assert run("sweep", "sweep.toml", "--out", "out", "--workers", "1")[0] == 0
    assert sorted(path.name for path in (folder / "out").iterdir()) == [".lock", "parts", "results.parquet"]
