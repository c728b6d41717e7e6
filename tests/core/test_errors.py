"""The error tree, and the hint at the nearest name."""

from __future__ import annotations

import pytest

from headway.core.errors import (
    HeadwayError,
    InvalidEngine,
    InvalidInput,
    InvalidSpec,
    InvalidTrace,
    InvalidWorkload,
    nearest,
)


@pytest.mark.parametrize("error", [InvalidEngine, InvalidSpec, InvalidTrace, InvalidWorkload])
def test_every_wrong_input_is_a_value_error_of_ours(error: type[Exception]) -> None:
    assert issubclass(error, InvalidInput)
    assert issubclass(error, HeadwayError)
    assert issubclass(error, ValueError)


def test_nearest_hints_where_a_name_is_near_and_lists_all() -> None:
    assert nearest("fcf", ["psf", "fcfs"]) == "did you mean 'fcfs'? Known: fcfs, psf"
    assert nearest("zzzzz", ["psf", "fcfs"]) == "Known: fcfs, psf"
