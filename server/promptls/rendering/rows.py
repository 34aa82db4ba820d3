"""Many rows of one template rendered in one message, and what comes back for each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from promptls.rendering.outcome import RenderFailure


class RowMessages(NamedTuple):
    """What a model gets for one row: its messages, their tokens before and after truncation, all files."""

    messages: Sequence[Mapping[str, Any]]
    tokens: int
    tokens_kept: int
    files: Sequence[str]


class RowsRendered(NamedTuple):
    """The outcome of each row, in order, and the seconds that all of them took."""

    outcomes: Sequence[RowMessages | RenderFailure]
    seconds: float


def packed_rows(rendered: RowsRendered) -> dict[str, Any]:
    """The outcomes as JSON; rows that the same files took part in name them once."""
    files: dict[tuple[str, ...], int] = {}
    rows: list[Any] = []
    for outcome in rendered.outcomes:
        if isinstance(outcome, RenderFailure):
            rows.append(outcome.to_json())
        else:
            place = files.setdefault(tuple(outcome.files), len(files))
            rows.append([outcome.messages, outcome.tokens, outcome.tokens_kept, place])
    return {"rows": rows, "files": list(files), "seconds": rendered.seconds}


def unpacked_rows(value: Mapping[str, Any]) -> RowsRendered:
    """The outcomes that `packed_rows` wrote."""
    files = [tuple(each) for each in value["files"]]
    outcomes = [
        RenderFailure.from_json(row)
        if isinstance(row, dict)
        else RowMessages(row[0], row[1], row[2], files[row[3]])
        for row in value["rows"]
    ]
    return RowsRendered(outcomes, value["seconds"])
