"""The rows of runs as a report holds them: all, or of very many those that matter most."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from promptls.experiments.answer_cache import reading_answers
from promptls.experiments.history import RunSummary
from promptls.experiments.result_pages import Kind, paired_places, row_states, table_columns
from promptls.results_view import wire

# Characters of cells, and of messages, that one report holds: a browser opens them in a moment.
MAX_CELLS = 60_000_000
MAX_MESSAGES = 30_000_000

_LETTERS: Mapping[Kind, str] = {"good": "g", "failing": "f", "error": "e", "problem": "p"}


def packed_rows(
    runs: Sequence[RunSummary], max_cells: int = MAX_CELLS, max_messages: int = MAX_MESSAGES
) -> tuple[list[wire.PackedTable], list[list[str]]]:
    """Return the table of each run, and in words what is left out of it.

    A table has `rows`, each its cells in the order of the `columns`; its `places`, and its `states`, a
    letter a row; and `messages` by the hash of what was sent. Where the rows are more than `max_cells`
    characters, those that are not good stay first.
    """
    share, message_share = max_cells // len(runs), max_messages // len(runs)
    packed = [_packed(run, share, message_share) for run in runs]
    return [table for table, _ in packed], [left_out for _, left_out in packed]


def packed_pairs(first: RunSummary, other: RunSummary) -> list[tuple[int | None, int | None, int]]:
    """Return the rows of two runs that belong together: `(before, after, 1 if they differ)`, by place."""
    differing = set(paired_places(first, other, differing=True))
    return [(left, right, int((left, right) in differing)) for left, right in paired_places(first, other)]


def _packed(run: RunSummary, most: int, max_messages: int) -> tuple[wire.PackedTable, list[str]]:
    columns = table_columns(run)
    total = size = 0
    states: list[str] = []
    sizes: list[int] = []
    for cells, kind in row_states(run):
        total += 1
        states.append(_LETTERS[kind])
        sizes.append(sum(map(len, cells.values())))
        size += sizes[-1]
    kept = range(total) if size <= most else _most_telling(states, sizes, most)
    chosen = frozenset(kept) if size > most else None
    rows = [
        [cells.get(column, "") for column in columns]
        for place, (cells, _) in enumerate(row_states(run))
        if chosen is None or place in chosen
    ]
    hashes = [row[columns.index("rendered_hash")] for row in rows] if "rendered_hash" in columns else []
    messages, unsent = _messages(run, hashes, max_messages)
    table: wire.PackedTable = {
        "columns": list(columns),
        "rows": rows,
        "places": list(kept),
        "states": "".join(states[place] for place in kept),
        "messages": messages,
    }
    left_out = []
    if len(rows) < total:
        left_out.append(
            f"{total - len(rows):,} of {total:,} rows are left out, because the report would be too large: "
            "rows that are not good stay first. The scores are those of all rows."
        )
    if unsent:
        left_out.append(f"The messages of {unsent:,} rows are left out, because they would be too large.")
    return table, left_out


def _most_telling(states: Sequence[str], sizes: Sequence[int], most: int) -> list[int]:
    """Return the places of the rows that fit, those that are not good first; in the table's order."""
    kept = []
    for place in sorted(range(len(states)), key=lambda each: (states[each] == "g", each)):
        if sizes[place] <= most:
            most -= sizes[place]
            kept.append(place)
    return sorted(kept)


def _messages(run: RunSummary, hashes: Sequence[str], most: int) -> tuple[dict[str, list[wire.Message]], int]:
    """Return the messages by hash, and for how many rows they are too large."""
    found: dict[str, list[wire.Message]] = {}
    too_large: set[str] = set()
    with reading_answers(run.results.parent) as cache:
        for digest in dict.fromkeys(hashes) if cache is not None else ():
            messages = cache.messages(digest) if cache is not None else None
            if messages is None:
                continue
            size = len(json.dumps(messages, ensure_ascii=False))
            if size > most:
                too_large.add(digest)
            else:
                most -= size
                found[digest] = cast("list[wire.Message]", messages)
    return found, sum(digest in too_large for digest in hashes)
