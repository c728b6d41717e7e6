"""A sweep on a real Ray cluster of two nodes, one of which dies on the way."""

from __future__ import annotations

import importlib.util
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from headway.studies.result_store import finished_keys
from headway.studies.sweep import sweep
from headway.workload import workload, write_trace

ROOT = Path(__file__).parents[2]
TIMED = "wall_seconds"
DEADLINE = 240  # seconds
SLOW = '''
import time
from headway import Order

try:
    import ray
except ImportError:
    ray = None


class Slow(Order):
    """On the cluster a run takes two seconds, and says on which node it began."""

    def attach(self, engine):
        if ray is not None and ray.is_initialized():
            with open({log!r}, "a") as log:
                log.write(ray.get_runtime_context().get_node_id() + "\\n")
            time.sleep(2)

    def key(self, seq):
        return -seq.request.prompt_tokens
'''
SWEEP = """
workload = ["trace.csv", "clients"]  # the second is a folder that only this process finds: its path is relative
limit = 250
policy = ["slow_order:Slow", "fcfs"]
engine = "qba-paper"
epsilon_sl = 0.1
seeds = {seeds}
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter that has Headway with its extra: this one, or one in an environment made for the purpose."""
    if importlib.util.find_spec("ray") is not None:
        return sys.executable
    venv = tmp_path_factory.mktemp("ray") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [str(venv / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"{ROOT}[ray]"], check=True)
    return str(venv / "bin" / "python")


@dataclass
class Cluster:
    address: str
    second: str
    process: subprocess.Popen[str]
    environment: dict[str, str]

    def kill_the_second(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "killed\n"


@pytest.fixture
def cluster(python: str) -> Iterator[Cluster]:
    script = str(Path(__file__).with_name("ray_cluster.py"))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}  # nobody else gets in
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", **token}
    with subprocess.Popen([python, script], text=True, env=environment, **pipes) as process:
        assert process.stdout is not None
        address, second = process.stdout.readline().split()
        yield Cluster(address, second, process, environment)
        process.communicate(timeout=DEADLINE)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def start(python: str, cluster: Cluster) -> subprocess.Popen[str]:
    command = [python, "-c", "from headway_command import main; main()", "sweep", "sweep.toml", "--out", "out"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*command, "--ray", cluster.address], text=True, env=cluster.environment, **pipes)


def ran(folder: Path) -> list[str]:
    """Return the node of every run of the slow order that began."""
    log = folder / "ran.log"
    return log.read_text().split() if log.exists() else []


@pytest.mark.slow
def test_two_nodes_one_of_which_dies(python: str, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    write_trace(workload("qba-paper(n=300)"), tmp_path / "trace.csv")
    Path("clients").mkdir()
    Path("clients/chunk-0-trace.csv").write_text("0,5,1,Gamma,1,1\n600,5,1,Gamma,1,1\n")
    histograms = '{"0": {"input_tokens": "{50: 0.5, 90: 0.5}", "output_tokens": "{7: 1.0}"}}'
    Path("clients/chunk-0-dataset.json").write_text(histograms)
    Path("slow_order.py").write_text(SLOW.format(log=str(tmp_path / "ran.log")))
    Path("sweep.toml").write_text(SWEEP.format(seeds=4))

    with start(python, cluster) as process:
        until(lambda: cluster.second in ran(tmp_path) or process.poll() is not None)
        cluster.kill_the_second()
        _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, err
    assert err.splitlines()[-1] == "16 cells, 16 computed now: out/results.parquet"
    assert len(set(ran(tmp_path))) == 2
    assert len(ran(tmp_path)) > 8  # the run that died with its node was begun again
    frame = pl.read_parquet("out/results.parquet").drop("current", TIMED)
    assert frame.equals(sweep("sweep.toml", tmp_path / "here", workers=1).drop(TIMED))

    Path("sweep.toml").write_text(SWEEP.format(seeds=20))
    before = finished_keys(tmp_path / "out")
    with start(python, cluster) as process:
        until(lambda: len(finished_keys(tmp_path / "out")) > len(before) + 2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert err.splitlines()[-1].endswith("of 80 cells are finished and kept; the same command goes on")
    begun = len(ran(tmp_path))
    time.sleep(5)
    assert len(ran(tmp_path)) == begun  # what was asked for and not begun was cancelled
    assert 19 <= len(finished_keys(tmp_path / "out")) < 80
