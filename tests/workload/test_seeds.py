from __future__ import annotations

import numpy as np
import pytest

from headway.core.errors import InvalidWorkload
from headway.workload.seeds import stream


def test_a_stream_is_known_by_seed_and_name():
    first = stream(7, "arrivals").random(100)
    np.testing.assert_array_equal(first, stream(7, "arrivals").random(100))
    for other in (stream(8, "arrivals"), stream(7, "lengths"), stream(7, "arrival"), stream(7, "slavirra")):
        assert not np.any(first == other.random(100))


def test_the_numbers_do_not_change_between_versions_and_machines():
    assert stream(0, "arrivals").integers(0, 1000, 4).tolist() == [973, 129, 963, 881]


def test_streams_are_uncorrelated():
    draws = np.array([stream(seed, name).random(20_000) for seed in (0, 1) for name in ("arrivals", "lengths")])
    off_diagonal = np.corrcoef(draws) - np.eye(4)
    assert np.abs(off_diagonal).max() < 0.03


@pytest.mark.parametrize("seed", [-1, 1.5, True, "1", None])
def test_a_seed_is_whole_and_not_negative(seed: object):
    with pytest.raises(InvalidWorkload, match="seed must be"):
        stream(seed, "arrivals")  # type: ignore[arg-type]
