"""Find the Jinja tags of a text: where each begins and ends, and whether jinja2 accepts it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from jinja2 import Environment
from jinja2.exceptions import TemplateSyntaxError

from promptls.syntax.jinja.statements import parse_tag
from promptls.text.positions import NOWHERE, Span, leading_spaces, line_start

_ENVIRONMENT: Final = Environment(autoescape=False)  # noqa: S701  (prompts are not HTML)
_AROUND: Final = {
    "elif": ("{% if x %}", "{% endif %}"),
    "else": ("{% if x %}", "{% endif %}"),
}


@lru_cache(maxsize=8192)
def jinja_problem(tag: str, keyword: str, *, opens_block: bool) -> str:
    """Return jinja2's error message for the tag, or an empty string if it is valid."""
    before, suffix = _AROUND.get(keyword, ("", ""))
    if opens_block:
        suffix = f"{{% end{keyword} %}}"
    try:
        _ENVIRONMENT.parse(before + tag + suffix)
    except TemplateSyntaxError as error:
        return error.message or "not valid Jinja"
    except RecursionError:
        return "nested too deeply for Jinja"
    except ValueError as error:  # a number with more digits than Python reads
        return str(error)
    return ""


RAW_BEGIN: Final = re.compile(r"\{%[-+]?\s*raw\s*(-?)%\}")
_SIMPLE: Final = re.compile(r"[\w \t.,|=<>:~*/]+")
"""The inside of a tag in which nothing could open or close anything."""


class Tag(NamedTuple):
    """One Jinja tag: `{{ … }}`, `{% … %}`, `{# … #}`, or a whole raw block.

    `span` counts from the start of the scanned text; `inner_start` and `inner_end` bound
    the text between the delimiters, counted from the start of the tag. `body` is the
    literal text of a raw block, counted like `span`. `unclosed` is the missing delimiter.
    """

    kind: str
    span: Span
    text: str
    inner_start: int
    inner_end: int
    trims_before: bool = False
    trims_after: bool = False
    unclosed: str = ""
    body: Span = NOWHERE

    def shifted(self, by: int) -> Tag:
        """Return the same tag in a text that begins `by` characters earlier."""
        start, end = self.span
        return Tag(
            self.kind,
            Span(start + by, end + by),
            self.text,
            self.inner_start,
            self.inner_end,
            self.trims_before,
            self.trims_after,
            self.unclosed,
            self.body if self.body is NOWHERE else self.body.shifted(by),
        )


def tag_after_edit(tag: Tag, edited: Span, text: str) -> Tag | None:
    """Return the tag with a span of its inside replaced by `text`, or None if its end may change.

    If there are no quotes, brackets or signs inside, the first closing delimiter ends the tag, as before.
    The span counts as `tag.span` does.
    """
    begin, end = edited.start - tag.span.start, edited.end - tag.span.start
    if tag.unclosed or tag.kind not in {"output", "statement"}:
        return None
    if begin < tag.inner_start or end > tag.inner_end:
        return None
    whole = tag.text[:begin] + text + tag.text[end:]
    inner_end = tag.inner_end + len(whole) - len(tag.text)
    if not _SIMPLE.fullmatch(tag.text, tag.inner_start, tag.inner_end):
        return None
    if not _SIMPLE.fullmatch(whole, tag.inner_start, inner_end) or RAW_BEGIN.match(whole):
        return None
    return Tag(
        tag.kind,
        Span(tag.span.start, tag.span.start + len(whole)),
        whole,
        tag.inner_start,
        inner_end,
        tag.trims_before,
        tag.trims_after,
    )


OPENING: Final = r"\{\{|\{%|\{#"
"""A pattern for the opening delimiters of tags."""
_NEXT_OR_LINE_END: Final = re.compile(OPENING + r"|[\r\n]")
_INSIDE: Final = re.compile(r"[-+]?%\}|-?\}\}|" + OPENING + r"|[\[({\])}'\"]")
_STRING: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|['"]""", re.DOTALL)
_OPENINGS: Final = frozenset({"{{", "{%", "{#"})
_CLOSING_OR_LINE_END: Final = re.compile(r"[-+]?%\}|-?\}\}|[\r\n]")
_DELIMITER: Final = re.compile(r"\{\{|\{%|\{#|%\}|\}\}")
_COMMENT_END: Final = re.compile(r"[-+]?#\}")
_RAW_END: Final = re.compile(r"\{%([-+]?)\s*endraw\s*([-+]?)%\}")

MAX_OPENINGS: Final = 32
"""How many opening delimiters may appear in the quotes of a tag."""
_BEYOND: Final = re.compile(rf"(?:(?:(?!{OPENING}).)*(?:{OPENING})){{{MAX_OPENINGS}}}", re.DOTALL)
UNSEEN: Final = 1 << 60
"""An offset after the end of any text."""


class _Close(NamedTuple):
    inner_end: int
    end: int
    delimiter: str


def _read_tag(text: str, at: int, base: int, missing: set[re.Pattern[str]]) -> tuple[Tag, int]:
    """Return the tag that opens at `at`, and the offset up to which the text was read to find its end.

    Its spans count from `base`. `missing` caches across the tags of a text which closing delimiters were
    searched for and do not appear any more.
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
    """Return the offset after the delimiter and its sign; a lone `-` belongs to the closing delimiter."""
    return 3 if text[at + 2 : at + 3] in {"-", "+"} and at + 3 <= inner_end else 2


def _close(text: str, at: int) -> tuple[_Close | None, int]:
    """Return where the tag closes, or None; and the offset up to which the text was read."""
    brackets: list[str] = []
    position = at + 2
    suspicious = False
    limit: int | None = None
    while match := _INSIDE.search(text, position, len(text) if limit is None else limit):
        if match.group() in "'\"":
            if limit is None:
                beyond = _BEYOND.match(text, at + 2)
                limit = len(text) if beyond is None else beyond.end()
            match = _STRING.match(text, match.start(), limit)
            assert match is not None
        piece = match.group()
        position = match.end()
        if piece in _OPENINGS:
            return (
                _close_on_line(text, at, limit) if suspicious else None
            ), UNSEEN if suspicious else position
        if piece[0] in "'\"":
            suspicious = suspicious or len(piece) == 1 or bool(_DELIMITER.search(piece))
        elif piece in {"(", "[", "{"}:
            brackets.append(piece)
        elif piece in {")", "]", "}"}:
            if brackets:
                brackets.pop()
        elif brackets and brackets[-1] == "{" and piece.endswith("}}"):
            brackets.pop()
            position = match.end() - 1
        else:
            if suspicious and not _is_accepted(text[at : match.end()], match.start() - at):
                return _close_on_line(text, at, limit), UNSEEN
            return _Close(match.start(), match.end(), piece), UNSEEN if suspicious else position
    return (_close_on_line(text, at, limit) if suspicious else None), UNSEEN


def _is_accepted(tag: str, inner_end: int) -> bool:
    statement = parse_tag(tag, _inner_start(tag, 0, inner_end), inner_end).statement
    return not jinja_problem(tag, statement.keyword, opens_block=statement.opens_block)


def _close_on_line(text: str, at: int, limit: int | None) -> _Close | None:
    """Return the first closing delimiter of the line, for a tag with a quote that pairs with a later one."""
    match = _CLOSING_OR_LINE_END.search(text, at + 2, len(text) if limit is None else limit)
    if match is None or match.group() in "\r\n":
        return None
    return _Close(match.start(), match.end(), match.group())


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
    """Return the next match; a pattern that was not found is not searched again further on."""
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


_NEXT: Final = re.compile(OPENING)
_ITEM: Final = re.compile(r"\n-(?=[ \t\r\n]|\Z)")
_ITEM_BEHIND_ANY_LINE_END: Final = re.compile(r"[\n\r]-(?=[ \t\r\n]|\Z)")


class Scan(NamedTuple):
    """The tags up to `end`, and the offset up to which the text was read to find them.

    `seen` is greater than `end` if a tag is not closed: text up to `seen` could still close it. It is
    `UNSEEN` if the whole text was read, and more text could matter.
    """

    tags: tuple[Tag, ...]
    end: int
    seen: int


def items_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern for a line break followed by a list item, the fastest that the text allows."""
    return _ITEM_BEHIND_ANY_LINE_END if "\r" in text else _ITEM


def scan(text: str, start: int, *, next_start: Callable[[int], int], missing: set[re.Pattern[str]]) -> Scan:
    """Return the tags of `text` from `start` on, their spans counted from `start`.

    The scan ends at the first offset outside of all tags that `next_start` returns for a preceding offset.
    `missing` caches across scans of a text which closing delimiters were searched for and do not appear any
    more.
    """
    tags: list[Tag] = []
    position = start
    seen = 0
    end = start
    while True:
        if end <= position and end < len(text):
            end = next_start(max(position - 1, start))
        match = _NEXT.search(text, position, end)
        if match is None:
            return Scan(tuple(tags), end, seen)
        tag, tag_seen = _read_tag(text, match.start(), start, missing)
        seen = max(seen, tag_seen)
        tags.append(tag)
        position = start + tag.span.end
        if tag.kind == "raw" and tag.unclosed:
            position = _raw_until(text, match.start(), position)


def _raw_until(text: str, at: int, after: int) -> int:
    """Return where the intended content of an unclosed raw block probably ends.

    It is the text that is indented at least as much as the tag's line; tags in it are ignored.
    """
    lead = text[line_start(text, at) : at]
    indent = leading_spaces(lead)
    if not indent:
        following = _ITEM_BEHIND_ANY_LINE_END.search(text, after)
        return following.start() if following else len(text)
    maximum = indent if lead.strip() else indent - 1
    lesser = re.compile(rf"[\r\n](?=[ ]{{0,{maximum}}}[^ \r\n])").search(text, after)
    return lesser.start() if lesser else len(text)
