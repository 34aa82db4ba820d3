"""Lines that YAML takes for something else than they are meant for.

# swallowed-key

Key of a part at the end of its content.

Reports a `role` or `truncation_priority` in the last lines of a content that begins with `|` or `>`, or a
`truncation_priority` in its first line, if the part does not have that key. A role must be a known one, and must not follow another line such as `name: Ada`.
If the part has another role, it is a hint.

## Why is this bad?

A line that is indented more than `content` belongs to its text. The model receives the line, and the part
has the default role or is never truncated.

## Example

```yaml
- name: question
  content: |
    {{ escape_special_characters(question) }}
    role: system
    ^^^^^^^^^^^^ swallowed-key: this line is text of the content; indent it like `content` to make it a key of the part
```

Use instead:

```yaml
- name: question
  content: |
    {{ escape_special_characters(question) }}
  role: system
```

# swallowed-part

Part in the text of the content above it.

Reports the lines of a part, with its dash, a `name`, a known `role` and a `content` that begins with `|` or prints
a value, at the end of a content that begins with `|` or `>`. It is a hint if nothing in these lines prints a value:
then they may be an example for the model.

## Why is this bad?

A line that is indented more than `content` belongs to its text. The part is not there: the model receives its
lines, with the keys, in the message before it.

## Example

```yaml
- name: instructions
  role: system
  content: |
    Answer in one sentence.
    - name: question
    ^^^^^^^^^^^^^^^^ swallowed-part: this part is text of the content above; its dash must be below that of the part above
      role: user
      content: |
        {{ question | string | indent(8) }}
```

Use instead:

```yaml
- name: instructions
  role: system
  content: |
    Answer in one sentence.
- name: question
  role: user
  content: |
    {{ question | string | indent(4) }}
```

# swallowed-text

Text after `#` that YAML reads as a comment.

Reports ` #` in an unquoted content on the line of its key, and in the `instruction` of a prompt object.
It is a warning if the text is unlikely to be a comment: a value is printed after the `#`, or a number or
a single word follows it directly (`ticket #12`, `#hashtag`). Anything else, such as
`content: Hello. # a note`, may be intended as a comment, and is a hint.

Also reports a content on the lines below its key, without `|`, in which lines begin with `#`. It is a hint if
all of them are in front of the text.

Also reports a Jinja comment that contains the start of another comment: it was not closed; and a `&word` at
the beginning of an unquoted content if no `*word` refers to it, as a hint.

## Why is this bad?

YAML ends a plain value at a space that is followed by a `#`. The rest of the line silently never reaches
the model.

## Example

```yaml
- name: ticket
  content: Summarize ticket #{{ number | int }} in one sentence.
                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ swallowed-text: YAML reads this as a comment: it does not reach the model
```

Use instead:

```yaml
- name: ticket
  content: "Summarize ticket #{{ number | int }} in one sentence."
```
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from promptls.dialects.prompt_poet.vocabulary import ROLES
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Severity, each_chunk, rule
from promptls.semantic.kind import Kind
from promptls.semantic.parts import Part, chunk_contents, chunk_items, column_of, value_end
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in
from promptls.syntax.yaml.error_recovery import yaml_comments
from promptls.syntax.yaml.nodes import Entry, Mapping, Scalar, key_text, scalar_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span, line_start

_KEY: Final = re.compile(rf"(?P<key>role(?=:[ ]+(?:{'|'.join(ROLES)})$)|truncation_priority(?=:[ ]+\d+$)):")
_PRIORITY: Final = re.compile(r"[|>][-+]?[ ]*\n(?P<line>[ ]+(?P<key>truncation_priority:[ ]+\d+)[ ]*\n)")
_FIELD: Final = re.compile(r"[\w-]+:")


@rule(severity="warning", kinds=PARTS_KINDS)
@each_chunk
def swallowed_key(chunk: Chunk) -> Iterator[Finding]:
    """Yield the first of the swallowed keys of each part."""
    message = "this line is text of the content; indent it like `content` to make it a key of the part"
    for part, content in _blocks(chunk):
        first = _PRIORITY.match(chunk.text, content.value.span.start, content.value.span.end)
        if first is not None and part.entry("truncation_priority") is None:
            indent = " " * column_of(chunk, content.key.span.start)
            up = Edit.insert(content.key.span.start, f"{first['key']}\n{indent}")
            fix = Fix("Move it up", (up, Edit(Span(*first.span("line")), "")))
            yield Finding(Span(*first.span("key")), message, (fix,))
            continue
        lines = _last_lines(chunk, part, content.value.span)
        if lines:
            indent = " " * column_of(chunk, content.key.span.start)
            edits = [Edit(Span(line_start(chunk.text, line.start), line.start), indent) for line in lines]
            yield Finding(lines[-1], message, (Fix("Indent like `content`", tuple(edits)),))
        elif (again := _second_role(chunk, part, content.value.span)) is not None:
            yield Finding(again, "this line is text of the content, and the part has a role", severity="hint")


def _blocks(chunk: Chunk) -> Iterator[tuple[Part, Entry]]:
    """Yield the parts whose content begins with `|` or `>`, each with the entry of its content."""
    for part in chunk_items(chunk).parts:
        content = part.entry("content")
        if content is not None and isinstance(content.value, Scalar) and content.value.style in {"|", ">"}:
            yield part, content


def _last_lines(chunk: Chunk, part: Part, content: Span) -> list[Span]:
    """Return the lines at the end of a content that are keys which the part lacks, the last line first."""
    keys = {key_text(entry) for entry in part.entries}
    first, *lines = chunk.slice(content).rstrip().splitlines(keepends=True)
    end = content.start + len(first) + sum(map(len, lines))
    found: list[Span] = []
    while len(lines) > 1:
        line = lines.pop()
        start = end - len(line.lstrip())
        match = _KEY.match(line.strip())
        if match is None or match["key"] in keys:
            break
        if match["key"] == "role" and _FIELD.match(lines[-1].lstrip()):
            break
        keys.add(match["key"])
        found.append(Span(start, start + len(line.strip())))
        end -= len(line)
    return found


def _second_role(chunk: Chunk, part: Part, content: Span) -> Span | None:
    """Return the role at the end of a content of a part that has another role."""
    *before, last = chunk.slice(content).rstrip().splitlines()
    match = _KEY.match(last.strip())
    if match is None or match["key"] != "role" or len(before) <= 1 or _FIELD.match(before[-1].lstrip()):
        return None
    role = scalar_text(part.value("role"))
    if role is None or last.strip().endswith(f" {role}"):
        return None
    end = content.start + len(chunk.slice(content).rstrip())
    return Span(end - len(last.strip()), end)


_PART: Final = re.compile(
    r"^(?P<indent>[ ]+)-[ ]+name:[ ]+\S[^\n]*\n"
    r"(?:(?P=indent)[ ]+truncation_priority:[^\n]*\n)?"
    rf"(?P=indent)[ ]+role:[ ]+(?:{'|'.join(ROLES)})[ ]*\n"
    r"(?:(?P=indent)[ ]+truncation_priority:[^\n]*\n)?"
    r"(?P=indent)[ ]+content:[ ]+(?:[|>][-+]?[ ]*\n|[^\n]*\{\{)",
    re.MULTILINE,
)
"""The beginning of a part up to its content."""


@rule(severity="warning", kinds=PARTS_KINDS)
@each_chunk
def swallowed_part(chunk: Chunk) -> Iterator[Finding]:
    """Yield the parts at the end of a block that are its text."""
    for _, content in _blocks(chunk):
        end = value_end(chunk, content)
        found = _PART.search(chunk.text, content.value.span.start, end)
        if found is None:
            continue
        start = found.end("indent")
        lines = chunk.text[found.start() : end].splitlines(keepends=True)
        if any(line.strip() and not line.startswith(found["indent"]) for line in lines):
            continue
        surplus = len(found["indent"]) - column_of(chunk, content.key.span.start) + len("- ")
        edits, at = [], found.start()
        for line in lines:
            edits += [Edit(Span(at, at + surplus), "")] if line.strip() else []
            at += len(line)
        is_filled = any(tag.kind == "output" for tag in chunk.tags_at(Span(start, at)))
        yield Finding(
            Span(start, start + len(lines[0].strip())),
            "this part is text of the content above; its dash must be below that of the part above",
            (Fix("Make it a part", tuple(edits)),) if surplus > 0 else (),
            severity=None if is_filled else "hint",
        )


_WORDS: Final = re.compile(r"#(?:\d|[^\W\d]\S*$)")
"""A number or single word directly after the `#`, as in a ticket number or hashtag."""
_COMMENTED_FIELD: Final = re.compile(r"#\S*\{\w+\}")
"""An input of a prompt object in the word that begins with the `#`."""
_OWN: Final = re.compile(r"#\s*promptls:")
_ANCHOR: Final = re.compile(r"&([A-Za-z]\w*)(?=[ \t])")
_OPENING: Final = re.compile(r"(?P<colon>:)[ \t]*\n")
"""The end of the line of a key whose value is below it."""
_LINE: Final = re.compile(r"^[ ]+(?P<text>\S.*)$", re.MULTILINE)
_UNQUOTABLE: Final = re.compile(r"[\"'\\]")


@rule(severity="warning", kinds=frozenset({Kind.PARTS, Kind.SECTION, Kind.OBJECT}))
def swallowed_text(file: File) -> Iterator[Finding]:
    """Yield comments and anchors that are probably part of a text, and unclosed comments."""
    yield from _comments(file)
    for located, (name, span) in items_in(file.chunks, _anchors):
        if f"*{name}" not in file.template.source.text:
            message = f"YAML reads `&{name}` as the name of this value: it does not reach the model"
            yield Finding(span, message, severity="hint").shifted(located.start)


@chunk_fact
def _anchors(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the anchors of plain contents, with their names."""
    found = []
    for content in chunk_contents(chunk) if "&" in chunk.text else ():
        match = _ANCHOR.match(chunk.text, content.value.span.start)
        if match is not None and not content.is_block and not content.value.style:
            found.append((match[1], Span(*match.span())))
    return tuple(found)


@each_chunk
def _comments(chunk: Chunk) -> Iterator[Finding]:
    """Yield the comments after plain texts that are probably part of the text, and unclosed comments."""
    for tag in chunk.tags:
        if tag.kind == "comment" and not tag.unclosed and "{#" in tag.text[2:] and "\n" in tag.text:
            message = "this comment is not closed: it ends with the next one, and all between is lost"
            line = tag.text.partition("\n")[0].rstrip()
            end = tag.span.start + len(line)
            edit = Edit(Span(end - 1, end), "#}") if line.endswith("}") else Edit.insert(end, " #}")
            fix = Fix("Close the comment at the end of its line", (edit,))
            yield Finding(Span(tag.span.start, tag.span.start + 2), message, (fix,))
    comments = yaml_comments(chunk)
    yield from _lost_blocks(chunk, comments)
    starts = [comment.start for comment in comments]
    for key, value, is_instruction in _texts(chunk) if comments else ():
        if value.style or value.span.is_empty():
            continue
        index = bisect_left(starts, value.span.end)
        if index == len(comments) or chunk.text[value.span.end : comments[index].start].strip(" \t"):
            continue
        comment = comments[index]
        text = chunk.slice(comment).rstrip()
        if _OWN.match(text):
            continue
        span = Span(comment.start, comment.start + len(text))
        is_text = _is_text(chunk, span, text) or (is_instruction and bool(_COMMENTED_FIELD.match(text)))
        severity: Severity | None = None if is_text else "hint"
        message = "YAML reads this as a comment: it does not reach the model"
        yield Finding(span, message, (_fix(chunk, key, value.span, span),), severity=severity)


def _lost_blocks(chunk: Chunk, comments: Sequence[Span]) -> Iterator[Finding]:
    """Yield the comments among the lines of a content without `|`."""
    for content in chunk_contents(chunk) if comments else ():
        opening = _OPENING.match(chunk.text, content.key.end)
        if opening is None or content.value.style:
            continue
        indent = column_of(chunk, content.key.start) + 1
        block = re.compile(rf"(?:[ ]{{{indent},}}\S.*(?:\n|\Z)|[ \t]*\n)*").match(chunk.text, opening.end())
        lines = [*_LINE.finditer(block[0])] if block else []
        lost = [each for each in lines if each["text"].startswith("#") and not _OWN.match(each["text"])]
        starts = {opening.end() + each.start("text") for each in lost}
        if not lost or len(lost) == len(lines) or not starts <= {each.start for each in comments}:
            continue
        is_inside = lines.index(lost[-1]) >= len(lost)
        edit = Edit(Span(opening.start("colon") + 1, opening.end() - 1), " |")
        message = "without `|` after the key, YAML reads this line as a comment: it does not reach the model"
        span = Span(*lost[0].span("text")).shifted(opening.end())
        yield Finding(span, message, (Fix("Add `|`", (edit,)),), severity=None if is_inside else "hint")


def _texts(chunk: Chunk) -> Iterator[tuple[Span, Scalar, bool]]:
    """Yield the texts sent to a model, with their keys, and whether each is an instruction."""
    for content in chunk_contents(chunk):
        yield content.key, content.value, False
    for root in chunk_yaml(chunk).roots:
        entry = root.entry("instruction") if isinstance(root, Mapping) else None
        if entry is not None and isinstance(entry.value, Scalar):
            yield entry.key.span, entry.value, True


def _is_text(chunk: Chunk, span: Span, text: str) -> bool:
    """Return whether a comment looks like text rather than a comment."""
    if any(tag.kind == "output" and span.covers(tag.span.start) for tag in chunk.tags):
        return True
    return bool(_WORDS.match(text))


def _fix(chunk: Chunk, key: Span, value: Span, comment: Span) -> Fix:
    """Return the fix that includes the comment in the value: quoted, or as a block if it contains quotes."""
    whole = Span(value.start, comment.end)
    text = chunk.slice(whole)
    if _UNQUOTABLE.search(text):
        indent = " " * (column_of(chunk, key.start) + 2)
        return Fix("Make it a block", (Edit(whole, f"|\n{indent}{text}"),))
    return Fix("Quote it", (Edit(whole, f'"{text}"'),))
