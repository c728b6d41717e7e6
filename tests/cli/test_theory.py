"""headway theory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headway.studies import theory as study
from headway.theory import Queue, Service, TwoClasses
from tests.cli.conftest import Headway

ONE = ("theory", "--rate", 3, "--service-mean", 0.5, "--servers", 2)
CLASSES = ("--short-share", 0.8, "--short-mean", 0.3, "--long-mean", 1.5)
TWO = ("theory", "--rate", 3, *CLASSES, "--servers", 2)
RUN = ("theory", "qba-paper(n=100)", "--seeds", 1)


def test_one_class_from_numbers(headway: Headway):
    result = headway(*ONE)
    assert result.status == 0
    assert result.words.startswith(
        "How long do requests wait at 3 a second, if the engine is 2 servers? A server is busy 75 % of the time (rho), "
        "64 % of the requests wait (Erlang C), and waits settle below 4 requests a second. The formulas are exact for "
        "Poisson arrivals."
    )
    assert "fcfs 0.64 s" in result.words
    data = headway(*ONE, "--json", "-").json
    assert data["policies"] == [
        {
            "policy": "fcfs",
            "mean": pytest.approx(Queue(3, Service.of_scv(0.5, 1), 2).wait),
            "short": None,
            "long": None,
            "exact": True,
        }
    ]
    assert (data["rho"], data["stable"], data["highest_rate_per_s"], data["offered"]) == (0.75, True, 4.0, 1.5)


def test_two_classes_from_numbers(headway: Headway):
    traffic = TwoClasses(3, 0.8, Service.of_scv(0.3, 1), Service.of_scv(1.5, 0.5), 2)
    data = headway(*TWO, "--long-scv", 0.5, "--promoted", 0.25, "--json", "-").json
    shown = {row["policy"]: (row["mean"], row["short"], row["long"]) for row in data["policies"]}
    for policy, waits in (
        ("fcfs", traffic.fcfs()),
        ("aa, qba (φ = 0.25)", traffic.promoted(0.25)),
        ("psf", traffic.psf()),
    ):
        assert shown[policy] == pytest.approx((waits.mean, waits.short, waits.long))
    assert "The formulas are approximations." in headway(*TWO).words
    exact = headway("theory", "--rate", 0.5, *CLASSES, "--servers", 1).words
    assert "if the engine is one server?" in exact
    assert "The formulas are exact for Poisson arrivals." in exact


def test_overload_says_that_no_mean_wait_exists(headway: Headway):
    over = headway("theory", "--rate", 3.8, *CLASSES, "--servers", 2, "--promoted", 0.1)
    assert over.words.startswith(
        "How long do requests wait at 3.8 a second, if the engine is 2 servers? More comes than"
    )
    assert "only up to 3.7 requests a second does a mean wait exist" in over.words
    assert "Who goes first still has one, under aa, qba (φ = 0.1) and psf." in over.words
    data = headway("theory", "--rate", 9, "--service-mean", 0.5, "--servers", 2, "--json", "-").json
    assert data["policies"][0]["mean"] is None
    assert data["stable"] is False


def test_a_workload_beside_the_simulator(headway: Headway, folder: Path):
    result = headway(*RUN, "--json", "a.json", "--html", "a.html")
    assert result.status == 0
    assert result.words.startswith(
        "Does a queueing model explain mean waits on qba-paper(n=100), qba-paper? In order: "
    )
    assert "Mean waits of the model and of the simulator" in result.words
    data = json.loads((folder / "a.json").read_text())
    assert data["settings"]["seeds"] == [0]
    assert len(data["points"]) == 2 * 13 * 4
    assert "headway theory" in data["settings"]["command"]
    page = (folder / "a.html").read_text()
    assert "fitted to the wait of fcfs" in page


def test_after_ctrl_c_whole_seeds_are_shown(headway: Headway, monkeypatch: pytest.MonkeyPatch):
    real = study.run_cells

    def ended(cells, *, workers, progress, each):
        real(cells[:60], workers=1, each=each)  # 52 runs are a seed
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "run_cells", ended)
    result = headway("theory", "qba-paper(n=60)", "--seeds", 3, "--json", "-")
    assert result.status == 130
    assert result.json["partial"] is True
    assert result.json["settings"]["seeds"] == [0]
    assert any("1 of 3 seeds" in note for note in result.json["notes"])
    monkeypatch.setattr(study, "run_cells", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    nothing = headway("theory", "qba-paper(n=60)")
    assert nothing.status == 130
    assert "nothing was written" in nothing.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("theory",), "what shall be told? Give numbers, as in --rate 32"),
        (("theory", "--rate", 3), "--service-mean is missing; needed are --rate, --service-mean, --servers"),
        ((*ONE[:-2],), "--servers is missing"),
        ((*TWO[:5], "--servers", 2), "--short-mean is missing; two classes need --rate, --short-share"),
        ((*TWO, "--service-mean", 1), "--service-mean is of one class and --short-share of two"),
        ((*ONE, "--promoted", 0.5), "--promoted is of two classes"),
        ((*TWO, "--promoted", 1.5), "the promoted fraction must be in [0, 1], got 1.5"),
        ((*ONE, "--html", "a.html"), "--html a.html: is for a workload that is run"),
        ((*ONE, "--engine", "qba-paper"), "--engine qba-paper: is for a workload that is run"),
        ((*ONE, "--seeds", 3), "--seeds 3: is for a workload that is run"),
        (("theory", "--rate", 0, "--service-mean", 1, "--servers", 2), "the rate must be in (0, inf), got 0"),
        ((*ONE[:-1], -2), "servers must be in"),
        ((*RUN, "--servers", 3), "--servers 3: is a number of the formulas"),
        (("theory", "nothing"), "'nothing' is neither a file nor a workload"),
        (("theory", "qba-paper", "--seeds", 0), "--seeds must be"),
        (("theory", "qba-paper", "--rate", -1), "--rate must be"),
    ],
)
def test_bad_input_is_one_line(headway: Headway, folder: Path, arguments: tuple[object, ...], message: str):
    assert message in headway(*arguments).refusal()
    assert list(folder.iterdir()) == []
