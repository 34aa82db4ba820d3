"""White space that Prompt Poet strips from a content.

## What it does

Reports intentional white space at the beginning and at the end of a content: inside of the quotes of a
quoted value, after the last word of a block, or before the first word of a block with an indentation
indicator (`|2`). In `sections`, where only spaces and tabs are stripped from each section, a `<|space|>`
at the very beginning or end of the part is reported too, because it is lost there.

## Why is this bad?

The model gets the prompt without it: `Answer: ` arrives as `Answer:`, and two adjacent parts are joined
without a space. `<|space|>` becomes a space after the stripping.

## Example

```yaml
- name: question
  content: "Question: "
                     ^ stripped-whitespace: Prompt Poet strips this white space; `<|space|>` stays
- name: answer
  content: 42 is the answer.
```

Use instead:

```yaml
- name: question
  content: "Question:<|space|>"
- name: answer
  content: 42 is the answer.
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import PARTS_KINDS, Edit, Finding, Fix, Rule, each_chunk
from promptls.semantic.parts import Content, block_indent, chunk_contents, tags_in, written_at
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span

_MARKER: Final = "<|space|>"
_OTHER_SPACES: Final = "\\x1c-\\x1f\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
"""White space in Python other than ASCII, such as the no-break space, which `str.strip` also strips."""
_PLAIN: Final = re.compile(rf"[ \t{_OTHER_SPACES}]")
_IN_SECTION: Final = re.compile(r"[ \t]")
_ESCAPE_CODES: Final = (
    r"\\x(?:09|0[bBcC]|1[c-fC-F]|20|85|[aA]0)"
    r"|\\(?:u|U0000)(?:00(?:09|0[bBcC]|1[c-fC-F]|20|85|[aA]0)|1680|20(?:0\d|0[aA]|2[89fF]|5[fF])|3000)"
)
"""The escape codes of white space in double quotes, other than ASCII line breaks."""
_BREAK_CODES: Final = r"\\(?:x|u00|U000000)0[aAdD]"
_ESCAPED: Final = re.compile(rf"[ \t{_OTHER_SPACES}]|\\[ntrvf\t _NLP]|{_ESCAPE_CODES}|{_BREAK_CODES}")
"""White space in double quotes, literal or as an escape; `\\_` is a no-break space."""
_ESCAPED_IN_LINE: Final = re.compile(r"[ \t]|\\[t\t ]|\\(?:x|u00|U000000)(?:09|20)")
_ESCAPED_AT_EDGE: Final = re.compile(rf"[ \t{_OTHER_SPACES}]|\\[tvf\t _]|{_ESCAPE_CODES}")
_WIDTHS: Final = (10, 6, 4, 2, 1)
"""The possible lengths of white space in double quotes: an escape sequence, or a single character."""
_NOT_STRIPPED_BY_YAML: Final = re.compile(rf"[{_OTHER_SPACES}]*")
_LINE: Final = re.compile(r"[^\r\n]*")
_BREAKS: Final = frozenset("\r\n")
"""Line breaks, which YAML folds in quotes together with the white space around them."""


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the white space at the ends of the chunk's contents that is not sent to the model."""
    for content in chunk_contents(chunk):
        inside = _inside(chunk, content)
        if inside is not None:
            yield from _in_content(chunk, content, inside)


def _in_content(chunk: Chunk, content: Content, inside: Span) -> Iterator[Finding]:
    text = chunk.text[inside.start : inside.end]
    before = _leading(text, _stripped(content, at_start=True))
    after = _trailing(text, _stripped(content, at_start=False)) if before < len(text) else 0
    if content.is_block:
        before = _indentation(chunk, content, inside.start)
        after = 0 if _ends_with_line(content) else after
    elif content.value.style:
        before = 0 if text[before : before + 1] in _BREAKS else before
        after = 0 if text[: len(text) - after][-1:] in _BREAKS else after
    if before and before < len(text) and not _is_trimmed(chunk, Span(inside.start, inside.start + before)):
        yield _finding(chunk, content, Span(inside.start, inside.start + before), at_start=True)
    if after and not _is_trimmed(chunk, Span(inside.end - after, inside.end)):
        yield _finding(chunk, content, Span(inside.end - after, inside.end), at_start=False)
    yield from _lost_markers(chunk, content, inside)


def _inside(chunk: Chunk, content: Content) -> Span | None:
    """Return the span of a content's text: inside of the quotes, or the lines of a block up to the last word.

    In a plain value, YAML has already stripped spaces, but no other white space.
    """
    span = content.value.span
    if content.value.style in {"'", '"'}:
        start = written_at(chunk, content.value) + 1
        return Span(start, max(span.end - 1, start))
    if not content.is_block:
        after = _NOT_STRIPPED_BY_YAML.match(chunk.text, span.end)
        return None if after is None or span.is_empty() else Span(span.start, after.end())
    printing = [tag for tag in tags_in(chunk, content) if tag.kind in {"output", "raw"}]
    last = max([span.end, *(tag.span.end for tag in printing)])
    lines = [start for start in chunk.line_starts if span.start < start < last]
    first = next((start for start in lines if _is_printed(chunk, start, printing)), None)
    if first is None:
        return None
    end = next(start for start in reversed(lines) if _is_printed(chunk, start, printing))
    return Span(first, end + len(_line(chunk, end)))


def _is_trimmed(chunk: Chunk, span: Span) -> bool:
    """Return whether white space is never printed: a tag beside it trims it, or it is in an unfinished tag."""
    if any(tag.unclosed and tag.span.end == span.start for tag in chunk.tags):
        return True
    return chunk.text[span.start : span.end].isspace() and any(
        (tag.trims_after and tag.span.end == span.start) or (tag.trims_before and tag.span.start == span.end)
        for tag in chunk.tags
    )


def _line(chunk: Chunk, start: int) -> str:
    match = _LINE.match(chunk.text, start)
    return match.group() if match else ""


def _is_printed(chunk: Chunk, start: int, printing: list[Tag]) -> bool:
    """Return whether anything of a line can be printed: a word or a tag."""
    end = start + len(_line(chunk, start))
    if any(tag.span.start < end and tag.span.end > start for tag in printing):
        return True
    pieces = []
    position = start
    for tag in chunk.tags:
        if tag.span.start < end and tag.span.end > start:
            pieces.append(chunk.text[position : max(tag.span.start, position)])
            position = min(max(tag.span.end, position), end)
    return bool("".join([*pieces, chunk.text[position:end]]).strip())


def _stripped(content: Content, *, at_start: bool) -> re.Pattern[str]:
    """Return the pattern of what Prompt Poet strips at an end of a content; between sections, no line breaks."""
    in_quotes = content.value.style == '"'
    if content.section is None:
        return _ESCAPED if in_quotes else _PLAIN
    if _is_outermost(content, at_start=at_start):
        return _ESCAPED_AT_EDGE if in_quotes else _PLAIN
    return _ESCAPED_IN_LINE if in_quotes else _IN_SECTION


def _ends_with_line(content: Content) -> bool:
    """Return whether a block's last line break is preserved, and so the spaces before it."""
    return content.section is not None and content.section < content.sections - 1 and not content.is_chomped


def _leading(text: str, stripped: re.Pattern[str]) -> int:
    position = 0
    while match := stripped.match(text, position):
        position = match.end()
    return position


def _trailing(text: str, stripped: re.Pattern[str]) -> int:
    """Return the number of white space characters at the end of a text, not counting escaped backslashes."""
    position = len(text)
    while position:
        begins = (position - width for width in _WIDTHS if width <= position)
        begin = next((each for each in begins if _is_piece(text, each, position, stripped)), None)
        if begin is None:
            break
        position = begin
    return len(text) - position


def _is_piece(text: str, begin: int, end: int, stripped: re.Pattern[str]) -> bool:
    """Return whether a range is stripped white space and not part of an escape that begins earlier."""
    if not stripped.fullmatch(text, begin, end):
        return False
    before = begin
    while before and text[before - 1] == "\\":
        before -= 1
    return (begin - before) % 2 == 0


def _indentation(chunk: Chunk, content: Content, first: int) -> int:
    """Return the number of spaces before the first word of a block beyond the block's own indentation."""
    indent = block_indent(chunk, content)
    line = _line(chunk, first)
    spaces = _leading(line, _stripped(content, at_start=True))
    if indent is None or spaces <= indent:
        return 0
    return spaces


def _finding(chunk: Chunk, content: Content, span: Span, *, at_start: bool) -> Finding:
    if content.is_block and at_start:
        span = Span(span.start + (block_indent(chunk, content) or 0), span.end)
    written = chunk.text[span.start : span.end]
    if _is_outermost(content, at_start=at_start):
        place = "first" if at_start else "last"
        message = f"Prompt Poet strips this white space at the edge of the part's {place} section"
        return Finding(span, message)
    message = "Prompt Poet strips this white space"
    if written.strip(" "):
        return Finding(span, message)
    marked = Edit(span, _MARKER * len(written))
    return Finding(span, f"{message}; `{_MARKER}` stays", (Fix(f"Write `{_MARKER}`", (marked,)),))


def _is_outermost(content: Content, *, at_start: bool) -> bool:
    """Return whether an end of a content is the beginning or end of a part with sections."""
    return content.section is not None and content.section == (0 if at_start else content.sections - 1)


def _lost_markers(chunk: Chunk, content: Content, inside: Span) -> Iterator[Finding]:
    """Yield the space markers at the edges of a part with sections, which are stripped like spaces."""
    text = chunk.text[inside.start : inside.end]
    body = text.strip()
    offset = inside.start + (len(text) - len(text.lstrip()))
    message = f"Prompt Poet strips `{_MARKER}` here, at the edge of a part with `sections`"
    if _is_outermost(content, at_start=True) and body.startswith(_MARKER):
        yield Finding(Span(offset, offset + len(_MARKER)), message)
    if _is_outermost(content, at_start=False) and body.endswith(_MARKER) and len(body) > len(_MARKER):
        end = offset + len(body)
        yield Finding(Span(end - len(_MARKER), end), message)


RULE = Rule(check, severity="information", kinds=PARTS_KINDS)
