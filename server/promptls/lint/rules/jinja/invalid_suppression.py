"""Suppression comment has no effect.

Reports comments (`{# promptls: ignore … #}` in Jinja, `# promptls: ignore …` in YAML, and the same with
`ignore-file`) that have no rule in brackets, or an unknown rule, and comments that are part of a text
because they are inside of a block scalar. A named rule without a finding there is a hint.

## Why is this bad?

The comment has no effect: the findings that it should suppress are still reported.

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

from promptls.lint.analysis.suppression import LISTED_NAME, chunk_suppressions
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import DECLARING_KINDS, Edit, Finding, Fix, defined_rules, each_chunk, rule
from promptls.semantic.parts import chunk_contents
from promptls.syntax.chunk import Chunk
from promptls.text.positions import Span

_COMMENT: Final = re.compile(r"promptls:\s*(?:ignore(?:-file)?(?![\w-])(?:\[([^\]]*)\])?|([\w-]+)\[)")
_IN_TEXT: Final = re.compile(r"#[ \t]*(promptls:\s*ignore(?:-file)?\[[^\]\r\n]*\][^\r\n]*)")


@rule(severity="warning", kinds=DECLARING_KINDS)
@each_chunk
def invalid_suppression(chunk: Chunk) -> Iterator[Finding]:
    """Yield the unknown rule names in the chunk's suppressions, and suppressions outside of comments."""
    suppressions = chunk_suppressions(chunk)
    for suppression in suppressions:
        match = _COMMENT.match(suppression.text)
        if match is None:
            continue
        start = suppression.span.start
        if match.group(2):
            span = Span(match.start(2), match.end(2)).shifted(start)
            known = ("ignore", "ignore-file")
            yield misspelled(
                span, "a comment suppresses rules with `ignore` or `ignore-file`", match.group(2), known
            )
        elif match.group(1) is None or not match.group(1).strip():
            span = Span(match.start(), match.end()).shifted(start)
            yield Finding(span, "this suppresses nothing: name rules in brackets, `ignore[rule-name]`")
        else:
            yield from _unknown(match.group(1), start + match.start(1))
    if "promptls:" in chunk.text:
        yield from _in_texts(chunk, {each.span.start for each in suppressions})


def _unknown(listed: str, start: int) -> Iterator[Finding]:
    """Yield the unknown rule names in a list that begins at `start`."""
    for name in LISTED_NAME.finditer(listed):
        if name.group() not in defined_rules:
            span = Span(*name.span()).shifted(start)
            yield misspelled(span, f"there is no rule `{name.group()}`", name.group(), defined_rules)


def _in_texts(chunk: Chunk, known: set[int]) -> Iterator[Finding]:
    """Yield suppressions that look like a YAML comment but are part of the text of a content."""
    for content in chunk_contents(chunk):
        for match in _IN_TEXT.finditer(chunk.text, content.value.span.start, content.value.span.end):
            start = match.start()
            if match.start(1) in known or any(tag.span.covers(start) for tag in chunk.tags):
                continue
            span = Span(start, start + len(match.group().rstrip()))
            fix = Fix("Make it a comment of Jinja", (Edit(span, f"{{# {match.group(1).rstrip()} #}}"),))
            message = "this suppresses nothing: it is part of the text that the model gets"
            yield Finding(span, message, (fix,))
