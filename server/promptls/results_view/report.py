"""The results of runs as one HTML file, which needs no network and no server."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from promptls.experiments.history import RunSummary
from promptls.models.keys import KeyMask, key_mask
from promptls.results_view import wire
from promptls.results_view.packed_rows import MAX_CELLS, packed_pairs, packed_rows
from promptls.results_view.view import results_view
from promptls.text.errors import UserError

FOLDER: Final = Path(__file__).resolve().parent.parent / "pages"
"""What the build of the VS Code extension puts here, and wheels carry."""
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


def report_html(runs: Sequence[RunSummary], max_cells: int = MAX_CELLS) -> str:
    """Return the report of the runs: the first is the baseline, the last is shown.

    Rows are in it as far as `max_cells` characters reach; it says what is left out. Raises `UserError` where
    a table is gone or the page is not installed.
    """
    view = results_view(runs)
    tables, left_out = packed_rows(runs, max_cells)
    for run, words in zip(view["runs"], left_out, strict=True):
        run["leftOut"] = words
    pairs = [packed_pairs(runs[0], other) for other in runs[1:]]
    value: wire.Report = {"view": view, "tables": tables, "pairs": pairs}
    # What was written before a key was one must not leave in a file that is handed on.
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
            "this installation of promptls holds no page for reports",
            remedy="install it from a wheel; in a checkout, `make setup` builds them",
        ) from None


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
