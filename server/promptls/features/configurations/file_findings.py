"""The findings of a file that was asked for by name: a prompt, or a configuration in Python."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.features.configurations.findings import findings_in_configuration
from promptls.meaning.kind import Kind
from promptls.rules.check import check
from promptls.rules.rule import Finding
from promptls.rules.suppression import silenced_by
from promptls.text.lines import line_starts, place_of
from promptls.workspace.beside import beside
from promptls.workspace.snapshot import Snapshot

_ENDING: Final = ".py"
_MARK: Final = "promptls:"


class FileFindings(NamedTuple):
    """What a file is, what is found in it, and what of that a comment in the file silences."""

    kind: Kind
    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]


def findings_of_file(snapshot: Snapshot, path: str) -> FileFindings:
    """What the rules find in the file at `path`; in one of Python, in the configuration that it may be."""
    if not path.endswith(_ENDING):
        return FileFindings(
            snapshot.kind(path), check(snapshot, path), check(snapshot, path, suppressed=True)
        )
    template = snapshot.template(path)
    text = template.source.text if template else ""
    found = findings_in_configuration(text, beside(path), snapshot.project(path).settings)
    if found is None or snapshot.project(path).excludes(path):
        return FileFindings(Kind.OTHER, (), ())
    silenced = silenced_by(_comments(text))
    starts = line_starts(text)
    hidden = [
        finding
        for finding in found
        if silenced.hides(finding.rule, place_of(starts, finding.span.start).line)
    ]
    shown = tuple(finding for finding in found if finding not in hidden)
    return FileFindings(Kind.EVALUATION, shown, tuple(hidden))


def found_in_file(snapshot: Snapshot, path: str) -> tuple[Finding, ...]:
    """The findings alone."""
    return findings_of_file(snapshot, path).findings


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """The comments of Python that speak of promptls, each with the line that it is about, from 0."""
    if _MARK not in text:
        return
    try:
        for token in tokenize.generate_tokens(io.StringIO(text.removeprefix("\ufeff"), newline="").readline):
            if token.type == tokenize.COMMENT and _MARK in token.string:
                line, column = token.start
                is_alone = not token.line[:column].strip()
                yield line if is_alone else line - 1, token.string
    except (tokenize.TokenError, SyntaxError):
        return
