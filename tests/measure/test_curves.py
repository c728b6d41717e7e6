import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.measure.curves import timeline_maxima, wait_cdf
from tests.measure.fake_runs import REJECTED, outcome, record, timeline, waiting_run


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0]), min_size=1, max_size=60), st.integers(2, 50))
def test_every_point_of_a_cdf_is_the_share_that_waited_so_long(waits: list[float], points: int):
    seconds, share = wait_cdf(waiting_run("fcfs", waits), points)
    assert (np.diff(seconds) > 0).all()
    assert share[-1] == 1.0
    for second, part in zip(seconds, share, strict=True):
        assert part == sum(wait <= second for wait in waits) / len(waits)


def test_a_cdf_is_thinned_but_for_its_tail():
    seconds, share = wait_cdf(waiting_run("fcfs", np.arange(10_000) / 16), points=100)
    assert 100 <= seconds.size <= 150
    assert list(seconds[-50:] * 16) == list(range(9950, 10_000))
    assert list(share[-50:]) == [n / 10_000 for n in range(9951, 10_001)]


def test_those_who_never_started_are_not_in_a_cdf():
    seconds, share = wait_cdf(record([outcome(0), outcome(1, **REJECTED)]))
    assert (seconds.tolist(), share.tolist()) == ([1.0], [1.0])
    assert wait_cdf(record([outcome(0, **REJECTED)]))[0].size == 0


SAMPLES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), min_size=1, max_size=30, unique_by=lambda s: s[0])


@given(SAMPLES, st.integers(1, 12), st.integers(0, 5), st.integers(1, 50))
def test_a_bucket_has_the_largest_value_held_in_it(samples: list[tuple[int, int]], buckets: int, start: int, span: int):
    samples.sort()
    run = record([outcome(0)], timeline=timeline(*((float(t), v, 2 * v, 3 * v) for t, v in samples)))
    end = start + span
    edges = np.linspace(start, end, buckets + 1)
    found = timeline_maxima(run, float(start), float(end), buckets)
    expected = []
    for k in range(buckets):
        begin, stop = edges[k], edges[k + 1]
        until = stop if k < buckets - 1 else np.nextafter(end, np.inf)
        held = [v for t, v in samples if t < begin][-1:]
        if begin <= samples[-1][0] and stop > samples[0][0]:
            expected.append((begin, max([*held, 0, *(v for t, v in samples if begin <= t < until)])))
    assert found["waiting"].to_list() == [v for _, v in expected]
    assert found["kv"].to_list() == [3 * v for _, v in expected]
    np.testing.assert_allclose(found["time"].to_numpy(), [begin for begin, _ in expected])


def test_a_timeline_without_extent():
    run = record([outcome(0)], timeline=timeline((3.0, 1, 1, 1)))
    assert timeline_maxima(run, 3.0, 3.0).height == 1
    assert timeline_maxima(record([outcome(0)], timeline=timeline()), 0.0, 1.0).is_empty()
