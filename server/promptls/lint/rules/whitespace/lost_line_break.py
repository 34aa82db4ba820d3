"""`-` that removes the line break after `|`.

## What it does

Checks the first tag of a block scalar if it trims the white space before it (`{%-`, `{{-`, `{#-`).
Reports it if something is printed after it before the next line break. A loop or condition that begins
with a line of text contains a line break itself, and is not reported; neither is a macro, an `include`
or a variable of the template, whose text may begin with one. If a condition must be false or a loop must
be empty for the failure, it is a warning.

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
from typing import Final, NamedTuple

from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Rule, Severity
from promptls.semantic.parts import chunk_contents, tags_in
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary
from promptls.syntax.jinja.blocks import Pair, chunk_blocks
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Conditional,
    Constant,
    Expression,
    Filter,
    Item,
    Name,
    Operation,
    Statement,
    walk,
)
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.projection import has_else
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span

_SILENT: Final = frozenset({"set", "import", "from", "do"})
"""Statements that print nothing."""
_ALWAYS_PRINTED: Final = frozenset({"with", "block", "autoescape"})
"""Blocks whose body is always printed in place."""
_KEEPS_BEGINNING: Final = frozenset(
    {"trim", "strip", "upper", "lower", "title", "capitalize", "tojson", "e", "escape", "safe", "string"}
)
"""Filters and methods that never put a line break at the beginning of a text."""


_MAX_PATHS: Final = 200


class Beside(NamedTuple):
    """A tag that prints next to a block scalar's indicator, and the variable that it prints, if any.

    `needs_false` is true if it only prints there when a condition is false or a loop is empty.
    """

    text: str
    name: str
    needs_false: bool


class _Path(NamedTuple):
    """A path to a tag, with the variables of the conditions that were false and true on it."""

    tag_index: int
    false_names: frozenset[str] = frozenset()
    true_names: frozenset[str] = frozenset()


def printed_beside(chunk: Chunk, tag_index: int) -> list[Beside]:
    """Return the tags that print before the first line break after the white space that a tag trims.

    Tags that need no false condition are first. Tags whose text may begin with a line break are left out,
    and so are tags on paths that need conditions which may contradict each other.
    """
    found: dict[int, Beside] = {}
    seen: set[_Path] = set()
    left = [_Path(tag_index)]
    pairs = {pair.opening: pair for pair in chunk_blocks(chunk).pairs}
    ends = {index: pair.closing for pair in pairs.values() for index in (*pair.middles, pair.closing)}
    while left and len(seen) < _MAX_PATHS:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        tag = chunk.tags[path.tag_index]
        if tag.kind == "output" and not tag.unclosed:
            name = next(map(_name_printed, tag_tree(tag).statement.expressions), None)
            if name is not None:
                known = found.get(path.tag_index)
                needs_false = bool(path.false_names) and (known is None or known.needs_false)
                found[path.tag_index] = Beside(tag.text, name, needs_false)
            continue
        end = ends.get(path.tag_index)
        following = (
            [path._replace(tag_index=end)]
            if end is not None
            else _paths(chunk, pairs.get(path.tag_index), path)
        )
        for each in following:
            next_index = _next_on_line(chunk, each.tag_index)
            if next_index is not None:
                left.append(each._replace(tag_index=next_index))
    return sorted((found[index] for index in sorted(found)), key=lambda beside: beside.needs_false)


def _paths(chunk: Chunk, pair: Pair | None, path: _Path) -> list[_Path]:
    """Return the tags after which the path continues, if a comment or statement prints nothing itself."""
    tag = chunk.tags[path.tag_index]
    if tag.unclosed or tag.kind == "raw":
        return []
    if tag.kind == "comment":
        return [path]
    keyword = tag_tree(tag).statement.keyword
    if pair is None:
        return [path] if keyword in _SILENT else []
    if keyword in {"if", "for"}:
        return _branches(chunk, pair, path)
    if keyword in {"macro", "set"}:
        return [path._replace(tag_index=pair.closing)]
    return [path] if keyword in _ALWAYS_PRINTED else []


def _branches(chunk: Chunk, pair: Pair, path: _Path) -> list[_Path]:
    """Return the paths through and around a condition or loop that no earlier condition rules out."""
    tested = frozenset(
        node.name
        for index in (pair.opening, *pair.middles)
        for node in _names_in(tag_tree(chunk.tags[index]).statement)
    )
    paths = [] if tested & path.false_names else [path._replace(true_names=path.true_names | tested)]
    if not tested & (path.false_names | path.true_names):
        others = list(pair.middles)
        if pair.keyword == "for" or not has_else(chunk, pair):
            others.append(pair.closing)
        paths += [_Path(index, path.false_names | tested, path.true_names) for index in others]
    return paths


def _names_in(statement: Statement) -> Iterator[Name]:
    tests = () if statement.loop_test is None else (statement.loop_test,)
    for expression in (*statement.expressions, *tests):
        yield from (node for node in walk(expression) if isinstance(node, Name))


def _next_on_line(chunk: Chunk, index: int) -> int | None:
    """Return the index of the next tag if neither text nor an untrimmed line break separates the two."""
    if index + 1 >= len(chunk.tags):
        return None
    tag, following = chunk.tags[index], chunk.tags[index + 1]
    between = chunk.text[tag.span.end : following.span.start]
    if between.strip():
        return None
    is_trimmed = tag.trims_after or following.trims_before
    return index + 1 if is_trimmed or not set(between) & {"\n", "\r"} else None


def _name_printed(node: Expression) -> str | None:
    """Return the variable that a text begins with, or "" for a constant; None if that is unknown."""
    match node:
        case Constant(value=str() as text):
            return None if not text.strip(" \t") or text.lstrip(" \t")[0] in "\r\n#" else ""
        case Name(name=name):
            return name
        case Attribute(target=target) | Item(target=target):
            return _name_printed(target) or None
        case Operation(operators=("+" | "~", *_), operands=(first, *_)):
            return _name_printed(first)
        case Conditional(then=then, otherwise=otherwise):
            return _name_printed(then) or (_name_printed(otherwise) if otherwise is not None else None)
        case Filter(target=target, name=name) if target is not None and name in _KEEPS_BEGINNING:
            return _name_printed(target)
        case Call(function=Name(name="escape_special_characters")):
            return ""
        case Call(function=Attribute(target=target, name=name)) if name in _KEEPS_BEGINNING:
            return _name_printed(target)
    return None


_HEADER: Final = re.compile(r"([|>])[-+1-9]{0,2}(?:[ \t]+#[^\r\n]*)?\s+")
_BINDERS: Final = ("set", "macro", "import", "with", "parameter")
_MAX_SHOWN: Final = 40
"""The maximum number of characters of a tag in a message."""


class _Joined(NamedTuple):
    """A trimming tag at the start of a block scalar, its indicator, and the tags moved next to it."""

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
"""Whether a piece has text that is joined to the indicator of a block scalar."""


def check(file: File) -> Iterator[Finding]:
    """Yield the first tags of block scalars that move the text to the line of the indicator."""
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
                f"this `-` removes the line break after `{each.sign}`: what `{_shown(beside.text)}` prints "
                "is on the same line, where YAML allows no text"
            )
            severity: Severity = "warning" if beside.needs_false else "error"
            yield Finding(each.opening, message, (fix,), severity=severity).shifted(located.start)


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[: _MAX_SHOWN - 1]}…"


RULE = Rule(check, severity="error", kinds=PARTS_KINDS)
