"""Method of a text without parentheses.

## What it does

Reports `code.isdigit`, `line.startswith`, `name.strip` and other names of methods of texts that are not
called. Names that data often has as keys, such as `title` or `format`, are not reported. `upper` and `lower` are hints,
if they are the only attributes of a variable that the file reads.

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

from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, Rule, each_chunk
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import Attribute, Expression, Name
from promptls.syntax.jinja.problems import expressions_in, uncalled_attributes
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
_MAYBE: Final = frozenset({"lower", "upper"})
"""Methods of texts that may be keys of data."""


@chunk_fact
def _suspicious(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the values with an uncalled method that may be a key, and the places of its name."""
    return tuple(
        (path, node.name_span.shifted(start))
        for start, node in uncalled_attributes(chunk, _MAYBE, _ABOUT_METHODS)
        if (path := _path(node.target))
    )


def _path(node: Expression) -> str:
    """Return a variable, or an attribute of one, as it is written."""
    match node:
        case Name(name=name):
            return name
        case Attribute(target=Name(name=owner), name=name):
            return f"{owner}.{name}"
    return ""


@chunk_fact
def _attributes(chunk: Chunk) -> frozenset[tuple[str, str]]:
    """Return the attributes that tags read, each with the value that has it."""
    return frozenset(
        (path, node.name)
        for _, node in expressions_in(chunk)
        if isinstance(node, Attribute) and (path := _path(node.target))
    )


_suspicious_names: Final = summary(lambda chunk: frozenset(name for name, _ in _suspicious(chunk)), union)
_with_keys: Final = summary(
    lambda chunk: frozenset(path for path, name in _attributes(chunk) if not hasattr(str, name)), union
)
"""The values that have attributes which no text has."""
_read_methods: Final = summary(
    lambda chunk: frozenset(f"{path}.{name}" for path, name in _attributes(chunk) if name in _MAYBE), union
)


def check(file: File) -> Iterator[Finding]:
    """Yield the methods in the file's tags that are not called."""
    yield from _certain(file)
    names = _suspicious_names(file.chunks) - _with_keys(file.chunks)
    names -= file.template.names.bound_names("set") | file.template.names.bound_names("import")
    read = _read_methods(file.chunks)
    names = frozenset(name for name in names if not {f"{name}.{each}" for each in _MAYBE} <= read)
    for located in file.chunks.where(lambda piece: not names.isdisjoint(_suspicious_names(piece))):
        for name, span in _suspicious(located.chunk) if names else ():
            if name in names:
                fix = Fix("Insert `()`", (Edit(Span(span.end, span.end), "()"),))
                message = "if this is a text, this is the method itself; `()` calls it"
                yield Finding(span, message, (fix,), severity="hint").shifted(located.start)


@each_chunk
def _certain(chunk: Chunk) -> Iterator[Finding]:
    """Yield the methods in the chunk's tags that only texts have, and that are not called."""
    for start, node in uncalled_attributes(chunk, _METHODS, _ABOUT_METHODS):
        span = node.name_span.shifted(start)
        message = "this is the method itself, which is always true; `()` calls it"
        insertion = Fix("Insert `()`", (Edit(Span(span.end, span.end), "()"),), preferred=True)
        yield Finding(span, message, (insertion,) if node.name in _COMPLETE else ())


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
