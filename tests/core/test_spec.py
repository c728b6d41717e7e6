"""Specs are data: read, written and checked, never evaluated."""

from __future__ import annotations

import keyword
import math
import os
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.core.errors import InvalidSpec
from headway.core.spec import Spec, build, choice, construct, number, parameters, parse_spec, whole

WORD = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True).filter(lambda word: not keyword.iskeyword(word))
NAMES = st.lists(WORD, min_size=1, max_size=3).map("-".join)
KEYS = st.lists(WORD, min_size=1, max_size=2).map("_".join)
SCALARS = st.one_of(
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
    NAMES,
    st.text(max_size=12),
    st.sampled_from(["true", "None", "inf", "class", "in", "", "a b", "a-b_c", "it's", '"', "a'b\"c-d", "-", "1e5"]),
)
SPECS = st.deferred(lambda: st.builds(Spec, NAMES, st.dictionaries(KEYS, SCALARS | SPECS, max_size=3)))


@given(SPECS)
@example(Spec("a", {"b": "a'b\"c-d"}))
@example(Spec("fair-share", {"inner": Spec("fcfs")}))
@example(Spec("a", {"b": "\\'-x-\\"}))
def test_what_is_written_reads_back_as_the_same_spec(spec: Spec) -> None:
    assert parse_spec(str(spec)) == spec


@given(st.text(max_size=40) | st.text("abk=(),-_.'\"[]{}*:+5 \\\n", max_size=30))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    message = ""
    try:
        parse_spec(text)
    except InvalidSpec as error:
        message = str(error)
    assert len(message.splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("fcfs", "fcfs", {}),
        ("  fcfs()  ", "fcfs", {}),
        ("qba(k=3, gamma=0.9)", "qba", {"k": 3, "gamma": 0.9}),
        ("least-slack(alpha=-1.5, ties=-inf)", "least-slack", {"alpha": -1.5, "ties": -math.inf}),
        ("qba(refused=oldest-that-fits)", "qba", {"refused": "oldest-that-fits"}),
        ("qba(refused=oldest_that_fits)", "qba", {"refused": "oldest-that-fits"}),
        ("a(b='x_y-z', c=\"it's\")", "a", {"b": "x_y-z", "c": "it's"}),
        (
            "a(b=true, c=False, d=none, e=None, f=inf)",
            "a",
            {"b": True, "c": False, "d": None, "e": None, "f": math.inf},
        ),
        ("a(b=3-x)", "a", None),
        ("prompt-fit(safety=0.7)", "prompt-fit", {"safety": 0.7}),
        ("a(max_new=5, max-old=6)", "a", {"max_new": 5, "max_old": 6}),
        ("fair-share(inner=qba(k=3, window=none))", "fair-share", {"inner": Spec("qba", {"k": 3, "window": None})}),
        ("a(b=c(d=e(f=-2)))", "a", {"b": Spec("c", {"d": Spec("e", {"f": -2})})}),
    ],
)
def test_forms(text: str, name: str, arguments: dict[str, Any] | None) -> None:
    if arguments is None:
        with pytest.raises(InvalidSpec):
            parse_spec(text)
    else:
        assert parse_spec(text) == Spec(name, arguments)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "fcfs)",
        "qba(",
        "qba(5)",
        "qba(*k)",
        "qba(**k)",
        "qba(k=1, k=2)",
        "qba(k=1, **k)",
        "qba(max-new=1, max_new=2)",
        "qba[k]",
        "qba.x(k=1)",
        "5",
        "'fcfs'",
        "a + b",
        "qba(k=[1])",
        "qba(k={})",
        "qba(k=1+1)",
        "qba(k=2**9)",
        "qba(k=not x)",
        "qba(k=~5)",
        "qba(k=-x)",
        "qba(k=-true)",
        "qba(k=1j)",
        "qba(k=b'x')",
        "qba(k=...)",
        "qba(k=f'{x}')",
        "qba(k=(x := 1))",
        "qba(k=lambda: 1)",
        "qba(k=x.y)",
        "qba(k=x[0])",
        "qba(k='\\d')",
        "qba(k=1if x else 2)",
        "lambda: 1",
        "class(k=1)",
        "fcfs\nfcfs",
        "fcfs; fcfs",
        "a\0b",
        "qba(k=" + "9" * 61 + ")",
        "qba(k=" + "9" * 5000 + ")",
        "a(b=" * 3000 + "1" + ")" * 3000,
        "qba(k='\udc80')",
    ],
)
def test_anything_else_is_refused_in_one_line_that_shows_the_form(text: str) -> None:
    with pytest.raises(InvalidSpec, match=r"expected name or name\(key=value, \.\.\.\)") as caught:
        parse_spec(text)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert len(message) < 400


@pytest.mark.parametrize(
    "text",
    [
        "a(b=__import__('os').abort())",
        'a(b=exec("import os; os.abort()"))',
        "__import__('os').abort()",
        "[os.abort() for x in y]",
        "(lambda: os.abort())()",
        "os.abort()",
    ],
)
def test_nothing_is_evaluated(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "abort", lambda: pytest.fail("it was evaluated"))
    with pytest.raises(InvalidSpec):
        parse_spec(text)


def test_a_call_is_only_a_name() -> None:
    assert parse_spec("a(b=exit())") == Spec("a", {"b": Spec("exit")})


class Thing:
    def __init__(self, size: int, colour: str = "red", *extra: int, mood: str = "good", **rest: int) -> None:
        self.size = whole("size", size, 1, 9)
        self.colour = colour
        self.mood = mood


class Plain:
    def __init__(self) -> None:
        """It takes nothing."""


KNOWN = {"thing": Thing, "plain": Plain}


def test_build_calls_the_constructor_with_the_arguments() -> None:
    thing = build(parse_spec("thing(size=3, mood=bad)"), KNOWN, "toy")
    assert isinstance(thing, Thing)
    assert (thing.size, thing.colour, thing.mood) == (3, "red", "bad")
    assert isinstance(build(Spec("plain"), KNOWN, "toy"), Plain)
    assert list(parameters(Thing)) == ["size", "colour", "mood"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("think(size=1)", "unknown toy 'think'; did you mean 'thing'? Known: plain, thing"),
        ("thing(seize=1)", "toy 'thing' has no parameter 'seize'; did you mean 'size'? Known: colour, mood, size"),
        ("plain(size=1)", "toy 'plain' has no parameter 'size'; it takes none"),
        ("thing(size=12)", "toy 'thing': size must be in [1, 9], got 12"),
    ],
)
def test_what_cannot_be_built_is_said_with_the_nearest_name(text: str, message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        build(parse_spec(text), KNOWN, "toy")
    assert str(caught.value) == message


def test_a_parameter_that_must_be_given_is_named() -> None:
    with pytest.raises(InvalidSpec, match=r"toy 'thing'.*size"):
        construct(Thing, Spec("thing"), "toy")


@pytest.mark.parametrize("value", [0.25, 1, 4])
def test_number_takes_what_is_within_the_bounds(value: float) -> None:
    taken = number("x", value, 0.25, 4)
    assert taken == value
    assert isinstance(taken, float)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0.2, "x must be in [0.25, 4], got 0.2"),
        (4.1, "x must be in [0.25, 4], got 4.1"),
        (math.nan, "x must be a number in [0.25, 4], got nan"),
        (True, "x must be a number in [0.25, 4], got true"),
        ("a b", "x must be a number in [0.25, 4], got 'a b'"),
        (None, "x must be a number in [0.25, 4], got none"),
        (Spec("y", {"z": 1}), "x must be a number in [0.25, 4], got y(z=1)"),
    ],
)
def test_number_refuses_the_rest(value: object, message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        number("x", value, 0.25, 4)
    assert str(caught.value) == message


def test_open_bounds_are_left_out_and_shown_so() -> None:
    assert number("x", 0.5, 0, 1, open_low=True, open_high=True) == 0.5
    for value in (0, 1):
        with pytest.raises(InvalidSpec, match=r"x must be in \(0, 1\), got"):
            number("x", value, 0, 1, open_low=True, open_high=True)


def test_whole_takes_whole_numbers_however_they_are_written() -> None:
    assert whole("x", 3, 1) == 3
    taken = whole("x", 3.0, 1, 3)
    assert taken == 3
    assert isinstance(taken, int)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "x must be >= 1, got 0"),
        (2.5, "x must be a whole number >= 1, got 2.5"),
        (math.inf, "x must be a whole number >= 1, got inf"),
        (math.nan, "x must be a whole number >= 1, got nan"),
        (False, "x must be a whole number >= 1, got false"),
        ("3", "x must be a whole number >= 1, got '3'"),
    ],
)
def test_whole_refuses_the_rest(value: object, message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        whole("x", value, 1)
    assert str(caught.value) == message


def test_whole_has_an_upper_bound_where_one_is_given() -> None:
    with pytest.raises(InvalidSpec, match=r"x must be in \[1, 3\], got 4"):
        whole("x", 4, 1, 3)


def test_choice_is_one_of_the_words() -> None:
    assert choice("x", "red", ("red", "blue")) == "red"
    for value in ("rad", 3, None):
        with pytest.raises(InvalidSpec, match=r"x: unknown value .*Known: blue, red"):
            choice("x", value, ("red", "blue"))
