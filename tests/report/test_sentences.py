import numpy as np

from headway.measure.comparison import Comparison, ComparisonBuilder
from headway.measure.record import RunRecord
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


WAITS = np.random.default_rng(0).exponential(1.0, size=400)


def seeds_of(offsets: dict[str, list[float]]) -> Comparison:
    """Each policy's requests wait as everybody's do, and so much longer in each seed."""
    return of_waits(
        *(
            {policy: WAITS + seed + more[seed] for policy, more in offsets.items()}
            for seed in range(len(next(iter(offsets.values()))))
        )
    )


def test_over_seeds_a_difference_that_may_be_chance_is_said_not_to_be_significant():
    text = answer(seeds_of({"far": [5.0, 5.1, 5.2], "a": [0.0, 0.0, 0.0], "b": [0.3, -0.2, 0.1]}))
    assert "a has the lowest mean wait, " in text
    assert "The difference to b is not significant." in text
    text = answer(seeds_of({"c": [0.4, -0.3, 0.2], "a": [0.0] * 3, "b": [0.3, -0.2, 0.1], "d": [5.0, 5.1, 5.2]}))
    assert "The differences to b and c are not significant." in text


def test_over_seeds_of_two_the_interval_is_given():
    text = answer(seeds_of({"a": [1.0, 1.0, 1.0], "b": [0.0, 0.0, 0.0]}))
    assert "The difference is significant (95 % interval 1.00 s to 1.00 s)." in text


def test_one_run_is_said_to_be_one_and_claims_nothing():
    text = answer(of_waits({"a": WAITS + 1.0, "b": WAITS}))
    assert "On trace.csv, b has the lowest mean wait in this run, 1.13 s, 47 % below a (2.13 s). " in text
    assert "One run cannot tell whether that is more than chance." in text
    text = answer(of_waits({"c": np.roll(WAITS, 100) + 0.002, "a": WAITS, "b": WAITS[::-1] + 0.001}))
    assert "a has the lowest mean wait in this run" in text
    assert "significant" not in text


def test_what_reads_the_same_is_not_called_different():
    text = answer(of_waits({"a": WAITS + 5.0, "b": WAITS, "c": WAITS + 1e-5}))
    assert "On trace.csv, b and c have the lowest mean wait in this run, 1.13 s, 82 % below a (6.13 s)." in text
    assert "Of these" not in text
    text = answer(of_waits({"a": [0.1204] * 50, "b": [0.1163] * 50}))
    assert "b has the lowest mean wait in this run, 0.116 s, 3.4 % below a (0.120 s)." in text
    assert "It also has the lowest P99" in text


def long_waits(short: float, long: float) -> np.ndarray:
    return np.where(np.arange(50) % 5 == 4, long, short)


def test_of_those_with_the_lowest_mean_the_one_that_is_kindest_to_long_requests_is_named():
    text = answer(of_waits({"a": long_waits(9.0, 9.0), "b": long_waits(1.0, 6.0), "c": long_waits(2.0, 2.0)}))
    assert "b and c have the lowest mean wait in this run, 2.00 s, 78 % below a (9.00 s)." in text
    assert "Of these, c has the lowest P99 wait of long requests, 2.00 s." in text


def test_too_few_requests_to_tell():
    assert "There is too little to say whether that is more than chance." in answer(of_waits({"a": [1.0], "b": [2.0]}))


def test_the_winner_is_compared_with_the_first_policy_or_with_the_next_best():
    text = answer(of_waits({"a": [1.0], "b": [2.0]}))
    assert "a has the lowest mean wait in this run, 1.00 s, 50 % below b (2.00 s)." in text
    text = answer(of_waits({"a": [4.0], "b": [2.0], "c": [1.0]}))
    assert "c has the lowest mean wait in this run, 1.00 s, 75 % below a (4.00 s)." in text


def test_a_winner_without_a_price():
    waits = np.linspace(1.0, 2.0, 50)
    assert "It also has the lowest P99 wait of long requests, 2.00 s." in answer(of_waits({"a": waits, "b": waits + 1}))


def test_where_order_makes_no_difference():
    text = answer(of_waits({"a": [0.01] * 50, "b": [0.01] * 50}))
    assert text == "All policies give the same mean wait here (10 ms): the order of the queue makes no difference."


def test_one_policy_has_an_answer_too():
    text = answer(of_waits({"qba(k=5)": [1.0, 3.0]}))
    assert text == (
        "Under qba, requests wait 2.00 s on average and 3.00 s at P99; the first token comes after 3.50 s at P99."
    )


def test_an_engine_that_does_not_keep_up_leaves_many_waiting_and_not_one_of_five():
    assert "keep up" not in answer(of_waits({"a": [1.0, 1.0, 1.0, 1.0, 9.0]}))
    assert "keep up" not in answer(of_waits({"a": [18.5] * 100}))  # 19 wait at the last arrival
    text = answer(of_waits({"a": [20.5] * 100}))
    assert "The engine does not keep up: 21 % of the requests or more were still waiting at the last arrival, " in text
    assert "keep up" not in answer(of_waits({"a": [20.5] * 1000}))  # 2.1 % of them


def test_an_engine_that_keeps_up_is_not_said_not_to():
    assert "keep up" not in answer(of_waits({"a": [0.5] * 100, "b": [0.6] * 100}))
    assert "keep up" not in answer(of_waits({"a": [0.5] * 100, "b": [60.0] * 100}))  # only one policy lags


def test_what_was_there_at_the_start_is_not_called_an_overload():
    def at_once(policy: str, longest: float) -> RunRecord:
        rows = [outcome(i, arrival=0.0, start=float(i), finish=longest * (i + 1) / 4) for i in range(4)]
        return record(rows, policy=policy, residence=residence())

    text = answer(Comparison.of({}, {"a": [at_once("a", 8.0)]}))
    assert "All requests were there at the start; serving them took 8.00 s." in text
    text = answer(Comparison.of({}, {"a": [at_once("a", 8.0)], "b": [at_once("b", 9.5)]}))
    assert "serving them took from 8.00 s to 9.50 s, depending on the policy." in text
    assert "keep up" not in text


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
