from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from headway.measure.intervals import Interval
from headway.report.modelled import modelled_page
from headway.report.modelled_tables import modelled_plates, modelled_table
from headway.report.modelled_words import modelled_answer, modelled_question
from tests.measure.modelled_by_hand import ORDERED, Means, modelled, times

NEVER: Means = (math.inf, math.inf, math.inf, math.inf)
ABOVE: Means = (4.0, 4.5, 2.5, 2.0)
BELOW = [(-0.1, None)] * 3


def test_a_model_that_holds() -> None:
    found = modelled([ORDERED] * 3, [ORDERED] * 3, [ORDERED] * 3, BELOW)
    assert modelled_question(found) == "Does a queueing model explain mean waits on w, e?"
    same = "simulated waits are 1.00 to 1.00 times the model's"
    assert modelled_answer(found) == (
        "In order: the model has fcfs > aa ≥ qba > psf at all 3 rates at which it is stable, and the simulator at all "
        "of them. The order holds. "
        f"In size, with n = 7 (slots and memory): from 20 to 30/s {same}, so the size holds; above, the same. "
        f"In size, with n = 4.10 (fitted to the wait of fcfs at 30/s): from 20 to 30/s {same}, so the size holds; "
        "above, the same. In the simulator aa stays below fcfs at all these rates, as it must in the model."
    )


def test_a_model_that_does_not() -> None:
    found = modelled(
        [times(ORDERED, 0.01)] * 3,
        [times(ORDERED, 0.5), ORDERED, NEVER],
        [ORDERED, ABOVE, ABOVE],
        [(-0.1, None), (0.2, Interval(-0.1, 0.5)), (0.5, Interval(0.2, 0.8))],
    )
    answer = modelled_answer(found)
    assert (
        "the model has fcfs > aa ≥ qba > psf at all 2 rates at which it is stable, and the simulator at 1 of" in answer
    )
    assert "The order holds in part." in answer
    assert "from 20 to 30/s its waits are 100 to 150 times too small, so the size does not hold" in answer
    assert "are 1.0 to 2.0 times the model's, within a factor of 2.0; unstable (no mean wait) from 40/s." in answer
    assert "in the simulator aa waits longer than fcfs at 40/s, beyond chance" in answer


def test_orders_that_are_wrong_do_not_hold() -> None:
    backwards = (2.0, 2.5, 3.0, 4.0)
    answer = modelled_answer(modelled([ORDERED] * 3, [ORDERED] * 3, [backwards] * 3, [(0.5, Interval(-1, 2))] * 3))
    assert "and the simulator at none of them. The order does not hold." in answer
    assert "aa waits longer than fcfs at 20, 30 and 40/s, though by no more than chance" in answer
    wrong = modelled_answer(modelled([backwards] * 3, [backwards] * 3, [ORDERED] * 3, [(0.5, None)] * 3))
    assert "psf at none of the rates at which it is stable" in wrong
    assert "The order does not hold." in wrong
    assert "though one run cannot tell whether by chance" in wrong


def test_waits_that_are_too_large_and_models_that_are_never_stable() -> None:
    answer = modelled_answer(modelled([times(ORDERED, 10)] * 3, [NEVER] * 3, [ORDERED] * 3, BELOW))
    assert answer.startswith("In order nothing can be said")
    assert "its waits are 10 times too large, so the size does not hold" in answer
    assert "the model has no mean wait up to 30/s, where it was calibrated; unstable (no mean wait) from 20/s" in answer


def test_table_and_figures_show_where_no_mean_exists() -> None:
    found = modelled([ORDERED] * 3, [ORDERED, ORDERED, NEVER], [ORDERED] * 3, BELOW)
    table = modelled_table(found)
    assert table.rows == ("20/s", "30/s", "40/s") * 2
    fcfs = next(column for column in table.columns if (column.group, column.name) == ("fcfs", "model"))
    assert fcfs.cells == ("4.00", "4.00", "4.00", "4.00", "4.00", "∞")
    literal, fitted = modelled_plates(found)
    assert "rho ≥ 1 from 40/s" in fitted.caption
    assert "rho" not in literal.caption
    model = fitted.data.filter(source="model", policy="fcfs")
    assert model["wait"].to_list() == [4.0, 4.0, None]
    assert model["low"].null_count() == 3


def test_the_page_says_what_the_terminal_says() -> None:
    found = modelled([ORDERED] * 3, [ORDERED, ORDERED, NEVER], [ORDERED] * 3, BELOW)
    page = modelled_page(found)
    for text in ("the simulator at all of them", "headway theory w", "4.1 servers: fitted to the wait of fcfs"):
        assert text in page.replace("\N{NO-BREAK SPACE}", " "), text


def test_where_the_model_has_practically_no_waits_words_say_so() -> None:
    tiny, small = times(ORDERED, 1e-140), times(ORDERED, 1e-4)
    rates = (5.661391, 6.793669, 9.058225)
    found = modelled([tiny] * 3, [small, ORDERED, tiny], [ORDERED] * 3, BELOW, rates)
    answer = modelled_answer(replace(found, calibration={**found.calibration, "rate": 6.793669}))
    nobody = "the model says that practically nobody waits, and in the simulator requests do"
    assert f"from 5.66 to 6.79/s {nobody}, so the size does not hold; above, the same." in answer
    assert "its waits are 1.0 to more than 1,000 times too small" in answer
    assert not re.search(r"[\d,]{8}|\d\.\d{3}", answer + modelled_table(found).rows[0])
    assert modelled_table(found).columns[1].cells[0] == "≈ 0"
    literal, _ = modelled_plates(found)
    assert literal.data.filter(source="model")["wait"].null_count() == 12
    assert "not drawn where it says that nobody waits" in literal.caption
    assert found.to_dict()["agreement"][0]["near"] == [None, None]


@pytest.mark.parametrize("model", [0.0, 1e-9, 1e-140])
def test_where_nobody_waits_in_either_the_size_holds(model: float) -> None:
    none: Means = (model, model, model, model)
    idle: Means = (0.0, 0.0, 0.0, 0.0)
    answer = modelled_answer(modelled([none] * 3, [none] * 3, [idle] * 3, BELOW))
    nobody = "nobody waits, in the model and in the simulator"
    assert f"from 20 to 30/s {nobody}, so the size holds; above, the same." in answer


def test_where_only_the_model_has_waits_they_are_too_large() -> None:
    idle: Means = (0.0, 0.0, 0.0, 0.0)
    answer = modelled_answer(modelled([ORDERED] * 3, [ORDERED] * 3, [idle, (1.0, 1.0, 1.0, 1.0), idle], BELOW))
    assert "from 20 to 30/s its waits are 2.0 to more than 1,000 times too large, so the size does not hold" in answer
    assert "above, its waits are more than 1,000 times too large" in answer
