"""Method of a text without parentheses.

## What it does

Reports `code.isdigit`, `line.startswith`, `name.strip` and other names of methods of texts that are not
called. Names that data often has as keys, such as `title`, `format` or `lower`, are not reported.

## Why is this bad?

Without parentheses, this is the method itself. In a condition, it is always true; printed, it is
`<built-in method …>`.

## Example

```yaml
- name: code
  content: |
    {{ "Chapter" if code.isdigit else "Code" }} {{ code }}
                         ^^^^^^^ uncalled-method: this is the method itself, which is always true; `()` calls it
```

Use instead:

```yaml
- name: code
  content: |
    {{ "Chapter" if code.isdigit() else "Code" }} {{ code }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import JINJA_KINDS, Edit, Finding, Fix, Rule, each_chunk
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.problems import uncalled_attributes
from promptls.text.positions import Span

_COMPLETE: Final = frozenset(
    {
        "capitalize", "casefold", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier",
        "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "lstrip", "rstrip",
        "splitlines", "strip", "swapcase",
    }
)  # fmt: skip
"""Methods of texts that need no argument."""
_METHODS: Final = _COMPLETE | {"endswith", "removeprefix", "removesuffix", "startswith", "zfill"}
_ABOUT_METHODS: Final = frozenset({"callable", "defined", "undefined"})


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the methods in the chunk's tags that are not called."""
    for start, node in uncalled_attributes(chunk, _METHODS, _ABOUT_METHODS):
        span = node.name_span.shifted(start)
        message = "this is the method itself, which is always true; `()` calls it"
        insertion = Fix("Insert `()`", (Edit(Span(span.end, span.end), "()"),), preferred=True)
        yield Finding(span, message, (insertion,) if node.name in _COMPLETE else ())


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
