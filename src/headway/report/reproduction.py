"""A reproduction as one HTML page that needs nothing else, and as files: pictures, data, findings."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from headway.files import write_whole
from headway.measure.findings import Finding
from headway.measure.reproduction import Part, Plate, Reproduction, Sheet
from headway.report.columns import NO_VALUE
from headway.report.drawing import Figure
from headway.report.fragments import figure_grid, notes_section, partial_banner, prose, section, settings_section
from headway.report.page import page
from headway.report.picture import figure_pictures
from headway.report.plates import figure_of
from headway.report.reproduction_words import (
    left_out_text,
    listed,
    not_held,
    reproduction_answer,
    reproduction_question,
)

PAGE, FINDINGS = "index.html", "findings.json"
ENDINGS = {"figures": ("png", "svg", "csv", "parquet"), "tables": ("csv", "parquet")}
"""What a part's figures and tables are written as, in folders of these names."""

_CLAIMS = (
    "What the paper says beside what came out here; intervals are 95 %. Every verdict is computed from the runs: a "
    "claim of several parts of which only some came out holds in part."
)
_MISSED = "What came out differently, and how far."


def reproduction_page(found: Reproduction) -> str:
    """Return the page: question, answer, claims with verdicts, figures with their words, and how to repeat it."""
    return _page(found, {plate.name: figure_of(plate) for plate in found.plates})


def reproduction_files(found: Reproduction) -> Iterator[tuple[str, bytes]]:
    """Return every file of a reproduction: path in its folder → content; the page and the findings come last."""
    figures = {plate.name: figure_of(plate) for plate in found.plates}
    for plate in found.plates:
        png, svg = figure_pictures(figures[plate.name])
        yield f"figures/{plate.name}.png", png
        yield f"figures/{plate.name}.svg", svg
    for folder, things in (("figures", found.plates), ("tables", found.sheets)):
        for thing in things:
            yield from _data(f"{folder}/{thing.name}", thing)
    yield PAGE, _page(found, figures).encode()
    yield FINDINGS, (json.dumps(found.to_dict(), indent=2, allow_nan=False) + "\n").encode()


def write_reproduction(found: Reproduction, folder: Path) -> Path:
    """Write all files of a reproduction, each whole; nothing before all are made. Return the page.

    Figures and tables that an earlier run of the same paper left and this one does not have are removed.

    Raises:
        OSError: a path cannot be written.
    """
    contents = {folder / name: content for name, content in reproduction_files(found)}
    earlier = _earlier(folder)
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    for path in earlier - contents.keys():
        path.unlink(missing_ok=True)
    return folder / PAGE


def _earlier(folder: Path) -> set[Path]:
    """Return the figures and tables that the findings in a folder name."""
    try:
        parts = json.loads((folder / FINDINGS).read_text(encoding="utf-8"))["parts"]
        names = {kind: {Path(name).name for part in parts for name in part[kind]} for kind in ENDINGS}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return {folder / kind / f"{name}.{ending}" for kind in ENDINGS for name in names[kind] for ending in ENDINGS[kind]}


def _data(stem: str, thing: Plate | Sheet) -> Iterator[tuple[str, bytes]]:
    buffer = io.BytesIO()
    thing.data.write_parquet(buffer)
    yield f"{stem}.csv", thing.data.write_csv().encode()
    yield f"{stem}.parquet", buffer.getvalue()


def _page(found: Reproduction, figures: dict[str, Figure]) -> str:
    title = reproduction_question(found)
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    missed = not_held(found)
    body = "\n".join(
        (
            f"<header>\n<h1>{html.escape(title)}</h1>",
            partial_banner(partial=found.partial),
            f'<p class="partial" role="status">{prose(found.first)}</p>' if found.first else "",
            f'<p class="answer">{prose(reproduction_answer(found))}</p>\n</header>\n<main>',
            section("What does not come out", _MISSED, _missed(missed)) if missed else "",
            section("Claims", _CLAIMS, _claims(found)),
            *(_part(part, figures) for part in found.parts),
            settings_section(found.settings),
            notes_section(found.notes),
            f"</main>\n<footer>Made with {html.escape(versions)}</footer>",
        )
    )
    return page(title, body, list(figures.values()))


def _missed(findings: list[Finding]) -> str:
    items = "\n".join(f"<li>{prose(one.claim)} {_verdict(one)}{_apart(one)}</li>" for one in findings)
    return f'<ul class="missed">\n{items}\n</ul>'


def _apart(one: Finding) -> str:
    """Return lines that say what came out beside what is reported, and what that lacks."""
    interval = f" ({one.interval})" if one.interval else ""
    beside = f"Ours: {one.ours}{interval}{f'; reported: {one.reported}' if one.reported else ''}."
    return "".join(f"<br>{prose(text)}" for text in (beside, one.why) if text)


def _claims(found: Reproduction) -> str:
    """Return the table of claims, in blocks by where the paper says so, and a line about those that were left out."""
    rows = "\n".join(
        f'<tr class="block"><th scope="rowgroup" colspan="5"><span>{html.escape(where)}</span></th></tr>\n'
        + "\n".join(_claim(one) for one in block)
        for where, block in groupby(listed(found), lambda finding: finding.where)
    )
    heads = "".join(
        f'<th scope="col" class="words">{name}</th>' for name in ("Reported", "Ours", "95 % interval", "Verdict")
    )
    head = f'<tr><th scope="col">Claim</th>{heads}</tr>'
    table = f'<table class="claims">\n<thead>\n{head}\n</thead>\n<tbody>\n{rows}\n</tbody>\n</table>'
    left_out = f'\n<p class="how">{prose(text)}</p>' if (text := left_out_text(found)) else ""
    return f'<div class="scroll">{table}</div>{left_out}'


def _claim(one: Finding) -> str:
    cells = "".join(
        f'<td class="words">{prose(text) or NO_VALUE}</td>' for text in (one.reported, one.ours, one.interval)
    )
    why = f'<span class="why">{prose(one.why)}</span>' if one.why else ""
    return (
        f'<tr id="{html.escape(one.name)}"><th scope="row">{prose(one.claim)}{why}</th>{cells}'
        f'<td class="words">{_verdict(one)}</td></tr>'
    )


def _verdict(one: Finding) -> str:
    kind = one.verdict.replace(" ", "-")
    return f'<span class="verdict {kind}">{one.verdict}</span>'


def _part(part: Part, figures: dict[str, Figure]) -> str:
    text = "\n".join(f'<p class="how">{prose(paragraph)}</p>' for paragraph in part.text)
    sheets = "\n".join(_sheet(sheet) for sheet in part.sheets)
    drawn = figure_grid([figures[plate.name] for plate in part.plates])
    return f"<section>\n<h2>{html.escape(part.title)}</h2>\n{text}\n{drawn}\n{sheets}\n</section>"


def _sheet(sheet: Sheet) -> str:
    right = [dtype.is_numeric() for dtype in sheet.data.dtypes]
    head = "".join(
        f'<th scope="col"{"" if number else _WORDS}>{html.escape(name)}</th>'
        for name, number in zip(sheet.data.columns, right, strict=True)
    )
    rows = "\n".join(
        f'<tr><th scope="row">{_cell(row[0], sheet.decimals)}</th>'
        + "".join(
            f"<td{'' if number else _WORDS}>{_cell(value, sheet.decimals)}</td>"
            for value, number in zip(row[1:], right[1:], strict=True)
        )
        + "</tr>"
        for row in sheet.data.iter_rows()
    )
    table = f"<table>\n<thead>\n<tr>{head}</tr>\n</thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    words = f'<h3>{html.escape(sheet.title)}</h3>\n<p class="how">{prose(sheet.caption)}</p>'
    return f'<div class="sheet">\n{words}\n<div class="scroll">{table}</div>\n</div>'


_WORDS = ' class="words"'


def _cell(value: object, decimals: int) -> str:
    if value is None:
        return NO_VALUE
    if isinstance(value, float):
        return f"{value:,.{0 if abs(value) >= 1000 else decimals}f}"
    return f"{value:,}" if isinstance(value, int) else prose(str(value))
