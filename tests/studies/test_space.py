"""Settings: every one can be run, nearby ones differ by a step, and simple goes before fancy."""

from __future__ import annotations

from dataclasses import fields, replace

from headway.core.engine import preset
from headway.core.spec import parse_spec
from headway.studies.space import BY_CLASS, BY_PROMISE, Setting, Space

ENGINE = preset("a100-llama3-8b")
BASE = Setting("fcfs", "prompt-fit(safety=0.9)")


def space(**changed: object) -> Space:
    asked = {"memory_matters": True, "promised": True, "shed": True, "classes": True, "tenants": True}
    return Space.of(BASE, ENGINE, **{**asked, "patience": 1.5, "length": 200, **changed})  # type: ignore[arg-type]


def test_every_setting_that_is_tried_can_be_run():
    room = space()
    start = room.start()
    near = {one for setting in start for one in room.near(setting)}
    crossed = room.crossed(start[:10], start[-10:])
    for setting in {*start, *near, *crossed}:
        setting.policy().build(ENGINE)
    assert len(start) == len(set(start)) > 25
    assert start[0] == BASE


def test_it_begins_with_single_changes():
    assert all(setting.changed(BASE) == 1 for setting in space().start()[1:])


def test_what_is_near_differs_in_one_part():
    room = space()
    lead = replace(BASE, order="qba(k=5, gamma=0.8)", shed="queue-cap(requests=32)", prefill_share=0.1)
    near = room.near(lead)
    parts = [field.name for field in fields(Setting)]
    assert all(sum(getattr(one, part) != getattr(lead, part) for part in parts) == 1 for one in near)
    assert {one.order for one in near if one.order != lead.order} == {
        "qba(k=4, gamma=0.8)",
        "qba(k=6, gamma=0.8)",
        "qba(k=5, gamma=0.65)",
        "qba(k=5, gamma=0.9)",
        "fcfs",
    }
    assert replace(lead, prefill_share=0.0) in near


def names(room: Space) -> set[str]:
    return {parse_spec(spec).name for setting in room.start() for spec in (setting.order, setting.memory, setting.shed)}


def test_what_cannot_matter_is_left_out():
    assert not names(space(promised=False)) & set(BY_PROMISE)
    assert not names(space(classes=False)) & set(BY_CLASS)
    assert not names(space(shed=False)) & {"reject", "demote", "queue-cap"}
    assert "watermark" not in names(space(memory_matters=False))
    assert "fair-share" not in names(space(tenants=False))
    prefill_first = Space.of(
        BASE,
        replace(ENGINE, mode="prefill-first"),
        memory_matters=False,
        promised=False,
        shed=False,
        classes=False,
        tenants=False,
        patience=1.0,
        length=1,
    )
    assert not any(setting.prefill_share for setting in prefill_first.start())


def test_chunks_that_no_iteration_holds_are_not_capped():
    small = Space.of(
        BASE,
        preset("qba-paper"),
        memory_matters=False,
        promised=True,
        shed=False,
        classes=False,
        tenants=False,
        patience=1.0,
        length=1,
    )
    near = [one for setting in small.start() for one in small.near(setting)]
    chunks = {parse_spec(one.order).arguments["chunk"] for one in near if one.order.startswith("combined")}
    assert chunks
    assert max(chunks) < 128


def test_who_changes_less_and_needs_to_know_less_is_simpler():
    ranked = [
        BASE,
        replace(BASE, order="shortest-work(aging=50)"),
        replace(BASE, order="psf"),
        replace(BASE, order="qba(k=5, gamma=0.8)"),
        replace(BASE, order="shortest-work(aging=50)", prefill_share=0.1),
    ]
    backwards = ranked[::-1]
    assert sorted(backwards, key=lambda one: one.complexity(BASE)) == ranked


def test_a_name_says_all_that_differs():
    one = Setting("psf", "watermark(level=0.9)", "reject(safety=1.2)", 0.1, "share=0.1,after=1,window=200")
    assert one.name(BASE) == (
        "psf + watermark(level=0.9) + reject(safety=1.2) + prefill-share 0.1 + reserve share=0.1,after=1,window=200"
    )
    assert BASE.name(BASE) == "fcfs"
    assert (one.predicts, one.promised) == (True, True)


def test_an_own_order_can_be_the_baseline():
    own = replace(BASE, order="tests.studies.orders:Backwards")
    room = Space.of(
        own, ENGINE, memory_matters=True, promised=True, shed=True, classes=True, tenants=True, patience=1.5, length=200
    )
    start = room.start()
    assert start[0] == own
    for setting in {own, *room.near(own)}:
        setting.policy().build(ENGINE)
