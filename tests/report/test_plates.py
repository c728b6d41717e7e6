"""Plates as charts: every kind draws, and shows what its frame holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
import vl_convert

from headway.measure.reproduction import Axis, Plate
from headway.report.plates import figure_of
from tests.measure.reproduction_by_hand import BARS, HEAT, LOADS, MEANS, PATHS


def spec(plate: Plate) -> dict[str, Any]:
    return figure_of(plate).charts[0].properties(width=400).to_dict()


def values(plate: Plate, mark: str) -> list[dict[str, Any]]:
    return [row for layer in spec(plate)["layer"] if layer["mark"]["type"] == mark for row in layer["data"]["values"]]


@pytest.mark.parametrize("plate", [MEANS, PATHS, BARS, HEAT], ids=lambda plate: plate.kind)
def test_every_kind_draws(plate: Plate) -> None:
    drawn = vl_convert.vegalite_to_svg(spec(plate))
    assert plate.x.title in drawn
    assert plate.y.title in drawn
    assert figure_of(plate).place == ("wide" if plate.wide else "normal")


def test_lines_show_the_rows_that_have_a_place() -> None:
    shown = values(MEANS, "line")
    assert [(row["x"], row["y"], row["series"]) for row in shown] == list(
        LOADS.drop_nulls("mean").select("rate", "mean", "policy").iter_rows()
    )
    assert [(row["low"], row["high"]) for row in values(MEANS, "area")] == list(
        LOADS.drop_nulls("mean").select("low", "high").iter_rows()
    )


def test_policies_have_their_colours_everywhere() -> None:
    scale = spec(MEANS)["layer"][1]["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {"fcfs": "#4477AA", "psf": "#EE6677"}


def test_a_path_keeps_the_order_of_its_rows() -> None:
    shown = values(PATHS, "line")
    assert [row["place"] for row in shown] == [0, 1, 2]
    assert [row["text"] for row in values(PATHS, "text")] == ["2", "4", "psf"]


def test_words_of_two_paths_stand_on_two_sides() -> None:
    marks = [layer["mark"] for layer in spec(PATHS)["layer"] if layer["mark"]["type"] == "text"]
    assert [mark["align"] for mark in marks] == ["left", "right"]
    assert marks[0]["dy"] < 0 < marks[1]["dy"]


def test_a_logarithm_has_no_place_for_nothing() -> None:
    data = pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [0.0, 1.0, 4.0], "low": [0.0, -1.0, 3.0], "high": [1.0, 2.0, 5.0]})
    plate = Plate("log", "Log", "", data, Axis("x", "X"), Axis("y", "Y", log=True), low="low", high="high")
    assert [row["x"] for row in values(plate, "line")] == [2.0, 3.0]
    assert [row["low"] for row in values(plate, "area")] == [0.1, 3.0]
    y = spec(plate)["layer"][0]["encoding"]["y"]
    assert y["scale"]["type"] == "log"
    low, high = y["scale"]["domain"]
    assert 0 < low < 0.1
    assert high > 5
    assert y["axis"]["values"] == [0.1, 0.2, 0.5, 1, 2, 5]


def test_without_bands_and_texts_there_are_none() -> None:
    plain = replace(MEANS, low=None, high=None, dash=None)
    assert {layer["mark"]["type"] for layer in spec(plain)["layer"]} == {"line", "point"}


@pytest.mark.parametrize("plate", [MEANS, PATHS, BARS], ids=lambda plate: plate.kind)
def test_where_no_row_has_an_interval_or_a_text_nothing_is_drawn_for_them(plate: Plate) -> None:
    """An empty layer has scales of its own, and takes the colours of all others away."""
    nothing = {name: pl.lit(None, pl.Float64) for name in ("low", "high")} | {"says": pl.lit(None, pl.String)}
    bare = replace(plate, data=plate.data.with_columns(**nothing), low="low", high="high", text="says")
    drawn = spec(bare)
    assert all(layer.get("data", drawn.get("data"))["values"] for layer in drawn["layer"])
    assert {layer["mark"]["type"] for layer in drawn["layer"]} <= {"line", "point", "bar"}
    vl_convert.vegalite_to_svg(drawn)


def test_layers_that_have_rows_of_some_series_only_share_the_colours_of_all() -> None:
    one = pl.when(pl.col("policy") == "psf")
    some = replace(MEANS, data=LOADS.with_columns(one.then("low").alias("low"), one.then("high").alias("high")))
    scales = [layer["encoding"]["color"]["scale"] for layer in spec(some)["layer"]]
    assert {row["series"] for row in values(some, "area")} == {"psf"}
    assert len(scales) == 3
    assert all(scale == scales[0] for scale in scales)
    drawn = vl_convert.vegalite_to_svg(spec(some))
    assert all(colour in drawn for colour in scales[0]["range"])
