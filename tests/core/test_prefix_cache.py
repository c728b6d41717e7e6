"""The cache of prompt blocks: by hand, and against a list that is searched from the start."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.prefix_cache import PrefixCache
from headway.core.request import Request
from headway.core.sequence import Sequence
from headway.testing.naive_cache import NaiveCache


def request(*blocks: int, prompt: int | None = None, size: int = 10) -> Request:
    return Request(0, 0.0, len(blocks) * size if prompt is None else prompt, blocks=tuple(blocks), block_tokens=size)


def cache(capacity: int, *stored: Request) -> PrefixCache:
    kept = PrefixCache(capacity)
    for one in stored:
        kept.store(one)
    return kept


def test_the_longest_run_from_the_start_counts() -> None:
    kept = cache(100, request(1, 2, 3), request(1, 7))
    assert kept.used == 40
    assert kept.cached(request(1, 2, 9, 3), 1000) == 20
    assert kept.cached(request(1, 7), 1000) == 20
    assert kept.cached(request(2, 3), 1000) == 20  # a hash stands for what lies before it, whatever the place
    assert kept.cached(request(8, 1), 1000) == 0
    assert kept.cached(Request(0, 0.0, 50), 1000) == 0


def test_only_whole_blocks_are_kept_and_hit() -> None:
    kept = cache(100, request(1, 2, 3, prompt=29))
    assert kept.used == 20
    assert kept.cached(request(1, 2, 3), 1000) == 20
    assert kept.cached(request(1, 2), 19) == 10
    assert kept.cached(request(1, 2), 9) == 0
    assert kept.cached(request(1, 2, prompt=19), 1000) == 10


def test_the_least_recently_used_go_first_and_of_one_prompt_the_last_blocks() -> None:
    kept = cache(50, request(1, 2, 3), request(4, 5))
    kept.use(request(1, 2, 3), 20)
    kept.store(request(6))  # 3 was stored before 4 and 5, and was not used since
    assert [kept.cached(request(one), 1000) for one in (1, 2, 3, 4, 5, 6)] == [10, 10, 0, 10, 10, 10]
    kept.store(request(7, 8))
    assert [kept.cached(request(one), 1000) for one in (1, 2, 4, 5, 6, 7, 8)] == [10, 10, 0, 0, 10, 10, 10]
    assert (kept.used, kept.hit_tokens) == (50, 20)


def test_of_blocks_that_were_used_together_the_last_goes_first() -> None:
    kept = cache(30, request(1, 2), request(3))
    kept.use(request(1, 2), 20)
    kept.store(request(4, 5))
    assert [kept.cached(request(one), 1000) for one in (1, 2, 3, 4, 5)] == [10, 0, 0, 10, 10]


def test_asking_is_no_use() -> None:
    kept = cache(20, request(1), request(2))
    kept.cached(request(1), 1000)
    kept.store(request(3))
    assert kept.cached(request(1), 1000) == 0


def test_storing_again_is_a_use() -> None:
    kept = cache(20, request(1), request(2), request(1), request(3))
    assert [kept.cached(request(one), 1000) for one in (1, 2, 3)] == [10, 0, 10]


@pytest.mark.parametrize(("capacity", "held"), [(9, 0), (10, 10), (29, 20)])
def test_of_a_prompt_that_is_too_long_the_start_is_kept(capacity: int, held: int) -> None:
    kept = cache(capacity, request(1, 2, 3))
    assert kept.used == kept.cached(request(1, 2, 3), 1000) == held


def test_a_hash_of_blocks_of_another_size_is_another_one() -> None:
    kept = cache(100, request(1, 2))
    assert kept.cached(request(1, size=5), 1000) == 0
    kept.store(request(1, size=5))
    assert (kept.used, kept.cached(request(1, 2), 1000)) == (15, 0)


NAMES = st.lists(st.integers(0, 8), max_size=6) | st.integers(0, 7).map(lambda last: [*range(last)])
EVENTS = st.lists(
    st.tuples(st.booleans(), NAMES, st.integers(4, 30), st.sampled_from([4, 4, 4, 4, 5]), st.integers(8, 60)),
    min_size=5,
    max_size=30,
)


@given(st.integers(8, 25), EVENTS)
def test_it_equals_the_naive_one(capacity: int, events: list[tuple[bool, list[int], int, int, int]]) -> None:
    fast, slow = PrefixCache(capacity), NaiveCache(capacity)
    for stores, names, prompt, size, room in events:
        seq = Sequence(Request(0, 0.0, prompt, blocks=tuple(names), block_tokens=size), 0)
        if stores:
            fast.store(seq.request)
            slow.store(seq)
        else:
            hit = slow.cached(seq, room)
            tokens = fast.cached(seq.request, min(room, prompt - 1))
            assert tokens == sum(size for _, size in hit)
            fast.use(seq.request, tokens)
            slow.touch(hit)
        assert fast.used == sum(size for _, size in slow.kept) <= capacity
        known = {name for name in range(9) if any(fast.cached(request(name, size=size), 1000) for size in (4, 5))}
        assert known == {name for name, _ in slow.kept}
