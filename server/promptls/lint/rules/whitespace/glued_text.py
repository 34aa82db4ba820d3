"""Words and parts that a rendering glues together.

# glued-words

`-` that joins a word to a printed value or to another line.

Reports `{{-` after a word and a space on the same line, and `-}}` before a space and a word. An
expression with a text of its own, such as `{{- "s" if number > 1 }}`, may be meant to continue the word,
and is not reported.

In a block, it reports `-}}` at the end of a line, if the next line begins with a word or as a heading or list
item, and a tag such as `{%- endif -%}` between two lines of text, if all white space between them is
removed and the second begins with a word or as a heading or list item. If that happens only when the
block of an `if` or `for` prints nothing, or between two iterations of a loop, it is reported as well.

## Why is this bad?

The `-` removes the space or the line break: the model gets `most40 words`, or `Be brief.# Ticket`.

## Example

```yaml
- name: rules
  role: system
  content: |
    Use at most {{- limit }} words.
                ^^^ glued-words: this `-` removes the space: the value continues the word before it
```

Use instead:

```yaml
- name: rules
  role: system
  content: |
    Use at most {{ limit }} words.
```

# glued-part

Part joined to the previous text by white space control.

Renders the prompt, and reports a tag with `-%}` (or `-#}`) that trims the only line break before a part:
the part's `- name:` is then on the last line of the preceding text or, in a loop, of the previous
iteration. It is a warning if the preceding text is a value, which may be empty or end with a line break.
Also reports a loop that begins in the text of a part and ends after the next part, and an include of parts that is
joined to the include before it: Jinja drops the last line break of a file.

## Why is this bad?

The part is no longer a part. Its first line becomes text of the previous part, and its other keys
replace those of that part, usually without any error: a message is silently lost.

## Example

```yaml
- name: rules
  role: system
  content: Be brief.
{% for message in messages -%}
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ glued-part: this removes the line break before the next part: from the second iteration on, that part continues the previous line
- name: message
  role: user
  content: |
    {{ escape_special_characters(message) }}
{%- endfor %}
```

Use instead:

```yaml
- name: rules
  role: system
  content: Be brief.
{% for message in messages %}
- name: message
  role: user
  content: |
    {{ escape_special_characters(message) }}
{%- endfor %}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Severity, each_chunk, rule
from promptls.semantic.parts import Content, chunk_contents, tags_in
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.file_blocks import blocks_across
from promptls.syntax.jinja.nodes import Call, Constant, Name, Statement, walk
from promptls.syntax.jinja.problems import keyword_of, statement_of, tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span

_BEFORE: Final = re.compile(r"[^\W_][,;:.!?]?[ ]+$")
_AFTER: Final = re.compile(r"[ ]+[^\W_]")
_NEAR: Final = 80
"""How many characters around a tag are searched for a word."""
_SILENT: Final = frozenset({"if", "endif", "for", "endfor", "set"})
"""Tags that print nothing; the text before and after them is printed."""
_LINE_END: Final = re.compile(r"(?:[\w.,;:!?)]|={3}|-{3})\Z")
_LINE_START: Final = re.compile(
    r"#{1,6} |[-*] |\d{1,3}[.)] |={3}|[A-Z][a-z]|[A-Z]{2,}[ :]|(?![\u3040-\u30ff\u4e00-\u9fff])[^\W\d_]{4}"
)
"""The start of a line that does not continue the previous one, as the ending of a word may.

Chinese and Japanese have no spaces to lose.
"""


@rule(severity="warning", kinds=PARTS_KINDS)
@each_chunk
def glued_words(chunk: Chunk) -> Iterator[Finding]:
    """Yield the signs of output tags that remove the space between a value and a word."""
    for content in chunk_contents(chunk) if "{{-" in chunk.text or "-}}" in chunk.text else ():
        for tag in chunk.tags_at(content.value.span):
            if tag.kind != "output" or tag.unclosed or _has_text(tag):
                continue
            start, end = tag.span
            least = max(content.value.span.start, start - _NEAR)
            if tag.trims_before and _BEFORE.search(chunk.text[least:start]):
                sign = Span(start + 2, start + 3)
                yield _word_finding(Span(start, start + 3), sign, "continues the word before it")
            if tag.trims_after and _AFTER.match(chunk.text, end):
                yield _word_finding(
                    Span(end - 3, end), Span(end - 3, end - 2), "is continued by the next word"
                )
            if tag.trims_after and content.is_block and _is_continued(chunk, content, tag):
                yield _joined_word(tag, "the next line continues the value")
    for content in chunk_contents(chunk) if "-%}" in chunk.text else ():
        if content.is_block:
            yield from _joined_lines(chunk, content)


def _joined_lines(chunk: Chunk, content: Content) -> Iterator[Finding]:
    """Yield the tags that remove all white space between two lines of text."""
    end = content.value.span.end
    blocks = {chunk.tags[pair.closing].span: pair for pair in chunk_blocks(chunk).pairs}
    tags = [tag for tag in tags_in(chunk, content) if tag.span.end <= end]
    for index, tag in enumerate(tags):
        after = tags[index + 1].span.start if index + 1 < len(tags) else end
        following = chunk.text[tag.span.end : after]
        if not _is_silent(tag) or not tag.trims_after or "\n" not in following:
            continue
        if not _LINE_START.match(following.lstrip()):
            continue
        pair = blocks.get(tag.span)
        opening = chunk.tags[pair.opening] if pair is not None and not pair.middles else None
        if _continues(chunk, content, tag) or (opening and _continues(chunk, content, opening)):
            yield _joined_word(tag, "the next line continues the text before it")
    yield from _joined_iterations(chunk, content)


def _joined_iterations(chunk: Chunk, content: Content) -> Iterator[Finding]:
    """Yield the ends of loops that remove all white space between the lines of two iterations."""
    for pair in chunk_blocks(chunk).pairs:
        opening, closing = chunk.tags[pair.opening], chunk.tags[pair.closing]
        is_inside = content.value.span.start < opening.span.start < closing.span.end <= content.end
        is_trimmed = opening.trims_after and closing.trims_before and not pair.middles
        if pair.keyword != "for" or not is_inside or not is_trimmed or _continues(chunk, content, opening):
            continue
        text = chunk.text[opening.span.end : closing.span.start]
        first, last = text.lstrip(), text.rstrip()
        margins = (text[: len(text) - len(first)], text[len(last) :])
        if all("\n" in margin for margin in margins) and _ends_line(last) and _LINE_START.match(first):
            start = closing.span.start
            fix = Fix("Keep the line break", (Edit(Span(start + 2, start + 3), ""),), preferred=True)
            message = "this `-` removes the line break: the next iteration continues this line"
            yield Finding(Span(start, start + 3), message, (fix,))


def _ends_line(text: str) -> bool:
    """Return whether the text of an iteration ends like a line of its own and not with a separator."""
    if "loop.last" in text:
        return False
    return text.endswith("}}") or (bool(_LINE_END.search(text)) and not text.endswith(","))


def _joined_word(tag: Tag, how: str) -> Finding:
    sign = Span(tag.span.end - 3, tag.span.end - 2)
    fix = Fix("Keep the line break", (Edit(sign, ""),), preferred=True)
    return Finding(Span(sign.start, tag.span.end), f"this `-` removes the line break: {how}", (fix,))


def _is_continued(chunk: Chunk, content: Content, tag: Tag) -> bool:
    """Return whether a value is directly followed by the text of the next line, such as a heading or sentence."""
    following = chunk.text[tag.span.end : content.value.span.end]
    text = following.lstrip()
    return "\n" in following[: len(following) - len(text)] and bool(_LINE_START.match(text))


def _continues(chunk: Chunk, content: Content, tag: Tag) -> bool:
    """Return whether a tag removes a line break, and all other white space, after a line of text."""
    before = chunk.text[content.value.span.start : tag.span.start]
    text = before.rstrip()
    return tag.trims_before and "\n" in before[len(text) :] and bool(_LINE_END.search(text))


def _is_silent(tag: Tag) -> bool:
    statement = statement_of(tag)
    return statement is not None and statement.keyword in _SILENT and not _captures(statement)


def _captures(statement: Statement) -> bool:
    """Return whether a `set` binds the text up to its end, which is not printed."""
    return statement.keyword == "set" and statement.opens_block


def _has_text(tag: Tag) -> bool:
    return any(
        isinstance(node, Constant) and isinstance(node.value, str)
        for expression in tag_tree(tag).statement.expressions
        for node in walk(expression)
    )


def _word_finding(span: Span, sign: Span, how: str) -> Finding:
    fix = Fix("Keep the space", (Edit(sign, ""),), preferred=True)
    return Finding(span, f"this `-` removes the space: the value {how}", (fix,))


_HOW: Final = {
    "joined part": "it continues the previous line",
    "joined repetition": "from the second iteration on, that part continues the previous line",
}


_BETWEEN_PARTS: Final = frozenset(
    {"set", "if", "for", "with", "endif", "endfor", "endwith", "import", "from"}
)


@rule(severity="error", kinds=PARTS_KINDS, needs="rendering")
def glued_part(file: File) -> Iterator[Finding]:
    """Yield the tags that join the part after them to other text."""
    source = file.template.source
    found: dict[Span, Finding] = {}
    for each in file.rendering.white_space if file.rendering is not None else ():
        tag = _tag_before(file, each.start) if each.kind in _HOW and each.start else None
        if tag is not None and tag.tag.trims_after and keyword_of(tag.tag) != "macro":
            found[tag.span] = _part_finding(file, tag, _HOW[each.kind], "warning" if each.detail else "error")
    for placed in file.template.parts:
        start = source.line_span(source.line_column(placed.span.start).line).start
        tag = _tag_before(file, start) if start else None
        severity = _joined_part(file, tag, start) if tag is not None and tag.span not in found else None
        if tag is not None and severity is not None:
            found[tag.span] = _part_finding(file, tag, _HOW["joined part"], severity)
    yield from found.values()
    yield from _loops_over_parts(file)
    yield from _glued_includes(file)


_INCLUDE: Final = re.compile(r"\{%[-+]?\s*include\b")


def _glued_includes(file: File) -> Iterator[Finding]:
    """Yield the includes of parts that directly follow an include, whose last line break Jinja drops."""
    source = file.template.source
    for first, second in pairwise(file.template.references):
        before, tag = _tag_before(file, second.span.start), _tag_at(file, second.span.start)
        if before is None or tag is None or not before.span.covers(first.span.start):
            continue
        between = source.slice(Span(before.span.end, tag.start))
        if between.strip() or not all(_INCLUDE.match(source.slice(each)) for each in (before.span, tag)):
            continue
        signs = [Span(before.span.end - 3, before.span.end - 2)] if before.tag.trims_after else []
        signs += [Span(tag.start + 2, tag.start + 3)] if source.slice(tag).startswith("{%-") else []
        if "\n" in between and not signs:
            continue
        if not _meet(*(_text_of(file, file.snapshot.resolve(file.path, each)) for each in (first, second))):
            continue
        edits = tuple(Edit(sign, "") for sign in signs)
        fixes = (Fix("Keep the line break", edits, preferred=True),) if "\n" in between else ()
        message = "without a line break before it, the first part of this file continues the last line of the one before"
        yield Finding(tag, message, fixes)


def _tag_at(file: File, place: int) -> Span | None:
    located = file.template.source.located(place)
    tag = located.tag_at(place)
    return tag.span.shifted(located.start) if tag is not None else None


def _text_of(file: File, path: str | None) -> str:
    """Return the text of a file of parts, or an empty text."""
    template = file.snapshot.template(path) if path is not None else None
    return template.source.text if template is not None and template.parts else ""


def _meet(first: str, second: str) -> bool:
    """Return whether the first text ends in a line with the beginning of the second, which is a part."""
    return bool(first) and not first.removesuffix("\n").endswith("\n") and second.startswith("- ")


def _loops_over_parts(file: File) -> Iterator[Finding]:
    """Yield the loops that begin in the content of a part and end after the next one."""
    source = file.template.source
    for block in blocks_across(source.root):
        opening, closing = (source.located(tag.start) for tag in (block.tags[0], block.tags[-1]))
        place = block.tags[0].start - opening.start
        spans = [content.value.span for content in chunk_contents(opening.chunk)]
        is_in_text = any(span.start < place < span.end for span in spans)
        ends_later = block.is_closed and closing.start > opening.start
        if block.keyword == "for" and ends_later and is_in_text and chunk_contents(closing.chunk):
            message = (
                "this loop begins in the text of a part and ends after the next part: "
                "from the second iteration on, its text continues that part"
            )
            yield Finding(block.keywords[0], message)


class _PlacedTag(NamedTuple):
    """A tag, the one before it in its chunk, and the offset of the chunk."""

    tag: Tag
    before: Tag | None
    start: int

    @property
    def span(self) -> Span:
        """The span of the tag in the file."""
        return self.tag.span.shifted(self.start)


def _tag_before(file: File, start: int) -> _PlacedTag | None:
    """Return the last tag before a part."""
    located = file.template.source.located(start - 1)
    tags = [tag for tag in located.chunk.tags if tag.span.end <= start - located.start]
    return _PlacedTag(tags[-1], tags[-2] if len(tags) > 1 else None, located.start) if tags else None


def _set_names(file: File) -> frozenset[str]:
    """Return the names that the file binds to values that may end with a line break."""
    names = file.template.names
    return names.bound_names("set") | names.bound_names("with") | names.bound_names("parameter")


def _joined_part(file: File, placed: _PlacedTag, start: int) -> Severity | None:
    """Return the severity if a tag certainly trims all between a part and the text before the tag, or None.

    That needs no rendering, which may fail, or may not reach the part.
    """
    source, (tag, before, begin) = file.template.source, placed
    if not tag.trims_after or source.slice(Span(placed.span.end, start)).strip():
        return None
    if tag.kind == "output":
        line = source.line_span(source.line_column(placed.span.start).line).start
        on_line = source.slice(Span(line, placed.span.start))
        nodes = [node for each in tag_tree(tag).statement.expressions for node in walk(each)]
        set_names = _set_names(file)
        is_of_data = not any(
            isinstance(node, Call) or (isinstance(node, Name) and node.name in set_names) for node in nodes
        )
        return "warning" if on_line and "%}" not in on_line and is_of_data else None
    statement = statement_of(tag)
    prints_nothing = (
        statement is not None and statement.keyword in _BETWEEN_PARTS and not _captures(statement)
    )
    if not tag.trims_before or not (tag.kind == "comment" or prints_nothing):
        return None
    if source.slice(Span(begin + (before.span.end if before else 0), placed.span.start)).strip():
        return "error"
    return "warning" if before is not None and before.kind == "output" else None


def _part_finding(file: File, tag: _PlacedTag, how: str, severity: Severity) -> Finding:
    span = tag.span
    written = file.template.source.slice(span)[:-2]
    dashes = len(written) - len(written.rstrip("-"))  # a comment may end with several
    edit = Edit(Span(span.end - 2 - dashes, span.end - 2), "")
    fix = Fix("Keep the line break", (edit,), preferred=True)
    message = f"this removes the line break before the next part: {how}"
    return Finding(span, message, (fix,), severity=severity)
