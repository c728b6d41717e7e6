"""Random traces for property tests."""

from __future__ import annotations

import polars as pl
from hypothesis import strategies as st

from headway.workload.trace import Trace

ARRIVALS = st.floats(0.0, 1e6, allow_subnormal=False)
TOKENS = st.integers(0, 100_000)


@st.composite
def traces(draw: st.DrawFn, min_size: int = 1, max_size: int = 40) -> Trace:
    rows = draw(st.lists(st.tuples(ARRIVALS, TOKENS, TOKENS), min_size=min_size, max_size=max_size))
    arrivals, prompts, outputs = zip(*rows, strict=True)
    return Trace.from_frame(
        "random",
        pl.DataFrame(
            {
                "arrival": arrivals,
                "prompt_tokens": [tokens + 1 for tokens in prompts],
                "output_tokens": outputs,
            }
        ),
    )
