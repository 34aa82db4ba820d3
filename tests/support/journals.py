"""What a run that broke off has left."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from promptls.experiments.row_result import RowResult


def read_journal(path: Path) -> Iterator[RowResult]:
    """The results in a journal; a line that is cut short is skipped."""
    with path.open("rb") as stream:
        for line in stream:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                value = json.loads(line)
                if "run" not in value and "call" not in value:
                    yield RowResult.from_json(value)
