"""What capacity found, in words and tables."""

from __future__ import annotations

from dataclasses import replace

from headway.measure.capacity import Capacity, Held, Limit, RatePoint, Replicas
from headway.report.capacity import capacity_page
from headway.report.capacity_tables import held_table, limits_table, rates_table
from headway.report.capacity_words import capacity_answer, interval_words, rate_words
from headway.report.columns import NO_VALUE

LIMIT = Limit(
    resource="KV memory",
    because="those that broke it missed ttft; of the time that made them late they spent 90 % waiting",
    move="more of it",
    rate=6.0,
    broken=0.1,
    limits={"ttft": 1.0},
    causes={"memory": 0.9, "prefill": 0.1},
    at_limit={"memory": 0.8, "open": 0.2},
    busy=1.0,
    batch=0.5,
    kv_peak=0.9,
)


def held(policy: str, *kept: float, **more: object) -> Held:
    points = tuple(RatePoint(float(rate), (share - 0.001, share + 0.001)) for rate, share in enumerate(kept, 1))
    return replace(Held(policy, points, 0.95), **more)  # type: ignore[arg-type]


def found(*some: Held) -> Capacity:
    settings = {
        "workload": "t.csv",
        "engine": "e",
        "sla": "ttft=1",
        "attain": 0.95,
        "stretches": 2,
        "traffic": "windows",
    }
    return Capacity(settings | {"requests": 500}, some, ("A note.",))


def test_rates_limit_and_replicas_are_told():
    fleet = Replicas(20.0, 3, {2: (0.9, 0.92), 3: (0.97, 0.99)}, 7.0, 40.0)
    answer = capacity_answer(
        found(held("fcfs", 1.0, 0.99, 0.5, limit=LIMIT, replicas=fleet), held("psf", 1.0, 0.5, replicas=fleet))
    )
    assert answer[0].startswith("One engine keeps ttft=1 for 95 % of the requests up to 2 requests/s under fcfs")
    assert "1 under psf" in answer[0]
    assert answer[1].startswith("What limits fcfs is KV memory: at 6 requests/s, those that broke it missed ttft")
    assert "What would move it: more of it." in answer[1]
    assert "the fewest replicas are 3 under fcfs and 3 under psf: under fcfs 3 keep 98 %, 2 only 91 %." in answer[2]


def test_more_windows_are_advised_where_an_interval_is_wide():
    """Its ends differ by more than a factor of 2, or one is not known, as "at most 7.3" beside a rate of 0.247."""
    narrow = held("fcfs", 1.0, 0.99, 0.97, 0.5)
    assert interval_words(narrow) == "3 to 3.07"
    assert len(capacity_answer(found(narrow))) == 1
    scattered = tuple(
        RatePoint(float(rate), kept) for rate, kept in ((1, (1.0, 1.0)), (2, (0.99, 0.5)), (9, (0.1, 0.2)))
    )
    wide = replace(held("psf", 1.0), points=scattered)
    low, high = wide.interval
    assert low is not None
    assert high is not None
    assert high > 2 * low
    _, told = capacity_answer(found(narrow, wide))
    assert told.startswith(
        f"2 windows say little of a rate: its 95 % interval is {interval_words(wide)} under psf. Take"
    )
    assert "--windows" in told
    open_below = replace(wide, points=(RatePoint(0.2, (0.999, 0.92)), *scattered[1:]))
    assert interval_words(open_below).startswith("at most")
    assert len(capacity_answer(found(open_below))) == 2
    assert len(capacity_answer(found(held("fcfs", 1.0, 1.0)))) == 1  # nothing broke: no end to be found


def test_replicas_that_hold_more_than_their_sum_are_explained():
    def told(rate: float) -> list[str]:
        fleet = Replicas(rate, 3, {2: (0.9, 0.92), 3: (0.97, 0.99)}, 7.0, 40.0)
        one = held("fcfs", 1.0, 0.99, 0.97, 0.5, replicas=fleet)
        return capacity_answer(found(one))[2:]

    (text,) = told(10.0)
    assert text.startswith("That they hold more than as many times what one holds (3 times 3 is 9 under fcfs) is no ")
    assert told(8.0) == []


def test_replicas_that_hold_only_as_long_as_the_stretch_are_too_few():
    fleet = Replicas(25.0, 3, {2: (0.9, 0.92), 3: (0.97, 0.99)}, 7.0, 6.3)
    assert fleet.lasting == 4
    (text,) = capacity_answer(found(held("fcfs", 1.0, 0.99, 0.97, 0.5, replicas=fleet)))[2:]
    assert text == (
        "For longer than the 6.3 s that a stretch lasts at this rate, 3 under fcfs are too few: an engine computes "
        "about 7 requests/s, so that queues grow with fewer than 4."
    )


def test_what_was_not_found_is_not_made_up():
    above, below = held("fcfs", 1.0, 1.0), held("psf", 0.5, 0.4)
    assert rate_words(above) == "> 2"
    assert rate_words(below) == "< 1"
    assert interval_words(below) == "no interval"
    assert capacity_answer(found(below)) == [
        "No rate that was run keeps ttft=1 for 95 % of the requests under any policy."
    ]
    assert "up to at least 2 requests/s" in capacity_answer(found(above))[0]


def test_tables_have_a_row_a_policy():
    fleet = Replicas(20.0, 1, {1: (0.99, 0.99)}, 20.0, 40.0)
    some = found(held("fcfs", 1.0, 0.5, limit=LIMIT, replicas=fleet), held("psf", 1.0, 0.5))
    table = held_table(some)
    assert table.rows == ("fcfs", "psf")
    cells = {column.name: column.cells for column in table.columns}
    assert cells["fewest"] == ("1", NO_VALUE)
    assert cells["one less"] == (NO_VALUE, NO_VALUE)
    assert cells["limited by"] == ("KV memory", NO_VALUE)
    limits = limits_table(some)
    assert limits is not None
    assert limits.rows == ("fcfs",)
    assert {column.name: column.cells for column in limits.columns}["memory"] == ("80 %",)
    rates = rates_table(some)
    assert rates is not None
    assert [column.name for column in rates.columns] == ["1", "2"]
    assert limits_table(found(held("fcfs", 1.0))) is None


def test_the_page_has_all_of_it():
    page = capacity_page(
        found(held("fcfs", 1.0, 0.5, limit=LIMIT, replicas=Replicas(9.0, 1, {1: (1.0, 1.0)}, 9.0, 40.0)))
    )
    for text in ("How much of t.csv does one e hold", "Attainment against the rate", "KV memory", "A note."):
        assert text in page
