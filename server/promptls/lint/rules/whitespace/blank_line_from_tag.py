"""Tag on its own line that leaves a blank line in the prompt.

## What it does

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
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.analysis.suppression import RepeatedFinding, first_of_each
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span, line_column, line_end

_Line = tuple[Tag, ...]
"""The tags of a line that consists of tags that print nothing."""


def check(file: File) -> Iterator[Finding]:
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
        RepeatedFinding("", _finding(source.located(start).chunk, tags, its).shifted(start))
        for start, its in sorted(lines.items())
        for tags in sorted(its, key=lambda tags: tags[0].span)
    )
    yield from first_of_each(file, RULE.name, places)


def _tags_alone(chunk: Chunk, offset: int) -> _Line:
    """Return the tags on the line of an offset; nothing if they print, trim, or something else is there."""
    start = chunk.line_starts[line_column(chunk.line_starts, offset).line]
    end = line_end(chunk.text, start)
    tags = tuple([tag for tag in chunk.tags if tag.span.start < end and tag.span.end > start])
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


def _finding(chunk: Chunk, tags: _Line, lines: list[_Line]) -> Finding:
    tag = tags[0]
    if tag.kind == "comment":
        word, span = "a comment", tag.span
    else:
        statement = tag_tree(tag).statement
        word, span = f"`{statement.keyword}`", statement.keyword_span.shifted(tag.span.start)
    message = f"{word} on its own line leaves a blank line in the prompt"
    return Finding(span, message, tuple(_fix(chunk, lines)))


def _fix(chunk: Chunk, lines: list[_Line]) -> Iterator[Fix]:
    """Return the fix that trims the line break before each tag, if no intended blank line would be lost."""
    edits = []
    for tags in sorted(lines, key=lambda tags: tags[0].span):
        line = line_column(chunk.line_starts, tags[0].span.start).line
        above = chunk.text[chunk.line_starts[line - 1] : chunk.line_starts[line]]
        if above.strip():
            place = tags[0].span.start + 2
            edits.append(Edit(Span(place, place), "-"))
    if edits:
        yield Fix("Trim the lines of these tags" if len(edits) > 1 else "Trim the tag's line", tuple(edits))


RULE = Rule(check, severity="hint", kinds=PARTS_KINDS, needs="rendering")
