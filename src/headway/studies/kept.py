"""Cells whose rows are kept in a folder: what ends a study early ends the cell in hand, and the next run goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from headway.core.errors import HeadwayError
from headway.studies.cell_key import Keys
from headway.studies.cells import Cell, Row, finished
from headway.studies.grid import COLUMNS, Planned, Settings, rules_of
from headway.studies.result_store import open_store


def run_kept(
    cells: Sequence[Cell],
    folder: Path,
    *,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[dict[int, Row], bool]:
    """Run the cells whose rows are not in a folder yet, and keep theirs there.

    Args:
        cells: what to run.
        folder: a sweep's, made if it is not there; a row is used again where all that decides its figures is the same.
        workers: processes; by default one a core.
        progress: told now and then the share that is done, in 0..1.

    Returns:
        Place → row of every cell that is done, and whether that is all of them: False after Ctrl-C.

    Raises:
        InvalidInput: the folder cannot be used.
        HeadwayError: a process was ended from outside; what was finished is kept.
    """
    keys = Keys()
    planned = [Planned(keys.of(cell), _settings(cell), cell) for cell in cells]
    complete = True
    with open_store(folder) as store:
        missing = [one for one in planned if one.key not in store.known]
        done = len(cells) - len(missing)
        try:
            with closing(finished([one.cell for one in missing], workers=workers)) as rows:
                for place, row in rows:
                    store.add(missing[place], row)
                    done += 1
                    if progress is not None:
                        progress(done / len(cells))
        except KeyboardInterrupt:
            complete = False
        except HeadwayError as error:
            raise type(error)(f"{error}. {done:,} of {len(cells):,} runs are kept; the same command goes on") from None
        found = store.fold(planned)
    figures = [name for name in found.columns if name not in (*COLUMNS, "key", "headway")]
    kept = {row["key"]: {name: row[name] for name in figures} for row in found.iter_rows(named=True)}
    return {place: kept[one.key] for place, one in enumerate(planned) if one.key in kept}, complete


def _settings(cell: Cell) -> Settings:
    """Return a cell's settings as a sweep's results show them."""
    source, shares = cell.source, cell.policy.shares
    shown = {
        "workload": source.origin if isinstance(source.origin, str) else source.origin.name,
        "limit": source.limit,
        "rate": source.rate,
        "scale_lengths": source.length_factor,
        "epsilon_sl": source.epsilon_sl,
        "epsilon_ls": source.epsilon_ls,
        "clients": cell.clients,
        "patience": cell.patience,
        "steady_after": cell.steady_after,
        "watch_future": cell.watch_future,
        "prefill_share": float(shares.prefill or 0),
        "pools": None if shares.pools is None else float(shares.pools),
        **rules_of(cell),
    }
    return {name: shown.get(name) for name in COLUMNS}
