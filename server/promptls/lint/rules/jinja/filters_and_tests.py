"""Filters and tests: unknown ones, and filters whose result is not what is meant.

# unknown-filter

Unknown Jinja filter.

Reports filters other than those of Jinja 3.1. Prompt Poet uses Jinja without extensions, so filters of
Ansible or Django are not available.

## Why is this bad?

Loading the template fails. In a branch of an `if`, or in a conditional expression, rendering only fails
when the filter is reached: that is a warning.

## Example

```yaml
- name: ticket
  content: |
    {{ text | uper }}
              ^^^^ unknown-filter: Jinja has no filter `uper`; did you mean `upper`?
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ text | upper }}
```

# unknown-test

Unknown Jinja test.

Reports tests other than those of Jinja 3.1. Prompt Poet uses Jinja without extensions, so tests of
Ansible or Django are not available.

## Why is this bad?

Loading the template fails. In a branch of an `if`, or in a conditional expression, rendering only fails
when the test is reached: that is a warning.

## Example

```yaml
- name: ticket
  content: |
    {{ text is definde }}
               ^^^^^^^ unknown-test: Jinja has no test `definde`; did you mean `defined`?
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ text is defined }}
```

# html-escape

Filter that escapes text for HTML.

Reports the first `escape`, `e` or `forceescape` of the file, with the number of further ones. If the
severity of the rule is raised, each one is reported.

## Why is this bad?

These filters escape text for HTML: the model reads `&#34;` and `&#39;` for quotes, `&amp;` for `&` and
`&lt;` for `<`, and a line break, which could break the YAML, is not escaped. Use Prompt Poet's
`escape_special_characters` instead.

## Example

```yaml
- name: ticket
  content: |
    {{ text | escape }}
              ^^^^^^ html-escape: `escape` writes HTML: quotes reach the model as `&#34;`
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```

# wrong-format-arguments

Format text with more or fewer places than values.

Reports a literal text with `%s` or `{}` whose places are not as many as the values given by `%`, the filter `format` or the method
`format`, values of `%` without parentheses, and such a text that is given to `format` as the value. Texts that take values by name are left out.

## Why is this bad?

Rendering fails with a `TypeError` or an `IndexError`.

## Example

```yaml
- name: place
  content: |
    {{ "%s, %s" | format(city) }}
       ^^^^^^^^^^^^^^^^^^^^^^^ wrong-format-arguments: this text has 2 places for values, and 1 is given
```

Use instead:

```yaml
- name: place
  content: |
    {{ "%s, %s" | format(city, country) }}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from string import Formatter
from typing import Final, NamedTuple

from promptls.lint.analysis.suppression import RepeatedFinding, first_of_each
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, each_chunk, rule
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in
from promptls.syntax.jinja.builtins import FILTERS, TESTS
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Conditional,
    Constant,
    Expression,
    Filter,
    Keyword,
    Operation,
    Statement,
    Test,
    children,
)
from promptls.syntax.jinja.problems import expressions_in
from promptls.syntax.jinja.statements import parse_tag
from promptls.text.format import plural
from promptls.text.positions import Span

_NAME_ARGUMENTS: Final[Mapping[type, Mapping[str, int]]] = {
    Filter: {"map": 0},
    Test: {"select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1},
}
"""The filters that take the name of a filter or test, with the index of that argument."""
_FOREIGN_NAMES: Final[Mapping[type, Mapping[str, str]]] = {
    Filter: {
        "capitalise": "capitalize",
        "downcase": "lower",
        "json": "tojson",
        "json_encode": "tojson",
        "jsonify": "tojson",
        "len": "length",
        "lowercase": "lower",
        "size": "length",
        "sort_by": "sort(attribute=…)",
        "sortBy": "sort(attribute=…)",
        "str": "string",
        "strip": "trim",
        "strip_html": "striptags",
        "titlecase": "title",
        "to_json": "tojson",
        "toJson": "tojson",
        "toString": "string",
        "upcase": "upper",
        "uppercase": "upper",
    },
    Test: {
        "None": "none",
        "null": "none",
        "nil": "none",
        "NULL": "none",
        "True": "true",
        "False": "false",
        "int": "integer",
        "str": "string",
        "dict": "mapping",
    },
}
"""Filters and tests of Python, JavaScript, Ruby, Liquid and Twig, with their names in Jinja."""
_FRAMES = frozenset({"if", "for", "macro", "call", "filter", "with", "set", "block"})


class _Use(NamedTuple):
    """A use of an unknown name; if `is_soft` is None, it depends on the blocks around the tag, at `tag`."""

    name: str
    span: Span
    tag: int
    is_soft: bool | None


class _Unknown:
    """A check for unknown names of one kind, `filter` or `test`.

    It follows the compiler of Jinja 3.1: a template with an unknown filter is refused on loading, unless the
    filter is in a conditional expression, or the nearest enclosing block that opens a scope or a branch is an
    `if`. In these cases, rendering fails when the filter is reached.
    """

    def __init__(self, kind: type[Filter | Test], word: str, known: frozenset[str]) -> None:
        self._kind = kind
        self._word = word
        self._known = known
        self._in_tag = lru_cache(maxsize=1024)(self._find_in_tag)
        """The uses in a tag, cached by its text."""
        self._in_chunk: Final = chunk_fact(lambda chunk: tuple(self._find(chunk)))

    def check(self, file: File) -> Iterator[Finding]:
        """Yield an error if loading fails, or a warning if only a branch fails."""
        for located, use in items_in(file.chunks, self._in_chunk):
            is_soft = use.is_soft
            if is_soft is None:
                blocks = file.template.branches.at(located.start + use.tag)
                frames = [block.keyword for block in blocks if block.keyword in _FRAMES]
                is_soft = frames[-1:] == ["if"]
            message = f"Jinja has no {self._word} `{use.name}`"
            if is_soft:
                message += ", and rendering fails where this is reached"
            finding = self._meant(use.span.shifted(located.start), message, use.name)
            yield replace(finding, severity="warning" if is_soft else None)

    def _meant(self, span: Span, message: str, name: str) -> Finding:
        """Return the finding, suggesting Jinja's equivalent of a foreign name, or else a similar name."""
        meant = _FOREIGN_NAMES[self._kind].get(name)
        if meant is None:
            finding = misspelled(span, message, name, self._known)
            return finding if any(fix.preferred for fix in finding.fixes) else Finding(span, message)
        # An equivalent with an argument cannot replace the name alone.
        fixes = () if "(" in meant else (Fix.change_to(span, meant, preferred=True),)
        return Finding(span, f"{message}; did you mean `{meant}`?", fixes)

    def _find(self, chunk: Chunk) -> Iterator[_Use]:
        for tag in chunk.tags:
            if tag.kind in {"output", "statement"}:
                for use in self._in_tag(tag.text, tag.inner_start, tag.inner_end):
                    yield use._replace(span=use.span.shifted(tag.span.start), tag=tag.span.start)

    def _find_in_tag(self, text: str, inner_start: int, inner_end: int) -> tuple[_Use, ...]:
        statement = parse_tag(text, inner_start, inner_end).statement
        return tuple(
            use
            for expression, is_soft in _parts(statement)
            for use in self._in_expression(expression, is_soft=is_soft)
        )

    def _passed_as_text(self, node: Expression) -> Iterator[_Use]:
        """Yield the unknown name passed to a filter as a text: `map("uper")`, `select("oddd")`."""
        place = _NAME_ARGUMENTS[self._kind].get(node.name) if isinstance(node, Filter) else None
        if not isinstance(node, Filter) or place is None or len(node.arguments) <= place:
            return
        named = node.arguments[place]
        if isinstance(named, Constant) and isinstance(named.value, str) and named.value not in self._known:
            yield _Use(named.value, Span(named.span.start + 1, named.span.end - 1), 0, is_soft=True)

    def _in_expression(self, expression: Expression, *, is_soft: bool | None) -> Iterator[_Use]:
        stack = [(expression, is_soft)]
        while stack:
            node, soft = stack.pop()
            if isinstance(node, self._kind) and node.name and node.name not in self._known:
                yield _Use(node.name, node.name_span, 0, soft)
            yield from self._passed_as_text(node)
            inside = True if isinstance(node, Conditional) else soft
            stack.extend((child, inside) for child in reversed(children(node)))


def _parts(statement: Statement) -> Iterator[tuple[Expression, bool | None]]:
    """Yield the expressions of a tag, each with whether an unknown name in it fails only when reached."""
    defaults = [each.default for each in statement.parameters if each.default is not None]
    softness: bool | None = None
    if statement.keyword in {"if", "elif"}:
        softness = True
    elif statement.keyword in {"filter", "macro"} or (statement.keyword == "set" and statement.opens_block):
        softness = False
    for expression in statement.expressions:
        yield expression, False if any(expression is default for default in defaults) else softness
    if statement.loop_test is not None:
        yield statement.loop_test, False


_FILTERS: Final = _Unknown(Filter, "filter", FILTERS)
_TESTS: Final = _Unknown(Test, "test", TESTS)


@rule(severity="error", kinds=JINJA_KINDS)
def unknown_filter(file: File) -> Iterator[Finding]:
    """Yield the filters in the file's tags that Jinja does not have."""
    yield from _FILTERS.check(file)


@rule(severity="error", kinds=JINJA_KINDS)
def unknown_test(file: File) -> Iterator[Finding]:
    """Yield the tests in the file's tags that Jinja does not have."""
    yield from _TESTS.check(file)


_ESCAPING: Final = frozenset({"e", "escape", "forceescape"})


@rule(severity="hint", kinds=JINJA_KINDS)
def html_escape(file: File) -> Iterator[Finding]:
    """Yield the first filter of the file that escapes HTML."""
    yield from first_of_each(
        file, html_escape.name, (RepeatedFinding("", found) for found in _in_chunk(file))
    )


@each_chunk
def _in_chunk(chunk: Chunk) -> Iterator[Finding]:
    for start, node in expressions_in(chunk):
        if isinstance(node, Filter) and node.name in _ESCAPING:
            message = f"`{node.name}` writes HTML: quotes reach the model as `&#34;`"
            yield Finding(node.name_span.shifted(start), message, tuple(_fixes(chunk, node, start)))


def _fixes(chunk: Chunk, node: Filter, start: int) -> Iterator[Fix]:
    if node.target is None:
        return
    target, whole = node.target.span.shifted(start), node.span.shifted(start)
    text = chunk.slice(target)
    if text and whole.start <= target.start:
        yield Fix(
            "Escape for YAML instead",
            (Edit(Span(target.start, whole.end), f"escape_special_characters({text})"),),
        )
        yield Fix(f"Remove `{node.name}`", (Edit(Span(target.end, whole.end), ""),))


_CONVERSION: Final = re.compile(r"%(?:%|(?:\(\w+\))?[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[diouxXeEfFgGcrsa])")


@rule(severity="error", kinds=JINJA_KINDS)
@each_chunk
def wrong_format_arguments(chunk: Chunk) -> Iterator[Finding]:
    """Yield the format texts with more or fewer places than the values that fill them."""
    for start, node in expressions_in(chunk):
        match node:
            case Operation(
                operators=("%",), operands=(Constant(value=str(text)), Collection(kind="tuple", items=values))
            ):
                yield from _mismatch(node, _conversions(text), values, start)
            case Filter(name="format", target=Constant(value=str(text)), arguments=values):
                yield from _mismatch(node, _conversions(text), values, start)
            case Filter(name="format", target=target, arguments=(Constant(value=str(text)) as given,)) if (
                target is not None and _conversions(text) == 1 and not isinstance(target, Constant)
            ):
                texts = [chunk.slice(each.span.shifted(start)) for each in (given, target)]
                message = "the text with the place for the value is in front of `format`"
                fix = Fix.change_to(node.span.shifted(start), f"{texts[0]} | format({texts[1]})")
                yield Finding(given.span.shifted(start), message, (fix,))
            case Call(function=Attribute(name="format", target=Constant(value=str(text))), arguments=values):
                places = _braces(text)  # further values are ignored
                yield from _mismatch(node, places, values[:places], start)
            case Collection(
                kind="tuple",
                items=(
                    Operation(operators=("%",), operands=(Constant(value=str(text)), first)),
                    *_,
                    last,
                ) as items,
            ) if _conversions(text) == len(items):
                yield _without_parentheses(Span(first.span.start, last.span.end).shifted(start))


def _mismatch(
    node: Expression, places: int | None, values: tuple[Expression, ...], start: int
) -> Iterator[Finding]:
    """Yield a finding if the text has a known number of places, and the values another number."""
    if places in {None, len(values)} or any(isinstance(each, Keyword) for each in values):
        return
    given = f"{len(values)} {'is' if len(values) == 1 else 'are'} given"
    yield Finding(
        node.span.shifted(start), f"this text has {plural(places, 'place')} for values, and {given}"
    )


def _without_parentheses(values: Span) -> Finding:
    edits = (Edit.insert(values.start, "("), Edit.insert(values.end, ")"))
    message = "the values of `%` are in parentheses: without them, it takes the first one only"
    return Finding(values, message, (Fix("Add parentheses", edits, preferred=True),))


def _conversions(text: str) -> int | None:
    """Return how many values a text takes with `%`; None if it takes them by name or in another way."""
    found = [each[0] for each in _CONVERSION.finditer(text)]
    is_plain = "%" not in _CONVERSION.sub("", text) and not any("*" in each or "(" in each for each in found)
    return sum(each != "%%" for each in found) if is_plain else None


def _braces(text: str) -> int | None:
    """Return how many values a text takes with `format`; None if it takes some by name or fails."""
    try:
        names = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    except ValueError:
        return None
    return len(names) if not any(names) else None
