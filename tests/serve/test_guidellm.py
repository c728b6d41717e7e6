"""A public load generator as a client: GuideLLM, installed for this alone, against the real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.serve.test_real_server import url  # noqa: F401 - a fixture

VERSION = "0.8.1"
TORCH = "2.13.0"  # of the many that it takes, one that comes without a GPU's libraries where such a build is offered


@pytest.mark.slow
def test_guidellm_measures_the_server(url: str, tmp_path: Path):  # noqa: F811
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [str(venv / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"torch=={TORCH}"], check=True)
    subprocess.run([*pip, f"guidellm=={VERSION}"], check=True)
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": f"Tell me about number {n}."}) + "\n" for n in range(20)))
    report = tmp_path / "report.json"
    command = [str(venv / "bin" / "guidellm"), "run", "--disable-console-interactive"]
    options = {
        "--backend": f"kind=openai_http,target={url},max_tokens=16",
        "--profile": "kind=concurrent,streams=4",
        "--constraint": "kind=max_requests,count=12",
        "--data": f"kind=json_file,path={prompts}",
        "--data-loader": "kind=pytorch,samples=20",
        "--output": f"kind=json,path={report}",
    }
    arguments = [part for option in options.items() for part in option]
    subprocess.run([*command, *arguments], check=True, timeout=600, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    requests = json.loads(report.read_text())["benchmarks"][0]["requests"]
    assert not requests["errored"], requests["errored"][:1]
    assert len(requests["successful"]) >= 12
    assert "headway_requests_running 0.0" in httpx.get(f"{url}/metrics").text
