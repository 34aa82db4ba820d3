"""Part joined to the previous text by white space control.

## What it does

Renders the prompt, and reports a tag with `-%}` (or `-#}`) that trims the only line break before a part:
the part's `- name:` is then on the last line of the preceding text or, in a loop, of the previous
iteration. It is a warning if the preceding text is a value, which may be empty or end with a line break.

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

from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule, Severity
from promptls.text.positions import Span

_HOW: Final = {
    "joined part": "it continues the previous line",
    "joined repetition": "from the second iteration on, that part continues the previous line",
}


def check(file: File) -> Iterator[Finding]:
    """Yield the tags that join the part after them to other text."""
    source = file.template.source
    for each in file.rendering.white_space if file.rendering is not None else ():
        if each.kind not in _HOW or each.start == 0:
            continue
        located = source.located(each.start - 1)
        end = each.start - located.start
        tag = next((tag for tag in reversed(located.chunk.tags) if tag.span.end <= end), None)
        if tag is None or not tag.trims_after:
            continue
        span = tag.span.shifted(located.start)
        written = source.slice(span)[:-2]
        dashes = len(written) - len(written.rstrip("-"))  # a comment may end with several
        fix = Fix(
            "Keep the line break", (Edit(Span(span.end - 2 - dashes, span.end - 2), ""),), preferred=True
        )
        severity: Severity = "warning" if each.detail else "error"
        message = f"this removes the line break before the next part: {_HOW[each.kind]}"
        yield Finding(span, message, (fix,), severity=severity)


RULE = Rule(check, severity="error", kinds=PARTS_KINDS, needs="rendering")
