"""White space that Prompt Poet strips from a content.

## What it does

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

from collections.abc import Iterator

from promptls.dialects.prompt_poet.vocabulary import SPACE_MARKER
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule
from promptls.rendering.outcome import WhiteSpace
from promptls.semantic.parts import chunk_contents, tags_in
from promptls.syntax.chunk import Located
from promptls.syntax.jinja.problems import tag_tree
from promptls.text.positions import Span, line_end


def check(file: File) -> Iterator[Finding]:
    """Yield the white space at the ends of contents that is stripped from the rendering."""
    for each in file.rendering.white_space if file.rendering is not None else ():
        located = file.template.source.located(each.start)
        if each.kind.startswith("stripped") and _is_at_end(each, located):
            text = file.template.source.slice(Span(each.start, each.end))
            yield _finding(each, text)


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


def _finding(found: WhiteSpace, text: str) -> Finding:
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


RULE = Rule(check, severity="information", kinds=PARTS_KINDS, needs="rendering")
