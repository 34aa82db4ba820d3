"""Filters and tests that Jinja does not have.

This follows the compiler of Jinja 3.1: a template with an unknown filter is refused on loading, unless the
filter is in a conditional expression, or the nearest enclosing block that opens a scope or a branch is an
`if`. In these cases, rendering fails when the filter is reached.

# unknown-filter

Unknown Jinja filter.

## What it does

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

## What it does

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
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import JINJA_KINDS, File, Finding, Fix, Rule
from promptls.syntax.chunk import Chunk, Piece, chunk_fact
from promptls.syntax.facts import summary
from promptls.syntax.jinja.builtins import FILTERS, TESTS
from promptls.syntax.jinja.nodes import Conditional, Constant, Expression, Filter, Statement, Test, children
from promptls.syntax.jinja.statements import parse_tag
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
    """A check for unknown names of one kind, `filter` or `test`."""

    def __init__(self, kind: type[Filter | Test], word: str, known: frozenset[str]) -> None:
        self._kind = kind
        self._word = word
        self._known = known
        self._in_tag = lru_cache(maxsize=1024)(self._find_in_tag)
        """The uses in a tag, cached by its text."""
        self._in_chunk: Final = chunk_fact(lambda chunk: tuple(self._find(chunk)))
        self._uses: Callable[[Piece], bool] = summary(lambda chunk: bool(self._in_chunk(chunk)), any)
        self._names: Callable[[Piece], tuple[object, ...]] = summary(
            lambda chunk: tuple((use.name, use.is_soft) for use in self._in_chunk(chunk)),
            tuple[object, ...],
        )

    def check(self, file: File) -> Iterator[Finding]:
        """Yield an error if loading fails, or a warning if only a branch fails."""
        for located in file.template.source.root.where(self._uses):
            for use in self._in_chunk(located.chunk):
                is_soft = use.is_soft
                if is_soft is None:
                    blocks = file.template.branches.at(located.start + use.tag)
                    frames = [block.keyword for block in blocks if block.keyword in _FRAMES]
                    is_soft = frames[-1:] == ["if"]
                message = f"Jinja has no {self._word} `{use.name}`"
                if is_soft:
                    message += ", and rendering fails where this is reached"
                finding = self._meant(use.span.shifted(located.start), message, use.name)
                yield Finding(
                    finding.span, finding.message, finding.fixes, severity="warning" if is_soft else None
                )

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


def unknown_filter(file: File) -> Iterator[Finding]:
    """Yield the filters in the file's tags that Jinja does not have."""
    yield from _FILTERS.check(file)


def unknown_test(file: File) -> Iterator[Finding]:
    """Yield the tests in the file's tags that Jinja does not have."""
    yield from _TESTS.check(file)


UNKNOWN_FILTER = Rule(unknown_filter, severity="error", kinds=JINJA_KINDS)
UNKNOWN_TEST = Rule(unknown_test, severity="error", kinds=JINJA_KINDS)
