"""Findings that are suppressed by comments in the file.

`{# promptls: ignore[rule-name] reason #}` suppresses the named rules on its own line or, if it is alone on
its line, on the next one. A YAML comment, `# promptls: ignore[rule-name]`, has the same effect, also in the
header. `ignore-file` suppresses the rules in the whole file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from promptls.lint.rule import File, Finding
from promptls.semantic.header import OPENING as HEADER
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import placed_items
from promptls.syntax.source import Source
from promptls.syntax.yaml.error_recovery import yaml_comments
from promptls.text.positions import Span, line_column, line_end

_MARK: Final = "promptls:"
_YAML_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t]))#[^\r\n]*", re.MULTILINE)
_COMMENT: Final = re.compile(r"promptls:\s*ignore(-file)?\[([\w\-, ]+)\]")
LISTED_NAME: Final = re.compile(r"[^\s,]+")


class Suppressions(NamedTuple):
    """The rules that a file suppresses, by line and for the whole file."""

    lines: dict[int, frozenset[str]]
    everywhere: frozenset[str]

    def hides(self, rule: str, line: int) -> bool:
        """Return whether the rule's findings on that line are suppressed."""
        return rule in self.everywhere or rule in self.lines.get(line, ())

    def hides_anywhere(self, rule: str) -> bool:
        """Return whether the rule is suppressed anywhere."""
        return rule in self.everywhere or any(rule in names for names in self.lines.values())


class SuppressedName(NamedTuple):
    """A rule name in a suppression comment; `line` is the line it applies to, None for the whole file."""

    name: str
    span: Span
    line: int | None


def suppressions_of(source: Source) -> Suppressions:
    """Return the rules that the file suppresses."""
    return _collect((each.line, each.name) for each in suppressed_names(source))


def suppressions_in(comments: Iterable[tuple[int, str]]) -> Suppressions:
    """Return the rules that comments suppress; each comment is passed with the line it applies to."""
    matches = ((line, match) for line, text in comments if (match := _COMMENT.search(text)) is not None)
    return _collect(
        (None if match[1] else line, name)
        for line, match in matches
        for name in LISTED_NAME.findall(match[2])
    )


def _collect(names: Iterable[tuple[int | None, str]]) -> Suppressions:
    lines: dict[int | None, frozenset[str]] = {}
    for line, name in names:
        lines[line] = lines.get(line, frozenset()) | {name}
    everywhere = lines.pop(None, frozenset())
    return Suppressions({line: found for line, found in lines.items() if line is not None}, everywhere)


def suppressed_names(source: Source) -> list[SuppressedName]:
    """Return the rule names in the suppression comments of the file; spans are in the file."""
    return [
        SuppressedName(name, span, None if lines is None else source.line_column(comment.start).line + lines)
        for comment, lines, names in _comments(source.root)
        for name, span in names
    ]


class Suppression(NamedTuple):
    """A suppression comment, from `promptls:` to its end; spans are relative to the chunk's start.

    `lines` is the offset from the comment's line to the suppressed line. `whole` is the span of the whole
    comment.
    """

    span: Span
    text: str
    lines: int
    whole: Span


@chunk_fact
def chunk_suppressions(chunk: Chunk) -> tuple[Suppression, ...]:
    """Return the suppression comments of the chunk, in Jinja and in YAML, the header included."""
    return tuple(_suppressions(chunk)) if _MARK in chunk.text else ()


def _suppressions(chunk: Chunk) -> Iterator[Suppression]:
    for tag in chunk.tags:
        if tag.kind != "comment" or _MARK not in tag.text:
            continue
        if tag.text.startswith(HEADER):
            for match in _YAML_COMMENT.finditer(tag.text):
                if _MARK in match.group():
                    yield _suppression(chunk, Span(*match.span()).shifted(tag.span.start))
        else:
            yield _suppression(chunk, tag.span)
    for comment in yaml_comments(chunk):
        if _MARK in chunk.slice(comment):
            yield _suppression(chunk, comment)


def _suppression(chunk: Chunk, span: Span) -> Suppression:
    first = line_column(chunk.line_starts, span.start)
    last = line_column(chunk.line_starts, span.end)
    before = chunk.text[span.start - first.column : span.start]
    after = chunk.text[span.end : line_end(chunk.text, span.end)]
    is_alone = not before.strip() and not after.strip()
    start = chunk.text.index(_MARK, span.start)
    text = chunk.text[start : span.end]
    lines = last.line + 1 - first.line if is_alone else 0
    return Suppression(Span(start, span.end), text, lines, span)


_Names = tuple[tuple[str, Span], ...]
_Comment = tuple[Span, "int | None", _Names]


def _in_chunk(chunk: Chunk) -> list[_Comment]:
    """Return the span of each suppression comment, the offset to the suppressed line, and the rules."""
    found: list[_Comment] = []
    for each in chunk_suppressions(chunk):
        match = _COMMENT.match(each.text)
        if match:
            by = each.span.start
            names = LISTED_NAME.finditer(each.text, match.start(2), match.end(2))
            placed = tuple([(name.group(), Span(*name.span()).shifted(by)) for name in names])
            found.append((each.whole, None if match.group(1) else each.lines, placed))
    return found


def _shift(comment: _Comment, by: int) -> _Comment:
    whole, lines, names = comment
    return whole.shifted(by), lines, tuple([(name, span.shifted(by)) for name, span in names])


_comments: Final = placed_items(_in_chunk, _shift)


def shows_all(file: File, rule: str) -> bool:
    """Return whether all occurrences of a hint are shown: it is raised in severity, or suppressed somewhere."""
    return file.project.rules.get(rule, "hint") != "hint" or suppressions_of(
        file.template.source
    ).hides_anywhere(rule)


class RepeatedFinding(NamedTuple):
    """A finding about a `subject`, which represents the given number of `places`."""

    subject: Hashable
    finding: Finding
    places: int = 1


def first_of_each(file: File, rule: str, places: Iterable[RepeatedFinding]) -> Iterator[Finding]:
    """Yield the first finding about each subject, with the number of further places in its message.

    For hints about a recurring pattern, which would otherwise be shown all over the file.
    """
    if shows_all(file, rule):
        yield from (place.finding for place in places)
        return
    first: dict[Hashable, Finding] = {}
    others: Counter[Hashable] = Counter()
    for subject, finding, count in places:
        others[subject] += count if subject in first else count - 1
        first.setdefault(subject, finding)
    for subject, finding in first.items():
        if others[subject]:
            message = f"{finding.message}, and {others[subject]} more in this file"
            yield replace(finding, message=message)
        else:
            yield finding
