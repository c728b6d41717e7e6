"""From what a run left behind to figures: waits, latencies, throughput, and how sure they are."""

from headway.measure.comparison import Comparison, ComparisonBuilder
from headway.measure.frames import policy_frame, request_frame
from headway.measure.pairs import PairedDifference
from headway.measure.record import RunRecord, Segments, Totals
from headway.measure.summary import Summary, summarise

__all__ = [
    "Comparison",
    "ComparisonBuilder",
    "PairedDifference",
    "RunRecord",
    "Segments",
    "Summary",
    "Totals",
    "policy_frame",
    "request_frame",
    "summarise",
]
