"""`-` that removes the line break after `|`.

## What it does

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
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule, Severity
from promptls.semantic.parts import chunk_contents, tags_in
from promptls.text.positions import Span

_CAUSE: Final = "expected comment or line break"
"""The message of libyaml about text on the line of an indicator."""
_HEADER: Final = re.compile(r"([|>])[-+1-9]{0,2}(?:[ \t]+#[^\r\n]*)?\s+")
_MAX_SHOWN: Final = 40
"""The maximum number of characters of a tag in a message."""


def check(file: File) -> Iterator[Finding]:
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


RULE = Rule(check, severity="error", kinds=PARTS_KINDS, needs="rendering")
