"""Where a tag ends that begins at a place.

The rules are those of jinja2 3.1's lexer without extensions. A tag that is never closed
ends with its line, so that what follows keeps its meaning; a comment or raw block that is
never closed ends with its opening tag.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from promptls.syntax.jinja.statements import parse_tag
from promptls.syntax.jinja.tag import RAW_BEGIN, Tag
from promptls.syntax.jinja.verdict import jinja_objection
from promptls.text.lines import line_end
from promptls.text.span import Span

OPENING: Final = r"\{\{|\{%|\{#"
"""The pattern of what begins a tag."""
_NEXT_OR_LINE_END: Final = re.compile(OPENING + r"|[\r\n]")
_INSIDE: Final = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[-+]?%\}|-?\}\}|""" + OPENING + r"|[\[({\])}'\"]", re.DOTALL
)
_OPENINGS: Final = frozenset({"{{", "{%", "{#"})
_CLOSING: Final = re.compile(r"[-+]?%\}|-?\}\}")
_DELIMITER: Final = re.compile(r"\{\{|\{%|\{#|%\}|\}\}")
_COMMENT_END: Final = re.compile(r"[-+]?#\}")
_RAW_END: Final = re.compile(r"\{%([-+]?)\s*endraw\s*([-+]?)%\}")

UNSEEN: Final = 1 << 60
"""An offset behind every text."""


class _Close(NamedTuple):
    inner_end: int
    end: int
    delimiter: str


def read_tag(text: str, at: int, base: int, missing: set[re.Pattern[str]]) -> tuple[Tag, int]:
    """The tag whose opening delimiter stands at `at`, and how far the text was looked at to know its end.

    Its spans count from `base`. `missing` remembers, from one tag of the text to the next, which ends
    were looked for and stand nowhere further on.
    """
    opening = text[at : at + 2]
    if opening == "{#":
        return _comment(text, at, base, missing)
    if opening == "{%" and (raw := RAW_BEGIN.match(text, at)):
        return _raw(text, at, base, raw, missing)
    kind = "output" if opening == "{{" else "statement"
    close, seen = _close(text, at)
    if close is None:
        return _unclosed(text, at, base, kind), seen
    inner_end, end, closing = close
    right = "}}" if kind == "output" else "%}"
    return (
        Tag(
            kind,
            Span(at - base, end - base),
            text[at:end],
            _inner_start(text, at, inner_end),
            inner_end - at,
            trims_before=text[at + 2 : at + 3] == "-",
            trims_after=closing.startswith("-"),
            unclosed="" if closing.endswith(right) else right,
        ),
        seen,
    )


def _inner_start(text: str, at: int, inner_end: int) -> int:
    """Behind the delimiter and its sign; a `-` that is all there is belongs to the closing one."""
    return 3 if text[at + 2 : at + 3] in {"-", "+"} and at + 3 <= inner_end else 2


def _close(text: str, at: int) -> tuple[_Close | None, int]:
    """Where the tag closes, or None; and how far the text was looked at."""
    brackets: list[str] = []
    position = at + 2
    doubtful = False
    while match := _INSIDE.search(text, position):
        piece = match.group()
        position = match.end()
        if piece in _OPENINGS:
            return (_close_on_line(text, at) if doubtful else None), UNSEEN if doubtful else position
        if piece[0] in "'\"":
            doubtful = doubtful or len(piece) == 1 or bool(_DELIMITER.search(piece))
        elif piece in {"(", "[", "{"}:
            brackets.append(piece)
        elif piece in {")", "]", "}"}:
            if brackets:
                brackets.pop()
        elif brackets and brackets[-1] == "{" and piece.endswith("}}"):
            brackets.pop()
            position = match.end() - 1
        else:
            if doubtful and not _is_accepted(text[at : match.end()], match.start() - at):
                return _close_on_line(text, at), UNSEEN
            return _Close(match.start(), match.end(), piece), UNSEEN if doubtful else position
    return (_close_on_line(text, at) if doubtful else None), UNSEEN


def _is_accepted(tag: str, inner_end: int) -> bool:
    statement = parse_tag(tag, _inner_start(tag, 0, inner_end), inner_end).statement
    return not jinja_objection(tag, statement.keyword, opens_block=statement.opens_block)


def _close_on_line(text: str, at: int) -> _Close | None:
    """The first closing delimiter of the line, for a tag with a quote that pairs with a later one."""
    match = _CLOSING.search(text, at + 2, line_end(text, at))
    return _Close(match.start(), match.end(), match.group()) if match else None


def _unclosed(text: str, at: int, base: int, kind: str) -> Tag:
    following = _NEXT_OR_LINE_END.search(text, at + 2)
    end = following.start() if following else len(text)
    end = at + len(text[at:end].rstrip())
    end = max(end, at + 2)
    return Tag(
        kind,
        Span(at - base, end - base),
        text[at:end],
        _inner_start(text, at, end),
        end - at,
        trims_before=text[at + 2 : at + 3] == "-",
        unclosed="}}" if kind == "output" else "%}",
    )


def _search(
    pattern: re.Pattern[str], text: str, at: int, missing: set[re.Pattern[str]]
) -> re.Match[str] | None:
    """The next match; an end that was looked for in vain is not looked for again further on."""
    if pattern in missing:
        return None
    match = pattern.search(text, at)
    if match is None:
        missing.add(pattern)
    return match


def _comment(text: str, at: int, base: int, missing: set[re.Pattern[str]]) -> tuple[Tag, int]:
    match = _search(_COMMENT_END, text, at + 2, missing)
    trims_before = text[at + 2 : at + 3] == "-"
    if match is None:
        tag = Tag("comment", Span(at - base, at + 2 - base), text[at : at + 2], 2, 2, unclosed="#}")
        return tag, UNSEEN
    return (
        Tag(
            "comment",
            Span(at - base, match.end() - base),
            text[at : match.end()],
            _inner_start(text, at, match.start()),
            match.start() - at,
            trims_before=trims_before,
            trims_after=match.group().startswith("-"),
        ),
        match.end(),
    )


def _raw(
    text: str, at: int, base: int, begin: re.Match[str], missing: set[re.Pattern[str]]
) -> tuple[Tag, int]:
    match = _search(_RAW_END, text, begin.end(), missing)
    if match is None:
        tag = Tag(
            "raw",
            Span(at - base, begin.end() - base),
            begin.group(),
            2,
            begin.end() - at - 2,
            unclosed="{% endraw %}",
            body=Span(begin.end() - base, begin.end() - base),
        )
        return tag, UNSEEN
    body_start, body_end = begin.end(), match.start()
    if begin.group(1):
        body_start += len(text[body_start:body_end]) - len(text[body_start:body_end].lstrip())
    if match.group(1) == "-":
        body_end = body_start + len(text[body_start:body_end].rstrip())
    return (
        Tag(
            "raw",
            Span(at - base, match.end() - base),
            text[at : match.end()],
            2,
            begin.end() - at - 2,
            trims_before=begin.group()[2] == "-",
            trims_after=match.group(2) == "-",
            body=Span(body_start - base, max(body_end, body_start) - base),
        ),
        match.end(),
    )
