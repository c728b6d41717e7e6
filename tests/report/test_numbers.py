import pytest

from headway.report.numbers import count_text, list_text, load_text, percent_text, seconds_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"), (3e-7, "< 1 µs"), (0.0000421, "0.0421 ms"), (0.0413, "41.3 ms"), (0.1, "0.10 s"),
        (0.456, "0.46 s"),
        (2.191, "2.19 s"), (13.12, "13.1 s"), (475.4, "475 s"), (1739.3, "1,739 s"), (-2.191, "-2.19 s"),
    ],
)  # fmt: skip
def test_durations_have_three_digits_and_a_unit(value: float, text: str):
    assert seconds_text(value) == text


def test_counts():
    assert count_text(19366) == "19,366"
    assert count_text(5000.0) == "5,000"
    assert count_text(80.666) == "80.7"


def test_shares():
    assert percent_text(0.543) == "54 %"
    assert percent_text(0.0604) == "6.0 %"
    assert percent_text(0.0) == "0 %"


@pytest.mark.parametrize(
    ("words", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_lists(words: list[str], text: str):
    assert list_text(words) == text


def test_loads_have_three_digits_at_most() -> None:
    rates = (30.0, 6.79367, 0.053149, 1234.5, 99.96, 5.0)
    assert [load_text(rate) for rate in rates] == ["30", "6.79", "0.0531", "1,230", "100", "5"]
