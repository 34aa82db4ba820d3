"""What an edit changes: which rows render otherwise than in a former run."""

from __future__ import annotations

from collections.abc import Iterable

from promptls.datasets.files import Row
from promptls.experiments.history import RunSummary, row_results
from promptls.experiments.row_rendering import RenderedRow
from promptls.text.errors import UserError


def changed_rows(rendered: Iterable[tuple[Row, RenderedRow]], before: RunSummary) -> int | None:
    """Return how many of the rows render otherwise than in the run `before`.

    Rows that it did not have count too.

    None if the run's table is gone.
    """
    try:
        known = {
            int(cells["row_number"]): cells.get("rendered_hash") or ""
            for cells in row_results(before)
            if (cells.get("row_number") or "").isdigit()
        }
    except (OSError, ValueError, UserError):
        return None
    return sum(known.get(row.number) != each.digest for row, each in rendered)
