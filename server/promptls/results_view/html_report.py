"""The report of runs as one HTML page that contains its rows."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final, cast

from promptls.experiments.answer_cache import reading_answers
from promptls.experiments.history import RunSummary
from promptls.experiments.result_pages import Kind, paired_places, row_states, table_columns
from promptls.models.masking import KeyMask, key_mask
from promptls.results_view import results_wire
from promptls.results_view.view import results_view
from promptls.text.errors import UserError

# The maximum number of characters of cells, and of messages, in a report that browsers open quickly.
MAX_CELLS = 60_000_000
MAX_MESSAGES = 30_000_000

_LETTERS: Mapping[Kind, str] = {"good": "g", "failing": "f", "error": "e", "problem": "p"}


FOLDER: Final = Path(__file__).resolve().parent.parent / "pages"
"""The page, which the build of the VS Code extension puts here, and which wheels include."""
_STYLES: Final = ("browser.css", "results-style.css")
_SCRIPT: Final = "results.js"

_HTML: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="{policy}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="referrer" content="no-referrer">
  <title>{title}</title>
  <link rel="icon" href="data:,">
  <style>{style}</style>
</head>
<body>
  <div id="root"><noscript>This report needs JavaScript. It loads nothing from anywhere.</noscript></div>
  <script type="application/octet-stream" id="report-data">{data}</script>
  <script>{script}</script>
</body>
</html>
"""


def report_html(runs: Sequence[RunSummary]) -> str:
    """Return the report of the runs: the first is the baseline, the last is shown.

    It contains rows of up to `MAX_CELLS` characters, and lists omissions. Raises `UserError` if a table is
    missing or the page is not installed.
    """
    view = results_view(runs)
    tables, left_out = packed_rows(runs)
    for run, notes in zip(view["runs"], left_out, strict=True):
        run["leftOut"] = notes
    pairs = [packed_pairs(runs[0], other) for other in runs[1:]]
    value: results_wire.Report = {"view": view, "tables": tables, "pairs": pairs}
    # Keys in results that were written before they were known as keys must not be passed on in a file.
    mask = KeyMask(tuple(json.dumps(secret, ensure_ascii=False)[1:-1] for secret in key_mask().secrets))
    text = mask.mask(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    packed = gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)
    style = "\n".join(_file(name) for name in _STYLES).replace("</style", r"<\/style")
    script = _file(_SCRIPT).replace("</script", r"<\/script").replace("<!--", r"<\!--")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = f"{' · '.join(dict.fromkeys(run.prompt.name for run in runs))} · promptls report"
    return _HTML.format(
        policy=policy,
        title=escape(title),
        style=style,
        script=script,
        data=base64.b64encode(packed).decode("ascii"),
    )


def _file(name: str) -> str:
    try:
        return (FOLDER / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(
            "this installation of promptls has no page for reports",
            remedy="install it from a wheel; in a checkout, `make setup` builds them",
        ) from None


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def packed_rows(
    runs: Sequence[RunSummary], max_cells: int = MAX_CELLS
) -> tuple[list[results_wire.PackedTable], list[list[str]]]:
    """Return the table of each run, and descriptions of what is left out of it.

    A table has `rows`, lists of cells in the order of the `columns`; their `places`; their `states`, one
    letter per row; and `messages` by the hash of the request. If the rows exceed `max_cells` characters, bad
    rows take precedence.
    """
    share, message_share = max_cells // len(runs), MAX_MESSAGES // len(runs)
    packed = [_pack(run, share, message_share) for run in runs]
    return [table for table, _ in packed], [left_out for _, left_out in packed]


def packed_pairs(first: RunSummary, other: RunSummary) -> list[tuple[int | None, int | None, int]]:
    """Return the matching rows of two runs: `(before, after, 1 if they differ)`, by index."""
    differing = set(paired_places(first, other, differing=True))
    return [(left, right, int((left, right) in differing)) for left, right in paired_places(first, other)]


def _pack(run: RunSummary, limit: int, max_messages: int) -> tuple[results_wire.PackedTable, list[str]]:
    columns = table_columns(run)
    total = size = 0
    states: list[str] = []
    sizes: list[int] = []
    for cells, kind in row_states(run):
        total += 1
        states.append(_LETTERS[kind])
        sizes.append(sum(map(len, cells.values())))
        size += sizes[-1]
    selected = range(total) if size <= limit else _most_relevant(states, sizes, limit)
    chosen = frozenset(selected) if size > limit else None
    rows = [
        [cells.get(column, "") for column in columns]
        for place, (cells, _) in enumerate(row_states(run))
        if chosen is None or place in chosen
    ]
    hashes = [row[columns.index("rendered_hash")] for row in rows] if "rendered_hash" in columns else []
    messages, unsent = _messages(run, hashes, max_messages)
    table: results_wire.PackedTable = {
        "columns": list(columns),
        "rows": rows,
        "places": list(selected),
        "states": "".join(states[place] for place in selected),
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


def _most_relevant(states: Sequence[str], sizes: Sequence[int], limit: int) -> list[int]:
    """Return the indices of the rows that fit, in order; bad rows take precedence."""
    selected = []
    for place in sorted(range(len(states)), key=lambda each: (states[each] == "g", each)):
        if sizes[place] <= limit:
            limit -= sizes[place]
            selected.append(place)
    return sorted(selected)


def _messages(
    run: RunSummary, hashes: Sequence[str], limit: int
) -> tuple[dict[str, list[results_wire.MessageJson]], int]:
    """Return the messages by hash, and the number of rows whose messages are too large."""
    found: dict[str, list[results_wire.MessageJson]] = {}
    too_large: set[str] = set()
    with reading_answers(run.results.parent) as cache:
        for digest in dict.fromkeys(hashes) if cache is not None else ():
            messages = cache.messages(digest) if cache is not None else None
            if messages is None:
                continue
            size = len(json.dumps(messages, ensure_ascii=False))
            if size > limit:
                too_large.add(digest)
            else:
                limit -= size
                found[digest] = cast("list[results_wire.MessageJson]", messages)
    return found, sum(digest in too_large for digest in hashes)
