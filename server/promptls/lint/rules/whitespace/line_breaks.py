r"""Line breaks and blank lines that a rendering has or lacks against the look of the template.

# lost-line-break

`-` that removes the line break after `|`.

Renders the prompt, and reports the first tag of a block scalar if it trims the white space before it
(`{%-`, `{{-`, `{#-`) and the rendered text is invalid because something is printed after it before the
next line break. If that happens only with other data than the placeholders, it is a warning.

## Why is this bad?

The line of a `|` or `>` may contain nothing else but a comment. Prompt Poet raises a `ScannerError`: it
did not find the expected comment or line break.

## Example

```yaml
- name: greeting
  content: |
    {%- if user -%}
    ^^^ lost-line-break: this `-` removes the line break after `|`: what `{{ user }}` prints is on the same line, where YAML allows no text
    {{ user }}
    {%- endif %}
```

Use instead:

```yaml
- name: greeting
  content: |
    {% if user -%}
    {{ user }}
    {%- endif %}
```

# literal-line-break

Backslash and `n` that become a line break.

Reports the first literal `\n` or `\r` in a content of the file, with the number of further ones. If the
severity of the rule is raised, each content is reported. Inside double quotes YAML reads `\n` itself, and
only `\\n` counts.

## Why is this bad?

It may be intended, to end a part with a line break. But Prompt Poet turns *every* `\n` and `\r` of a content
into a line break, including those of values: `C:\new` and `\nabla` are split into two lines, and cannot be
escaped.

A `/n` at the end of a line is reported as well: it reaches the model as it is.

## Example

```yaml
- name: formula
  content: |
    The gradient is written \nabla f.
                            ^^ literal-line-break: Prompt Poet replaces `\n` with a line break
```

Use instead:

```yaml
- name: formula
  content: |
    The gradient is written ∇ f.
```

# blank-line-from-tag

Tag on its own line that leaves a blank line in the prompt.

Renders the prompt, and reports the first statement or comment that is alone on a line of a block scalar
(`|`) and leaves a blank line in the rendering, with the number of further ones. If the severity of the
rule is raised, all of them are reported.

## Why is this bad?

Jinja removes the tag but not its line: the model gets a blank line there, and a loop prints one between
any two iterations. Some models read a blank line as the end of a list.

## Example

```yaml
- name: rules
  content: |
    Rules:
    {% for rule in rules %}
       ^^^ blank-line-from-tag: `for` on its own line leaves a blank line in the prompt, and 1 more in this file
    - {{ escape_special_characters(rule) }}
    {% endfor %}
```

Use instead:

```yaml
- name: rules
  content: |
    Rules:
    {%- for rule in rules %}
    - {{ escape_special_characters(rule) }}
    {%- endfor %}
```

# stripped-whitespace

White space that Prompt Poet strips from a content.

Renders the prompt, and reports white space of the template at the beginning and at the end of a content
that Prompt Poet strips: inside of the quotes of a quoted value, after the last word of a block, or before
the first word of a block with an indentation indicator (`|2`). In `sections`, where only spaces and tabs are stripped from each section, a `<|space|>`
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

from promptls.dialects.prompt_poet.vocabulary import SPACE_MARKER
from promptls.lint.analysis.suppression import RepeatedFinding, first_of_each
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Severity, each_chunk, rule
from promptls.rendering.outcome import WhiteSpace
from promptls.semantic.parts import Content, block_indent, chunk_contents, tags_in
from promptls.syntax.chunk import Chunk, Located, chunk_fact
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span, line_column, line_end

_CAUSE: Final = "expected comment or line break"
"""The message of libyaml about text on the line of an indicator."""
_HEADER: Final = re.compile(r"([|>])[-+1-9]{0,2}(?:[ \t]+#[^\r\n]*)?\s+")
_MAX_SHOWN: Final = 40
"""The maximum number of characters of a tag in a message."""


@rule(severity="error", kinds=PARTS_KINDS, needs="rendering")
def lost_line_break(file: File) -> Iterator[Finding]:
    """Yield the first tag of the block scalar whose text is on the line of the indicator."""
    rendering = file.rendering
    failure = rendering.failure if rendering is not None else None
    if rendering is None or failure is None or failure.span is None or failure.path != file.path:
        return
    if _CAUSE not in failure.message:
        return
    source = file.template.source
    printed = Span(*failure.span)
    located = source.located(printed.start)
    chunk = located.chunk
    for content in reversed(list(chunk_contents(chunk))):
        first = next(iter(tags_in(chunk, content)), None)
        if first is None or not content.is_block or located.start + first.span.start > printed.start:
            continue
        header = _HEADER.fullmatch(chunk.text, content.value.span.start, first.span.start)
        if header is None or not first.trims_before:
            return
        opening = Span(first.span.start, first.span.start + 3)
        fix = Fix("Keep the line break", (Edit(Span(opening.end - 1, opening.end), ""),))
        message = (
            f"this `-` removes the line break after `{header[1]}`: what `{_shown(source.slice(printed))}` prints "
            "is on the same line, where YAML allows no text"
        )
        severity: Severity = (
            "error" if rendering.is_exact or rendering.sample.kind == "placeholders" else "warning"
        )
        yield Finding(opening, message, (fix,), severity=severity).shifted(located.start)
        return


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[: _MAX_SHOWN - 1]}…"


_BREAK: Final = re.compile(r"\\[nr]")
_SLASHED: Final = re.compile(r"(?<![\w/.<~:])/n(?=[ ]*(?:[\r\n\"']|\Z))")
_BREAK_IN_QUOTES: Final = re.compile(r"(?<!\\)(?:\\\\)*?(\\\\[nr])")


@rule(severity="hint", kinds=PARTS_KINDS)
def literal_line_break(file: File) -> Iterator[Finding]:
    """Yield the first literal line break escape of the file."""
    places = (
        RepeatedFinding("", found.shifted(located.start), count)
        for located in file.chunks.placed()
        for found, count in _in_chunk(located.chunk)
    )
    yield from first_of_each(file, literal_line_break.name, places)
    yield from _slashed(file)


@each_chunk
def _slashed(chunk: Chunk) -> Iterator[Finding]:
    """Yield each `/n` at the end of a line of a content, with a slash instead of a backslash."""
    if "/n" not in chunk.text:
        return
    for content in chunk_contents(chunk):
        for match in _SLASHED.finditer(chunk.text, *content.value.span):
            span = Span(*match.span())
            if chunk.tag_at(span.start) is None:
                yield Finding.suggest(span, "the model gets this as text", "\\n")


@chunk_fact
def _in_chunk(chunk: Chunk) -> tuple[tuple[Finding, int], ...]:
    """Return the first such escape of each content, with the number of them in the content."""
    if "\\" not in chunk.text:
        return ()
    found = []
    for content in chunk_contents(chunk):
        breaks = tuple(_breaks(chunk, content))
        if breaks:
            written = chunk.text[breaks[0].end - 2 : breaks[0].end]
            message = f"Prompt Poet replaces `{written}` with a line break"
            found.append(
                (Finding(breaks[0], message, tuple(_fixes_of_breaks(chunk, content, breaks))), len(breaks))
            )
    return tuple(found)


def _breaks(chunk: Chunk, content: Content) -> Iterator[Span]:
    span = content.value.span
    quoted = content.value.style == '"'
    for match in (_BREAK_IN_QUOTES if quoted else _BREAK).finditer(chunk.text, span.start, span.end):
        place = Span(*match.span(1 if quoted else 0))
        if chunk.tag_at(place.start) is None:
            yield place


def _fixes_of_breaks(chunk: Chunk, content: Content, places: tuple[Span, ...]) -> Iterator[Fix]:
    """Return the fix that inserts real line breaks, unless they would be stripped."""
    indent = block_indent(chunk, content) if content.value.style == "|" else None
    if indent is None:
        return
    edits = []
    start = content.value.span.start + 1
    for place in places:
        before = chunk.text[start : place.start].replace("\\n", "").strip()
        after = chunk.text[place.end : content.value.span.end].replace("\\n", "").strip()
        if not before or not after or chunk.slice(place) != "\\n":
            return
        edits.append(Edit(place, "\n" + " " * indent))
    yield Fix("Break the lines here", tuple(edits))


_Line = tuple[Tag, ...]
"""The tags of a line that consists of tags that print nothing."""


@rule(severity="hint", kinds=PARTS_KINDS, needs="rendering")
def blank_line_from_tag(file: File) -> Iterator[Finding]:
    """Yield the first tag of the file that leaves a blank line."""
    source = file.template.source
    lines: dict[int, list[_Line]] = {}
    for each in file.rendering.white_space if file.rendering is not None else ():
        if each.kind == "blank line":
            located = source.located(each.start)
            tags = _tags_alone(located.chunk, each.start - located.start)
            if tags and tags not in lines.setdefault(located.start, []):
                lines[located.start].append(tags)
    places = (
        RepeatedFinding("", _tags_finding(source.located(start).chunk, tags, its).shifted(start))
        for start, its in sorted(lines.items())
        for tags in sorted(its, key=lambda tags: tags[0].span)
    )
    yield from first_of_each(file, blank_line_from_tag.name, places)


def _tags_alone(chunk: Chunk, offset: int) -> _Line:
    """Return the tags on the line of an offset; nothing if they print, trim, or something else is there."""
    start = chunk.line_starts[line_column(chunk.line_starts, offset).line]
    end = line_end(chunk.text, start)
    tags = chunk.tags_at(Span(start, end))
    is_inside = all(start <= tag.span.start <= tag.span.end <= end for tag in tags)
    if not is_inside or any(tag.trims_before or tag.trims_after or _prints(tag) for tag in tags):
        return ()
    edges = [start, *(place for tag in tags for place in tag.span), end]
    is_alone = not any(chunk.text[edges[at] : edges[at + 1]].strip() for at in range(0, len(edges), 2))
    return tags if is_alone else ()


def _prints(tag: Tag) -> bool:
    """Return whether a tag may print something: a value or an included file."""
    if tag.kind == "statement":
        return tag_tree(tag).statement.keyword == "include"
    return tag.kind in {"output", "raw"}


def _tags_finding(chunk: Chunk, tags: _Line, lines: list[_Line]) -> Finding:
    tag = tags[0]
    if tag.kind == "comment":
        word, span = "a comment", tag.span
    else:
        statement = tag_tree(tag).statement
        word, span = f"`{statement.keyword}`", statement.keyword_span.shifted(tag.span.start)
    message = f"{word} on its own line leaves a blank line in the prompt"
    return Finding(span, message, tuple(_fixes_of_tags(chunk, lines)))


def _fixes_of_tags(chunk: Chunk, lines: list[_Line]) -> Iterator[Fix]:
    """Return the fix that trims the line break before each tag, if no intended blank line would be lost."""
    edits = []
    for tags in sorted(lines, key=lambda tags: tags[0].span):
        line = line_column(chunk.line_starts, tags[0].span.start).line
        above = chunk.text[chunk.line_starts[line - 1] : chunk.line_starts[line]]
        if above.strip():
            edits.append(Edit.insert(tags[0].span.start + 2, "-"))
    if edits:
        yield Fix("Trim the lines of these tags" if len(edits) > 1 else "Trim the tag's line", tuple(edits))


@rule(severity="information", kinds=PARTS_KINDS, needs="rendering")
def stripped_whitespace(file: File) -> Iterator[Finding]:
    """Yield the white space at the ends of contents that is stripped from the rendering."""
    for each in file.rendering.white_space if file.rendering is not None else ():
        located = file.template.source.located(each.start)
        if each.kind.startswith("stripped") and _is_at_end(each, located):
            text = file.template.source.slice(Span(each.start, each.end))
            yield _stripped_finding(each, text)


def _is_at_end(found: WhiteSpace, located: Located) -> bool:
    """Return whether nothing is printed between the white space and that end of its content.

    Otherwise, a value or a condition is responsible, which prints something with other data.
    """
    chunk, by = located.chunk, located.start
    start, end = found.start - by, found.end - by
    content = next(
        (each for each in chunk_contents(chunk) if each.value.span.start <= start <= end <= each.end), None
    )
    if content is None:
        return False
    if found.detail == "start":
        first = content.value.span.start
        between = Span(line_end(chunk.text, first) if content.is_block else first, start)
    else:
        between = Span(end, max(content.value.span.end, end))
    pieces, at = [], between.start
    for tag in tags_in(chunk, content):
        is_before, is_after = tag.span.end <= start, tag.span.start >= end
        if not (is_before if found.detail == "start" else is_after):
            continue
        if tag.kind in {"output", "raw"} or tag_tree(tag).statement.keyword in {"include", "call"}:
            return False
        pieces.append(chunk.text[at : tag.span.start])
        at = tag.span.end
    pieces.append(chunk.text[at : between.end])
    return not "".join(pieces).strip().strip(content.value.style)


def _stripped_finding(found: WhiteSpace, text: str) -> Finding:
    span = Span(found.start, found.end)
    if found.kind == "stripped marker":
        message = f"Prompt Poet strips `{SPACE_MARKER}` here, at the edge of a part with `sections`"
        return Finding(span, message)
    if found.kind == "stripped at edge":
        place = "first" if found.detail == "start" else "last"
        message = f"Prompt Poet strips this white space at the edge of the part's {place} section"
        return Finding(span, message)
    message = "Prompt Poet strips this white space"
    if text.strip(" "):
        return Finding(span, message)
    marked = Edit(span, SPACE_MARKER * len(text))
    return Finding(span, f"{message}; `{SPACE_MARKER}` stays", (Fix(f"Write `{SPACE_MARKER}`", (marked,)),))
