"""The baseline of `promptls check`: a file that lists known findings, by fingerprints."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from json import JSONDecodeError
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptls.text.errors import FilePlace, UsageError
from promptls.text.positions import line_column, line_end, line_starts

if TYPE_CHECKING:
    from promptls.lint.rule import Finding


VERSION: Final = 1


class BaselineEntry(NamedTuple):
    """A known finding. `path` is relative to the baseline's folder; `message` is informative."""

    path: str
    rule: str
    fingerprint: str
    message: str


class Baseline(NamedTuple):
    """A baseline and its absolute path."""

    path: Path
    entries: tuple[BaselineEntry, ...]


def read_baseline(path: Path) -> Baseline:
    """Return the baseline at `path`; raises UsageError if it is missing or invalid."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise UsageError(
            "there is no such baseline", FilePlace(path), "`--write-baseline` makes it of what is found now"
        ) from None
    except UnicodeDecodeError:
        raise UsageError("the baseline is not UTF-8", FilePlace(path), _REMEDY) from None
    try:
        read = json.loads(text)
    except JSONDecodeError as failure:
        place = FilePlace(path, failure.lineno - 1, failure.colno - 1)
        raise UsageError(f"the baseline is not JSON: {failure.msg}", place, _REMEDY) from None
    except RecursionError:
        raise UsageError("the baseline is nested too deeply", FilePlace(path), _REMEDY) from None
    version = read.get("version") if isinstance(read, dict) else None
    if version != VERSION:
        wrong = f"its version is {json.dumps(version)}, and this promptls reads version {VERSION}"
        raise UsageError(f"the baseline cannot be read: {wrong}", FilePlace(path), _REMEDY)
    entries = read.get("findings")
    if not isinstance(entries, list):
        raise UsageError("the baseline has no list `findings`", FilePlace(path), _REMEDY)
    return Baseline(path, tuple(_entry(path, number, entry) for number, entry in enumerate(entries)))


_REMEDY: Final = "remove the file, and create it again with `--write-baseline`"


def _entry(path: Path, number: int, entry: Any) -> BaselineEntry:
    wanted = BaselineEntry._fields
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in wanted):
        keys = ", ".join(f"`{key}`" for key in wanted)
        raise UsageError(f"entry {number + 1} of the baseline lacks one of {keys}", FilePlace(path), _REMEDY)
    return BaselineEntry(*(entry[key] for key in wanted))


_SUGGESTION: Final = re.compile(r"; did you mean .*", re.DOTALL)
_DIGEST_LENGTH: Final = 16


def fingerprints(text: str, findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return a unique fingerprint for each finding of one file: 16 hexadecimal digits.

    It is computed from the rule, the first line of the finding, the marked text and the message, ignoring
    what edits elsewhere may change: indentation, numbers in the message, and suggested names. Equal findings
    are distinguished by their order.
    """
    starts = line_starts(text)
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        start = starts[line_column(starts, finding.span.start).line]
        end = line_end(text, finding.span.start)
        what = (
            finding.rule,
            " ".join(text[start:end].split()),
            text[finding.span.start : min(finding.span.end, end)],
            re.sub(r"\d+", "#", _SUGGESTION.sub("", finding.message)),
        )
        same = "\0".join(what)
        found.append(_digest(f"{same}\0{seen[same]}"))
        seen[same] += 1
    return tuple(found)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
