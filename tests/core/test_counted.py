"""One thing is told as one."""

from __future__ import annotations

from headway.core.counted import IS, counted


def test_one_is_told_as_one():
    assert [counted(n, "cell") for n in (0, 1, 2, 2000)] == ["0 cells", "1 cell", "2 cells", "2,000 cells"]
    assert [counted(n, "request", IS) for n in (1, 2)] == ["1 request is", "2 requests are"]
