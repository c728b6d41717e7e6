"""Waiting requests by rank and need, against a list that is sorted for every question."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from headway.core.request import Request
from headway.core.sequence import FILLING, Sequence
from headway.policies.order.need_index import NeedIndex

LARGEST = 11
KEYS = st.sampled_from([0.0, 1.0, 1.0, 2.5, math.inf])
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("push"), KEYS, st.integers(1, LARGEST)),
        st.tuples(st.just("push"), KEYS, st.integers(1, LARGEST)),
        st.tuples(st.just("again"), KEYS, st.integers(1, LARGEST)),
        st.tuples(st.just("start"), st.integers(0, 100), st.just(0)),
        st.tuples(st.just("first"), st.just(0.0), st.integers(1, 2 * LARGEST)),
        st.tuples(st.just("firsts"), KEYS, st.integers(1, 2 * LARGEST)),
    ),
    max_size=150,
)


@given(MOVES, st.integers(1, 7))
def test_it_equals_a_sorted_list(moves: list[tuple[str, float, int]], most: int) -> None:
    index = NeedIndex(LARGEST)
    waiting: dict[Sequence, tuple[float, int]] = {}  # key, need

    def expected(space: int, limit: float) -> list[Sequence]:
        fitting = [(key, seq.ticket, seq) for seq, (key, need) in waiting.items() if need <= space and key <= limit]
        return [seq for _, _, seq in sorted(fitting)]

    for count, (move, value, number) in enumerate(moves):
        if move == "push":
            seq = Sequence(Request(count, 0.0, 1), count)
            waiting[seq] = (value, number)
            index.push(number, value, seq)
        elif move == "again" and waiting:
            seq = next(iter(waiting))
            seq.mark += 1
            waiting[seq] = (value, number)
            index.push(number, value, seq)
        elif move == "start" and waiting:
            seq = list(waiting)[int(value) % len(waiting)]
            del waiting[seq]
            seq.state = FILLING
        elif move == "first":
            found = index.first(number)
            assert ([] if found is None else [found[4]]) == expected(number, math.inf)[:1]
        elif move == "firsts":
            assert [entry[4] for entry in index.firsts(number, value, most)] == expected(number, value)[:most]
