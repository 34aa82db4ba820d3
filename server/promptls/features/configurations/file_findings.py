"""The findings of a file that was asked for by name: a prompt, a configuration in Python, or a program."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.features.call_findings import findings_in_calls
from promptls.features.configurations.findings import findings_in_configuration
from promptls.meaning.kind import Kind
from promptls.rules.checking.check import check
from promptls.rules.facts.suppression import silenced_by
from promptls.rules.rule import Finding
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
    """What the rules find in the file at `path`.

    In one of Python, in the configuration that it may be, and in its calls that load templates.
    """
    if not path.endswith(_ENDING):
        return FileFindings(
            snapshot.kind(path), check(snapshot, path), check(snapshot, path, suppressed=True)
        )
    template = snapshot.template(path)
    text = template.source.text if template else ""
    configured = findings_in_configuration(text, beside(path), snapshot.project(path).settings)
    called = findings_in_calls(snapshot, path, text)
    if (configured is None and called is None) or snapshot.project(path).excludes(path):
        return FileFindings(Kind.OTHER, (), ())
    return _told(
        Kind.PROGRAM if configured is None else Kind.EVALUATION, text, (*(configured or ()), *(called or ()))
    )


def findings_of_program(snapshot: Snapshot, path: str, text: str) -> tuple[Finding, ...]:
    """What is wrong with the calls of a Python text that load templates, but for what it silences."""
    return _told(Kind.PROGRAM, text, findings_in_calls(snapshot, path, text) or ()).findings


def _told(kind: Kind, text: str, found: tuple[Finding, ...]) -> FileFindings:
    """Findings in a Python text without those that its comments silence."""
    silenced = silenced_by(_comments(text))
    starts = line_starts(text)
    hidden = [
        finding
        for finding in found
        if silenced.hides(finding.rule, place_of(starts, finding.span.start).line)
    ]
    shown = tuple(finding for finding in found if finding not in hidden)
    return FileFindings(kind, shown, tuple(hidden))


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
