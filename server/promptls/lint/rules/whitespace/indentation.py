"""Indentation that a rendering loses.

# folded-list

List in a folded content.

Reports the `>` of a content in which at least two items of a list, such as `- a` or `1. a`, follow another
line directly.

## Why is this bad?

`>` joins adjacent lines with spaces: the model gets the whole list in one line.

## Example

```yaml
- name: labels
  role: system
  content: >
           ^ folded-list: `>` joins the lines of this list to one
    Labels:
    - Billing, for invoices and plans
    - Account, for logins and team members
```

Use instead:

```yaml
- name: labels
  role: system
  content: |
    Labels:
    - Billing, for invoices and plans
    - Account, for logins and team members
```

# indented-include

Include of parts inside of a content.

Reports an `include` on a line of its own in a block scalar if the included file is a list of parts.

## Why is this bad?

Only the first line of the included file is indented. It becomes text of the content, and the keys of its
part replace those of the part around the `include`, or the YAML is invalid.

## Example

```yaml
-- sections/labels.yml.j2 --
- name: labels
  role: system
  content: |
    Labels: Billing, Account.
-- main.yml.j2 --
- name: task
  role: system
  content: |
    Sort the ticket.
    {% include "sections/labels.yml.j2" %}
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ indented-include: this includes a list of parts in the text of a content
```

Use instead:

```yaml
-- sections/labels.yml.j2 --
- name: labels
  role: system
  content: |
    Labels: Billing, Account.
-- main.yml.j2 --
- name: task
  role: system
  content: |
    Sort the ticket.
{% include "sections/labels.yml.j2" %}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, each_chunk, rule
from promptls.semantic.names.mentions import TemplateReference
from promptls.semantic.parts import block_indent, chunk_contents, column_of
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import key_text
from promptls.text.positions import Span, leading_spaces

_ITEM: Final = re.compile(r"(?:[-*•]|\d{1,2}[.)])[ ]+\S")
_MIN_ITEMS: Final = 2


@rule(severity="warning", kinds=PARTS_KINDS)
@each_chunk
def folded_list(chunk: Chunk) -> Iterator[Finding]:
    """Yield the signs of folded contents that join the items of a list."""
    for content in chunk_contents(chunk):
        if content.value.style != ">":
            continue
        indent = block_indent(chunk, content)
        lines = chunk.slice(content.value.span).splitlines()[1:]
        joined = sum(
            bool(_is_text(before, indent) and _is_text(line, indent) and _ITEM.match(line, indent))
            for before, line in pairwise(lines)
            if indent is not None
        )
        start = chunk.text.find(">", content.key.end, content.value.span.start + 1)
        if joined >= _MIN_ITEMS and start >= 0:
            span = Span(start, start + 1)
            fix = Fix("Keep the lines with `|`", (Edit(span, "|"),), preferred=True)
            yield Finding(span, "`>` joins the lines of this list to one", (fix,))


def _is_text(line: str, indent: int) -> bool:
    """Return whether a line has text and the indentation of the block; deeper lines are not joined."""
    return bool(line.strip()) and len(line) - len(line.lstrip()) == indent


@rule(severity="warning", kinds=PARTS_KINDS)
def indented_include(file: File) -> Iterator[Finding]:
    """Yield the includes of parts that are alone on an indented line of a content."""
    source = file.template.source
    for reference in file.template.references:
        if reference.keyword != "include" or not _has_parts(file, reference):
            continue
        line = source.line_span(source.line_column(reference.span.start).line)
        text = source.slice(line)
        tag = text.strip()
        indent = leading_spaces(text)
        is_alone = tag.startswith("{%") and tag.endswith("%}") and tag.count("{%") == 1
        if not is_alone or not indent or _is_filtered(file, reference.span.start):
            continue
        located = source.located(line.start)
        at = line.start - located.start
        if any(
            content.is_block
            and content.value.span.start < at < content.end
            and indent > column_of(located.chunk, content.key.start)
            for content in chunk_contents(located.chunk)
        ):
            span = Span(line.start + indent, line.start + len(text.rstrip()))
            fix = Fix(
                "Move it to the first column", (Edit(Span(line.start, span.start), ""),), preferred=True
            )
            yield Finding(span, "this includes a list of parts in the text of a content", (fix,))


def _has_parts(file: File, reference: TemplateReference) -> bool:
    """Return whether an included file is a list of parts with contents on more than one line."""
    target = file.snapshot.resolve(file.path, reference)
    template = file.snapshot.template(target) if target else None
    parts = template.parts if template is not None else ()
    keys = [{key_text(entry) for entry in placed.part.entries} for placed in parts]
    return bool(keys) and all({"name", "content"} <= each for each in keys)


def _is_filtered(file: File, offset: int) -> bool:
    return any(block.keyword in {"filter", "set"} for block in file.template.branches.at(offset))
