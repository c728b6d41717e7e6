"""Who counts as long, and how often the predictor is wrong."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway.core.errors import InvalidWorkload
from headway.core.quantile import exact, rank
from headway.workload.columns import LONG, SHORT
from headway.workload.limits import number
from headway.workload.trace import Trace


def label(trace: Trace, quantile: float = 0.85) -> Trace:
    """Add `true_class` by output length and `predicted` equal to it; a column that is there is kept.

    A request is long iff it has more output tokens than the trace's own empirical quantile: the order
    statistic number ceil(quantile · n), without interpolation. So at most a share of 1 - quantile is long.

    Args:
        trace: what to label.
        quantile: in (0, 1].

    Raises:
        InvalidWorkload: the quantile is out of range.
    """
    share = number("quantile", quantile, 0.0, 1.0, open_low=True)
    if "true_class" not in trace.frame.columns:
        outputs = trace.frame["output_tokens"]
        threshold = outputs.sort()[rank(exact(share), len(trace)) - 1]
        trace = trace.labelled(true_class=pl.when(outputs > threshold).then(pl.lit(LONG)).otherwise(pl.lit(SHORT)))
    if "predicted" not in trace.frame.columns:
        trace = trace.labelled(predicted=pl.col("true_class"))
    return trace


def mislabel(trace: Trace, epsilon_sl: float, epsilon_ls: float, rng: np.random.Generator) -> Trace:
    """Flip each predicted short to long with probability `epsilon_sl`, each long to short with `epsilon_ls`.

    Independently, with one uniform number a request: from the same stream, a larger error flips the same
    requests and more.

    Args:
        trace: a labelled trace.
        epsilon_sl: probability in [0, 1].
        epsilon_ls: probability in [0, 1].
        rng: the stream of labels.

    Raises:
        InvalidWorkload: a probability is out of range, or the trace has no predicted labels.
    """
    flip_short = number("epsilon_sl", epsilon_sl, 0.0, 1.0)
    flip_long = number("epsilon_ls", epsilon_ls, 0.0, 1.0)
    if flip_short == flip_long == 0.0:
        return trace
    if trace.frame.schema.get("predicted") != pl.String:
        raise InvalidWorkload(
            f"{trace.name}: prediction errors need 'predicted' to be short or long; label the trace first"
        )
    draws = pl.Series(rng.random(len(trace)))
    predicted = pl.col("predicted")
    flipped = (
        pl.when((predicted == SHORT) & (draws < flip_short))
        .then(pl.lit(LONG))
        .when((predicted == LONG) & (draws < flip_long))
        .then(pl.lit(SHORT))
        .otherwise(predicted)
    )
    return trace.labelled(predicted=flipped)
