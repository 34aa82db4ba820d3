"""Markup in a text that is not closed, and JSON that is not valid.

## What it does

Reports in the contents of a prompt

- a closing tag such as `</contxt>` that no tag opens, if a similar one is not closed, and a tag that is opened
  twice where the second one should close it; if the tags of the text are otherwise closed, one that is not is a hint;
- a code fence that nothing closes, unless it is the last line, where the model continues it; if any of several
  fences may lack its end, it is a hint at the last one;
- an object in JSON with a comma too many or too few, and one on a single line with an odd number of quotes.

Tags in another part of the file count; so does a fence in a branch. A tag of a single part that a text only
mentions is not reported, nor are `<START_OF_USER>` and `<END_OF_USER>`, or a place to fill in such as `"<name>"`.

## Why is this bad?

The model cannot tell where the passage ends, and answers in the format that it is shown.

## Example

```yaml
- name: task
  content: |
    <context>
    {{ escape_special_characters(context) }}
    </contxt>
    ^^^^^^^^^ broken-markup: `</contxt>` closes nothing, and `<context>` is not closed; did you mean `</context>`?
    Answer in JSON: {"answer": "yes"}
```

Use instead:

```yaml
- name: task
  content: |
    <context>
    {{ escape_special_characters(context) }}
    </context>
    Answer in JSON: {"answer": "yes"}
```
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule, each_chunk
from promptls.semantic.parts import Content, chunk_branches, chunk_contents
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary
from promptls.text.errors import trailing_comma
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo

_TAG: Final = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z][\w-]{2,40})>")
_CUT: Final = re.compile(r"</(?P<name>[A-Za-z][\w-]{2,40})[ ]*$", re.MULTILINE)
"""A closing tag without its last sign."""
_QUOTED: Final = re.compile(r'\{[ ]*"\w+"?[ ]*:[^{}\n]*\}')
"""An object on one line, with no other in it."""
_CODE: Final = re.compile(r"`[^`\n]*`")
_FENCE: Final = re.compile(r"^[ \t]*(?P<mark>```+|~~~+)[ \t]*(?P<language>[\w+-]*)[ \t]*$", re.MULTILINE)
_OBJECT: Final = re.compile(r'\{\s*"')
_PAIR: Final = 2
_SEPARATORS: Final = frozenset(
    {"break", "newline", "pagebreak", "sep", "separator", "image", "eos", "bos", "pad", "mask", "blank"}
)
"""Tags that other programs use without a closing one."""
_BOUNDARY: Final = re.compile(r"(?:start|begin|end|stop)[_-]", re.IGNORECASE)
"""The beginning of a name that tells itself which end it is, as in `<START_OF_USER>` and `<END_OF_USER>`."""
_ENCLOSING: Final = frozenset({'""', "''", "[]", "()", "{}"})
_ASSIGNED: Final = re.compile(r"(?:[=(]|\breturn)\s*\Z")
"""Code in front of an object of a programming language, which may allow what JSON does not."""
_MAX_OBJECT: Final = 4000
"""How many characters an object in JSON has at most to be read."""
_MAX_OBJECTS: Final = 50
_MAX_LINE: Final = 300
"""How many characters an object has at most whose quotes are counted."""


class _Mark(NamedTuple):
    """A tag in a text: whether it closes, whether it is alone on its line, and which content it is in."""

    name: str
    span: Span
    closes: bool
    is_alone: bool
    content: int
    is_last: bool


@chunk_fact
def _marks(chunk: Chunk) -> tuple[_Mark, ...]:
    """Return the tags in the contents of a chunk, without those in inline code."""
    if "<" not in chunk.text:
        return ()
    found = []
    for content in chunk_contents(chunk):
        text = _CODE.sub(lambda match: " " * len(match[0]), _plain(chunk, content))
        start = content.value.span.start
        for match in _TAG.finditer(text):
            if _BOUNDARY.match(match["name"]) or _is_enclosed(text, match):
                continue
            before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
            after = text[match.end() :].partition("\n")[0]
            found.append(
                _Mark(
                    match["name"],
                    Span(*match.span()).shifted(start),
                    bool(match["slash"]),
                    not before.strip() and not after.strip(),
                    start,
                    not text[match.end() :].strip(),
                )
            )
    return tuple(found)


def _is_enclosed(text: str, tag: re.Match[str]) -> bool:
    """Return whether a tag stands alone between quotes or brackets, as a place to fill in does."""
    around = text[max(tag.start() - 1, 0) : tag.start()] + text[tag.end() : tag.end() + 1]
    return around in _ENCLOSING


_has_marks: Final = summary(lambda chunk: bool(_marks(chunk)), any)


def _plain(chunk: Chunk, content: Content) -> str:
    """Return the text of a content with a digit in place of each character of a value, and no other tags."""
    start, end = content.value.span
    pieces, at = [], start
    for tag in chunk.tags_at(content.value.span):
        begin, stop = max(tag.span.start, at), min(tag.span.end, end)
        filler = "1" if tag.kind == "output" else " "
        pieces += [
            chunk.text[at:begin],
            "".join("\n" if each == "\n" else filler for each in chunk.text[begin:stop]),
        ]
        at = max(at, stop)
    return "".join([*pieces, chunk.text[at:end]])


def check(file: File) -> Iterator[Finding]:
    """Yield the tags, fences and objects that are not closed or not valid."""
    yield from _in_chunk(file)
    yield from _cut_tags(file)
    if not _has_marks(file.chunks):
        return
    marks = [
        mark._replace(span=mark.span.shifted(located.start), content=mark.content + located.start)
        for located in file.chunks.where(_has_marks)
        for mark in _marks(located.chunk)
    ]
    yield from _unmatched(file, marks)


@each_chunk
def _cut_tags(chunk: Chunk) -> Iterator[Finding]:
    """Yield the closing tags at the end of a line that lack their `>`."""
    for content in chunk_contents(chunk) if "</" in chunk.text else ():
        text = _plain(chunk, content)
        for match in _CUT.finditer(text):
            if f"<{match['name']}>" in text[: match.start()]:
                span = Span(match.start(), match.end("name")).shifted(content.value.span.start)
                yield Finding.suggest(span, "this tag is not closed", f"</{match['name']}>")


def _unmatched(file: File, marks: list[_Mark]) -> Iterator[Finding]:
    """Yield the tags that close nothing, or that nothing closes, as far as that is certain."""
    text = file.template.source.text
    opened = Counter(mark.name for mark in marks if not mark.closes)
    closed = Counter(mark.name for mark in marks if mark.closes)
    unclosed = [
        mark for mark in marks if not mark.closes and re.search(rf"</{mark.name}(?![\w-])", text) is None
    ]
    unopened = [mark for mark in marks if mark.closes and not re.search(rf"<{mark.name}[\s>]", text)]
    known: set[Span] = set()
    for mark in unopened:
        similar = {
            each.name
            for each in unclosed
            if each.span < mark.span and (is_close(each.name, mark.name) or is_typo(each.name, mark.name))
        }
        if len(similar) == 1:
            (other,) = similar
            opening = [each for each in unclosed if each.name == other]
            known |= {mark.span, *(each.span for each in opening)}
            is_other = len(opening) == 1 and _words(text, mark.name) > _words(text, other)
            wrong = opening[0] if is_other else mark
            meant = f"<{mark.name}>" if is_other else f"</{other}>"
            message = f"`</{mark.name}>` closes nothing, and `<{other}>` is not closed"
            yield Finding.suggest(wrong.span, message, meant)
    for first in unclosed:
        pair = [each for each in unclosed if each.name == first.name]
        if pair[0] != first or len(pair) != _PAIR or pair[0].content != pair[1].content:
            continue
        between = text[first.span.end : pair[1].span.start]
        is_inside = "\n" not in between and bool(between) and between == between.strip()
        is_around = pair[0].is_alone and pair[1].is_alone and bool(between.strip())
        if first.name.lower() not in _SEPARATORS and (is_inside or is_around):
            known |= {each.span for each in pair}
            message = f"`<{first.name}>` is opened twice and never closed"
            yield Finding.suggest(pair[1].span, message, f"</{first.name}>")
    if file.template.references or file.snapshot.includers(file.path):
        return
    whole = {name for name in opened if opened[name] == closed[name]}
    contents = {mark.content for mark in marks if mark.name in whole and mark.is_alone}
    for mark in (*unclosed, *unopened):
        if mark.span in known or not mark.is_alone or mark.is_last or mark.content not in contents:
            continue
        if opened[mark.name] + closed[mark.name] == 1:
            message = f"nothing {'opens' if mark.closes else 'closes'} this tag"
            yield Finding(mark.span, message, severity="hint")


def _words(text: str, word: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(word)}(?!\w)", text))


@each_chunk
def _in_chunk(chunk: Chunk) -> Iterator[Finding]:
    """Yield the fences and objects of the contents of a chunk."""
    if "```" not in chunk.text and "~~~" not in chunk.text and '"' not in chunk.text:
        return
    for content in chunk_contents(chunk):
        text = _plain(chunk, content)
        fences = [*_FENCE.finditer(text)] if content.is_block else []
        start = content.value.span.start
        branching = [
            tag.span.start - start for tag in chunk.tags_at(content.value.span) if tag.kind == "statement"
        ]
        for finding in (*_open_fence(chunk, content, text, fences), *_objects(text, fences, branching)):
            yield finding.shifted(start)


def _open_fence(chunk: Chunk, content: Content, text: str, fences: list[re.Match[str]]) -> Iterator[Finding]:
    """Yield the fence of a content that nothing closes."""
    start = content.value.span.start
    branches = chunk_branches(chunk)
    around = branches.at(content.key.start)
    if len(fences) % 2 == 0 or any(branches.at(start + each.start()) != around for each in fences):
        return
    if any(tag.keyword == "include" for tag in _statements(chunk, content)):
        return
    opening: re.Match[str] | None = None
    for fence in fences:
        if opening is None:
            opening = fence
        elif fence["language"]:
            break  # a closing fence names no language
        else:
            opening = None
    if opening is None or not text[opening.end() :].strip():
        return
    if opening["language"] or len(fences) == 1:
        yield Finding(Span(*opening.span("mark")), "nothing closes this code fence")
    else:  # any of the fences may be the one that lacks its end
        message = f"one of the {len(fences)} code fences up to here has no other end"
        yield Finding(Span(*opening.span("mark")), message, severity="hint")


class _Statement(NamedTuple):
    keyword: str


def _statements(chunk: Chunk, content: Content) -> Iterator[_Statement]:
    for tag in chunk.tags_at(content.value.span):
        if tag.kind == "statement":
            words = tag.text[tag.inner_start : tag.inner_end].split()
            yield _Statement(words[0] if words else "")


def _objects(text: str, fences: list[re.Match[str]], branching: list[int]) -> Iterator[Finding]:
    """Yield the commas that are missing or too many in objects that are JSON otherwise.

    Objects with a tag at one of the places `branching` may be printed in several forms; others are code.
    """
    code = [
        Span(first.end(), second.start())
        for first, second in zip(fences[::2], fences[1::2], strict=False)
        if first["language"].lower() not in {"", "json"}
    ]
    yield from _unquoted(text, code)
    position = 0
    for _ in range(_MAX_OBJECTS):
        found = _OBJECT.search(text, position)
        if found is None:
            return
        start = found.start()
        end = _object_end(text, start)
        position = end or found.end()
        if end is None or any(span.start <= start < span.end for span in code):
            continue
        if any(start < place < end for place in branching) or _ASSIGNED.search(
            text, max(start - 20, 0), start
        ):
            continue
        finding = _invalid(text[start:end])
        if finding is not None:
            yield finding.shifted(start)


def _unquoted(text: str, code: list[Span]) -> Iterator[Finding]:
    """Yield the objects on one line that lack a double quote, at the key or value with an end and no beginning."""
    for match in _QUOTED.finditer(text):
        is_plain = "\\" not in match[0] and match.end() - match.start() <= _MAX_LINE
        if (
            is_plain
            and match[0].count('"') % 2
            and not any(span.start <= match.start() < span.end for span in code)
        ):
            yield Finding(Span(*match.span()), "a double quote is missing in this object, or one is too many")


def _object_end(text: str, start: int) -> int | None:
    """Return where the braces of an object are closed, outside of its texts."""
    depth, is_text, at = 0, False, start
    while at < min(len(text), start + _MAX_OBJECT):
        character = text[at]
        if character == "\\":
            at += 1
        elif character == '"':
            is_text = not is_text
        elif not is_text and character in "{[":
            depth += 1
        elif not is_text and character in "}]":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return None


def _invalid(text: str) -> Finding | None:
    """Return the comma that makes a text valid JSON if it is removed or added."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        comma = trailing_comma(error)
        if comma is not None and _is_json(text[:comma] + text[comma + 1 :]):
            fix = Fix("Remove the comma", (Edit(Span(comma, comma + 1), ""),))
            return Finding(Span(comma, comma + 1), "JSON allows no comma after the last entry", (fix,))
        end = len(text[: error.pos].rstrip())
        if error.msg.startswith("Expecting ',' delimiter") and _is_json(f"{text[:end]},{text[end:]}"):
            fix = Fix("Add a comma", (Edit(Span(end, end), ","),))
            return Finding(Span(end - 1, end), "a comma is missing after this entry", (fix,))
    except (ValueError, RecursionError):
        return None
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


RULE = Rule(check, severity="warning", kinds=PARTS_KINDS)
