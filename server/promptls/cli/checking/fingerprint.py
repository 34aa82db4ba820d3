"""Fingerprints that identify a finding even if lines above it change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from promptls.text.positions import line_end, line_starts, place_of

if TYPE_CHECKING:
    from promptls.lint.rule import Finding

_SUGGESTION: Final = re.compile(r"; did you mean .*", re.DOTALL)
_LENGTH: Final = 16


def fingerprints(text: str, findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return a fingerprint for each finding of one file, each different: 16 hexadecimal digits.

    It is made of the rule, the line that the finding begins in, the marked text and the message,
    without what may change with other places: how lines are indented, numbers in the message, and
    the name that it suggests. Of equal findings, the second and later ones are told apart by
    their order.
    """
    starts = line_starts(text)
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        start = starts[place_of(starts, finding.span.start).line]
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
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH]
