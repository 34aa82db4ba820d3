"""A comment that is to silence findings, and silences none.

## What it does

Reports `{# promptls: ignore … #}` comments that name no rule in brackets, or a rule that there is not.

## Why is this bad?

The comment does nothing: the findings that it is about are still reported.

## Example

```yaml
- name: greeting
  role: wizard {# promptls: ignore[unknwn-role] our own model knows it #}
                                   ^^^^^^^^^^^ invalid-suppression: there is no rule `unknwn-role`; did you mean `unknown-role`?
  content: Hello.
```

Use instead:

```yaml
- name: greeting
  role: wizard {# promptls: ignore[unknown-role] our own model knows it #}
  content: Hello.
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.rules.misspelt import misspelt
from promptls.rules.rule import DECLARING_KINDS, Finding, Rule
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.text.span import Span

_COMMENT: Final = re.compile(r"promptls:\s*ignore(?![\w-])(?:\[([^\]]*)\])?")
_NAME: Final = re.compile(r"[^\s,]+")


def check_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    """The names in the chunk's suppressions that are no rules."""
    for tag in chunk.tags:
        match = _COMMENT.search(tag.text) if tag.kind == "comment" else None
        if match is None:
            continue
        start = tag.span.start
        if match.group(1) is None or not match.group(1).strip():
            span = Span(match.start(), match.end()).shifted(start)
            yield Finding(span, "this silences nothing: name rules in brackets, `ignore[rule-name]`")
            continue
        known = _rule_names()
        for name in _NAME.finditer(match.group(1)):
            if name.group() not in known:
                span = Span(name.start(), name.end()).shifted(start + match.start(1))
                yield misspelt(span, f"there is no rule `{name.group()}`", name.group(), known)


def _rule_names() -> list[str]:
    # The list of all rules names this one too: it can only be asked for at run time.
    from promptls.rules.registry import RULES

    return [rule.name for rule in RULES]


RULE = Rule(
    name="invalid-suppression",
    summary="a comment that is to silence findings, and silences none",
    severity="warning",
    module=__name__,
    kinds=DECLARING_KINDS,
    check_chunk=check_chunk,
    reads_prose=False,
)
