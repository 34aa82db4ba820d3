"""`-` that removes the line break after `|`.

## What it does

Looks at the first tag of a block scalar, where it trims what is before it (`{%-`, `{{-`, `{#-`): reports
one behind which something is printed before the next line break. A loop or condition that begins with
a line of text puts a line break there itself, and nothing is said; nor is it where a macro, an `include`
or a variable of the template is printed, which may begin with one. Where a condition must be false or a
loop without a turn for it, it is a warning.

## Why is this bad?

Nothing but a comment may stand on the line of a `|` or `>`. Prompt Poet raises a `ScannerError`: it did
not find the expected comment or line break.

## Example

```yaml
- name: greeting
  content: |
    {%- if user -%}
    ^^^ lost-line-break: this `-` takes away the line break behind `|`: what `{{ user }}` prints stands beside it, where YAML takes no text
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
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.lint.analysis.printed_beside import Beside, printed_beside
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule, Severity
from promptls.semantic.contents import chunk_contents, tags_in
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span

_HEADER: Final = re.compile(r"([|>])[-+1-9]{0,2}(?:[ \t]+#[^\r\n]*)?\s+")
_BINDERS: Final = ("set", "macro", "import", "with", "parameter")
_LONGEST: Final = 40
"""How many characters of a tag a message shows."""


class _Joined(NamedTuple):
    """A trimming tag that begins a block scalar, the sign of the block, and what comes to stand beside it."""

    opening: Span
    sign: str
    beside: tuple[Beside, ...]


@chunk_fact
def _in_chunk(chunk: Chunk) -> tuple[_Joined, ...]:
    if not any(tag.trims_before for tag in chunk.tags) or chunk_yaml(chunk).problems:
        return ()
    found = []
    for content in chunk_contents(chunk):
        first = next(iter(tags_in(chunk, content)), None)
        if first is None or not first.trims_before or not content.is_block:
            continue
        header = _HEADER.fullmatch(chunk.text, content.value.span.start, first.span.start)
        beside = printed_beside(chunk, chunk.tags.index(first)) if header else []
        if header and beside:
            found.append(_Joined(Span(first.span.start, first.span.start + 3), header[1], tuple(beside)))
    return tuple(found)


_has_joined: Final = summary(lambda chunk: bool(_in_chunk(chunk)), any)
"""Whether a piece has text that is joined to the sign of a block scalar."""


def check(file: File) -> Iterator[Finding]:
    """Yield the first tags of block scalars that take the text to the line of the sign."""
    root = file.template.source.root
    if not _has_joined(root):
        return
    known = file.template.names
    bound = {name for kind in _BINDERS for name in known.bound_names(kind)}
    for located in root.where(_has_joined):
        for each in _in_chunk(located.chunk):
            beside = next((item for item in each.beside if item.name not in bound), None)
            if beside is None:
                continue
            sign = Span(each.opening.end - 1, each.opening.end)
            fix = Fix("Keep the line break", (Edit(sign, ""),))
            message = (
                f"this `-` takes away the line break behind `{each.sign}`: what `{_shown(beside.text)}` prints "
                "stands beside it, where YAML takes no text"
            )
            severity: Severity = "warning" if beside.needs_refusal else "error"
            yield Finding(each.opening, message, (fix,), severity=severity).shifted(located.start)


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


RULE = Rule(check, severity="error", kinds=PARTS_KINDS)
