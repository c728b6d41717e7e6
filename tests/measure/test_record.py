import dataclasses

from headway.measure.record import (
    FOLLOWED_SCHEMA,
    OUTCOME_SCHEMA,
    RESIDENCE_SCHEMA,
    STRAY_SCHEMA,
    TIMELINE_SCHEMA,
    RunRecord,
    Segments,
    Totals,
)


def test_hosts_and_readers_agree_on_the_columns():
    assert list(OUTCOME_SCHEMA) == [
        "id",
        "tenant",
        "class",
        "ttft_slo",
        "itl_slo",
        "completion_slo",
        "weight",
        "arrival",
        "start",
        "first_token",
        "finish",
        "prompt_tokens",
        "output_tokens",
        "predicted",
        "true_class",
        "largest_gap",
        "evictions",
        "outcome",
        "reason",
        "demoted",
    ]
    assert list(RESIDENCE_SCHEMA) == ["row", "joined", "left"]
    assert list(STRAY_SCHEMA) == ["row", "seconds"]
    assert list(TIMELINE_SCHEMA) == ["time", "waiting", "running", "kv"]
    assert list(FOLLOWED_SCHEMA) == ["time", "phase", "held", "used"]


def test_hosts_and_readers_agree_on_the_fields():
    def fields(cls: type) -> str:
        return " ".join(field.name for field in dataclasses.fields(cls))

    assert fields(Segments) == "clock steps first last end"
    assert fields(Totals) == (
        "iterations decode_iterations prefill_positions decode_positions seconds busy_seconds token_budget "
        "kv_capacity kv_token_iterations kv_peak oom_events wasted_tokens cached_positions demoted promoted"
    )
    assert fields(RunRecord) == (
        "policy engine workload seed outcomes segments totals residence stray timeline wall_seconds partial "
        "order memory_rule shedding_rule eviction_rule memory steady_memory work followed journal"
    )
