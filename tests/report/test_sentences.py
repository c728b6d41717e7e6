import numpy as np

from headway.measure.comparison import Comparison, ComparisonBuilder
from headway.report.sentences import answer, question
from tests.measure.fake_runs import LEFT, REJECTED, outcome, record, residence, waiting_run
from tests.report.comparisons import of_waits, typical


def test_the_question_names_what_was_served_and_where():
    assert question(typical()) == "Which policy should serve trace.csv on a100-llama3-8b?"
    assert question(of_waits({"qba(k=5)": [1.0]})) == "What does qba do to trace.csv on a100-llama3-8b?"
    assert (
        question(of_waits({"a": [1.0], "b": [1.0]}, workload="", engine=""))
        == "Which policy should serve these requests?"
    )


def test_the_answer_names_the_winner_how_sure_it_is_and_its_price():
    text = answer(typical(seeds=3))
    assert text.startswith("On trace.csv, psf has the lowest mean wait, ")
    assert "below fcfs" in text
    assert "The differences to all others are significant." in text
    assert "But its P99 wait of long requests is " in text
    assert "the highest of all; fcfs has the lowest" in text


def test_a_difference_that_may_be_chance_is_said_not_to_be_significant():
    waits = np.random.default_rng(0).exponential(1.0, size=400)
    text = answer(of_waits({"far": waits + 5.0, "a": waits, "b": waits[::-1] + 0.001}))
    assert "a has the lowest mean wait" in text
    assert "The difference to b is not significant." in text


def test_several_differences_that_may_be_chance():
    waits = np.random.default_rng(0).exponential(1.0, size=400)
    text = answer(of_waits({"c": np.roll(waits, 100) + 0.002, "a": waits, "b": waits[::-1] + 0.001, "d": waits + 5}))
    assert "The differences to b and c are not significant." in text


def test_of_two_the_interval_is_given():
    waits = np.random.default_rng(0).exponential(1.0, size=400)
    text = answer(of_waits({"a": waits + 1.0, "b": waits}))
    assert "The difference is significant (95 % interval 1.00 s to 1.00 s)." in text


def test_too_few_requests_to_tell():
    assert "There is too little to say whether that is more than chance." in answer(of_waits({"a": [1.0], "b": [2.0]}))


def test_the_winner_is_compared_with_the_first_policy_or_with_the_next_best():
    assert "a has the lowest mean wait, 1.00 s, 50 % below b (2.00 s)." in answer(of_waits({"a": [1.0], "b": [2.0]}))
    assert "c has the lowest mean wait, 1.00 s, 75 % below a (4.00 s)." in answer(
        of_waits({"a": [4.0], "b": [2.0], "c": [1.0]})
    )


def test_a_winner_without_a_price():
    waits = np.linspace(1.0, 2.0, 50)
    assert "It also has the lowest P99 wait of long requests, 2.00 s." in answer(of_waits({"a": waits, "b": waits + 1}))


def test_where_order_makes_no_difference():
    text = answer(of_waits({"a": [0.01] * 50, "b": [0.01] * 50}))
    assert text == "All policies give the same mean wait here (10 ms): the order of the queue makes no difference."


def test_one_policy_has_an_answer_too():
    text = answer(of_waits({"qba(k=5)": [1.0, 3.0]}))
    assert text == (
        "Under qba, requests wait 2.00 s on average and 3.00 s at P99; the first token comes after 3.50 s at P99. "
        "The engine does not keep up: 50 % of the requests or more were still waiting at the last arrival, "
        "so the waits would grow with a longer trace."
    )


def test_an_engine_that_keeps_up_is_not_said_not_to():
    assert "keep up" not in answer(of_waits({"a": [0.5] * 100, "b": [0.6] * 100}))
    assert "keep up" not in answer(of_waits({"a": [0.5] * 100, "b": [60.0] * 100}))  # only one policy lags


def test_rejected_requests_are_named():
    builder = ComparisonBuilder({})
    builder.add(waiting_run("a", [1.0, 1.0]))
    builder.add(record([outcome(0), outcome(1, **REJECTED)], policy="b", residence=residence()))
    assert "Rejected requests have no wait and do not count in it: b 1 of 2." in answer(builder.build())


def test_nothing_was_started():
    run = record([outcome(0, **REJECTED)], residence=residence())
    assert answer(Comparison.of({}, {"fcfs": [run]})) == "No request was started, so there is nothing to compare."
    assert answer(ComparisonBuilder({}).build()) == "No request was started, so there is nothing to compare."


def test_a_closed_loop_and_clients_that_leave_are_no_overload():
    """Somebody always waits, and waits do not grow with the trace."""
    waits = {"a": [50.0] * 40, "b": [60.0] * 40}
    assert "keep up" in answer(of_waits(waits))
    assert "keep up" in answer(of_waits(waits, clients=None, patience=None))
    assert "keep up" not in answer(of_waits(waits, clients=30))
    assert "keep up" not in answer(of_waits(waits, patience=70.0))


def test_it_is_said_whose_clients_left():
    builder = ComparisonBuilder({})
    builder.add(waiting_run("a", [1.0, 1.0]))
    builder.add(record([outcome(0), outcome(1, **LEFT)], policy="b", residence=residence()))
    text = answer(builder.build())
    assert "Clients left before their answer was complete: b 1 of 2; who was never started has no wait." in text
