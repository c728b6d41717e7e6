from pathlib import Path

import pytest

from headway.measure.comparison import ComparisonBuilder
from headway.report.picture import save_picture
from tests.report.comparisons import typical


def test_png(tmp_path: Path):
    path = tmp_path / "report.PNG"
    save_picture(typical(), path, scale=1.0)
    assert path.read_bytes().startswith(b"\x89PNG\r\n")


def test_svg_shows_every_chart_with_its_title(tmp_path: Path):
    path = tmp_path / "report.svg"
    save_picture(typical(seeds=2), path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<svg")
    for title in ("Which policy", "How many requests", "Mean wait", "P99 wait", "Requests waiting", "KV cache"):
        assert title in text


@pytest.mark.parametrize("name", ["report.pdf", "report"])
def test_other_formats_are_refused(tmp_path: Path, name: str):
    with pytest.raises(ValueError, match=r"expected a path that ends in \.png or \.svg"):
        save_picture(typical(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_draw(tmp_path: Path):
    with pytest.raises(ValueError, match="nothing to draw"):
        save_picture(ComparisonBuilder({}).build(), tmp_path / "report.svg")
