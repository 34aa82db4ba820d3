"""The turns of a growing chat as bars of characters."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from promptls.cli.output.terminal import paint

if TYPE_CHECKING:
    from promptls.truncation.report import CellJson, LabJson

CACHED, FRESH, LOST = "█", "▒", "·"
MAX_LINES = 40
"""How many turns are drawn; of more, every second, third, … is."""
_LEAST_WIDTH, _BESIDE = 20, 34
_MAX_WIDTH = 90


def bars(found: LabJson) -> str:
    """Return one line a turn for the best step under the present limit: read from the cache, new, and cut."""
    cell = drawn_cell(found)
    width = min(_MAX_WIDTH, max(_LEAST_WIDTH, shutil.get_terminal_size().columns - _BESIDE))
    return "\n".join(_lines(cell, width))


def drawn_cell(found: LabJson, step: int | None = None) -> CellJson:
    """Return the cell of a step, by default of the best one, under the present limit, or the middle one."""
    limits = found["limits"]
    limit = found["limit"] if found["limit"] in limits else limits[len(limits) // 2]
    if step is None:
        step = next(best["step"] for best in found["best"] if best["limit"] == limit)
    cells = [cell for cell in found["cells"] if cell["limit"] == limit]
    return next((cell for cell in cells if cell["step"] == step), cells[0])


def _lines(cell: CellJson, width: int) -> Iterator[str]:
    turns = cell["turns"]
    yield paint(f"With a step of {cell['step']:,} under a limit of {cell['limit']:,} tokens:", "bold")
    yield f"{paint(CACHED, 'green')} read from the cache   {FRESH} new   {paint(LOST, 'dim')} cut"
    every = -(-len(turns["tokens"]) // MAX_LINES)
    totals = [kept + lost for kept, lost in zip_longest(turns["tokens"], turns["lost"], fillvalue=0)]
    scale = width / max(1, *totals)
    for number in range(0, len(totals), every):
        kept, cached = turns["tokens"][number], turns["cached"][number]
        first, second, third = (round(part * scale) for part in (cached, kept, totals[number]))
        bar = (
            paint(CACHED * first, "green") + FRESH * (second - first) + paint(LOST * (third - second), "dim")
        )
        lost = f", {turns['lost'][number]:,} cut" if turns["lost"][number] else ""
        yield f"{number + 1:>5} {bar} {kept:,}{paint(lost, 'dim')}"
