"""Iterator that is used as a list or a text.

Reports the result of `map`, `select`, `selectattr`, `reject`, `rejectattr`, `unique`, `batch`, `slice` or
`items`, and of `reverse` for a list, where a list or a text is needed: if it is printed, tested by an `if`,
indexed, or given to a filter such as `length`, `last` or `tojson`. It is a hint if `reverse` may get a text. Variables that are set to such a result
are followed, and reported where they are read a second time.

## Why is this bad?

These filters return an iterator, whose elements are computed when a loop or a filter such as `list`
or `join` asks for them. Printed, it is `<generator object …>`; in a condition, it is true even if it has no
elements; an element by its number prints nothing; `length`, `last` and `tojson` fail. After it is read once,
no elements are left.

## Example

```yaml
- name: documents
  content: |
    The titles: {{ documents | map(attribute="title") }}
                               ^^^ unread-iterator: `map` returns an iterator, which is printed as `<generator object …>`
```

Use instead:

```yaml
- name: documents
  content: |
    The titles: {{ documents | map(attribute="title") | join(", ") }}
```
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import GeneratorType
from typing import Final, NamedTuple

from promptls.lint.analysis.literal_types import LAZY, LiteralTypes
from promptls.lint.analysis.sampled_values import sampled_schemas
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, Severity, rule
from promptls.semantic.branches import OpenBlock
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in, summary, union
from promptls.syntax.jinja.nodes import (
    Conditional,
    Expression,
    Filter,
    Item,
    Name,
    Operation,
    Slice,
    Statement,
    conditional_ids,
    walk,
)
from promptls.syntax.jinja.problems import expressions_in, tag_tree
from promptls.text.positions import Span

_NOT_READING: Final = frozenset({"d", "default"})
_OTHERS: Final = frozenset({"block", "call", "macro"})
"""Blocks whose content is not rendered once, in the order of the text."""


class _Event(NamedTuple):
    """A place where a tag sets or reads a variable, inside of the blocks that open before `after`."""

    name: str
    span: Span
    after: int
    is_set: bool = False
    is_certain: bool = True
    """Whether the tag always reads the variable."""


@chunk_fact
def _events(chunk: Chunk) -> tuple[_Event, ...]:
    """Return the places in a chunk that set or read variables, in the order of rendering."""
    found: list[_Event] = []
    for tag in chunk.tags:
        if tag.kind not in {"output", "statement"} or (tree := tag_tree(tag)).problems:
            continue
        statement, start = tree.statement, tag.span.start
        for expression in statement.expressions:
            found += _reads(expression, start, start)
        if statement.keyword == "for" and statement.expressions:
            found += _read(statement.expressions[0], start, start, is_certain=True)
        if statement.loop_test is not None:  # each round reads it
            found += _reads(statement.loop_test, start, tag.span.end)
        if statement.keyword == "set":
            found += [_Event(name, tag.span, start, is_set=True) for name in statement.target_names]
    return tuple(found)


def _reads(expression: Expression, start: int, after: int) -> Iterator[_Event]:
    """Yield the variables that filters and `in` read."""
    uncertain = conditional_ids(walk(expression))
    for node in walk(expression):
        read: Expression | None = None
        if isinstance(node, Filter) and node.name not in _NOT_READING:
            read = node.target
        elif isinstance(node, Operation) and node.operators[0] in {"in", "not in"}:
            read = node.operands[1]
        yield from _read(read, start, after, is_certain=id(node) not in uncertain)


def _read(node: Expression | None, start: int, after: int, *, is_certain: bool) -> Iterator[_Event]:
    if isinstance(node, Name):
        yield _Event(node.name, node.span.shifted(start), after, is_certain=is_certain)


_read_names: Final = summary(
    lambda chunk: frozenset(each.name for each in _events(chunk) if not each.is_set), union
)


def _second_reads(file: File, names: frozenset[str]) -> Iterator[Finding]:
    """Yield the reads of variables that are set once, to an iterator, if another read certainly comes first."""
    set_in: dict[str, tuple[OpenBlock, ...]] = {}
    read_in: dict[str, list[tuple[OpenBlock, ...]]] = {}
    for located, event in items_in(file.chunks, _events) if names else ():
        if event.name not in names:
            continue
        span = event.span.shifted(located.start)
        blocks = file.template.branches.at(span.start)
        here = tuple(block for block in blocks if block.opening < located.start + event.after)
        if any(block.keyword in _OTHERS for block in here):
            continue
        if event.is_set:
            set_in[event.name], read_in[event.name] = here, []
        elif event.name in set_in:
            around, before = set_in[event.name], read_in[event.name]
            is_after = any(here[: len(each)] == each for each in before)
            inside = here[len(around) :] if here[: len(around)] == around else ()
            if is_after or any(block.keyword == "for" for block in inside):
                where = "a tag above" if is_after else "an earlier round of the loop"
                message = (
                    f"{where} has read this iterator: no elements are left; `set` it to a list, with `| list`"
                )
                yield Finding(span, message)
            if event.is_certain:
                before.append(here)


_PRINTED: Final = "which is printed as `<generator object …>`"
_PRINTED_REVERSE: Final = "which is printed as `<list_reverseiterator object …>`"
_ITERATING: Final = LAZY | {"reverse"}
_TRUE: Final = "which is true even if it has no elements"
_NO_NUMBERS: Final = "which has no elements by number: this prints nothing"
_NO_SLICES: Final = "which cannot be sliced: rendering fails"
_REFUSING: Final = frozenset({"count", "indent", "last", "length", "random", "tojson", "truncate"})
"""Filters that fail for an iterator."""
_OF_TEXTS: Final = frozenset(
    {"capitalize", "e", "escape", "lower", "replace", "string", "title", "trim", "upper"}
)
"""Filters that make a text of their value first."""
_GROUPING: Final = frozenset({"batch", "items", "slice"})
"""Filters whose elements are lists."""


class _Use(NamedTuple):
    """An expression whose value must not be an iterator, and what happens if it is; spans count from the tag."""

    node: Expression
    effect: str
    start: int
    is_printed: bool = False
    is_indexed: bool = False


@chunk_fact
def _uses(chunk: Chunk) -> tuple[_Use, ...]:
    """Return the names and results of filters that must not be iterators where they are."""
    return tuple(
        use
        for tag in chunk.tags
        if tag.kind in {"output", "statement"} and not (tree := tag_tree(tag)).problems
        for use in _in_statement(tree.statement, tag.span.start)
        if isinstance(use.node, Name) or (isinstance(use.node, Filter) and use.node.name in _ITERATING)
    )


def _in_statement(statement: Statement, start: int) -> Iterator[_Use]:
    for expression in statement.read:
        if statement.keyword == "output":
            for node in _results(expression):
                yield _Use(node, _PRINTED, start, is_printed=True)
        elif statement.keyword in {"if", "elif"} or expression is statement.loop_test:
            for node in _conditions(expression):
                yield _Use(node, _TRUE, start)
        for node in walk(expression):
            yield from _inside(node, start)


def _inside(node: Expression, start: int) -> Iterator[_Use]:
    match node:
        case Filter(target=target, name=name) if target is not None and name in _REFUSING:
            yield _Use(target, f"for which `{name}` fails", start)
        case Filter(target=target, name=name) if target is not None and name in _OF_TEXTS:
            yield _Use(target, _PRINTED, start, is_printed=True)
        case Item(target=target, key=key) if not isinstance(key, Name):
            effect = _NO_SLICES if isinstance(key, Slice) else _NO_NUMBERS
            yield _Use(target, effect, start, is_indexed=True)
        case Operation(operators=operators, operands=operands) if "~" in operators:
            for operand in operands:
                yield _Use(operand, _PRINTED, start, is_printed=True)
        case Conditional(test=test):
            for each in _conditions(test):
                yield _Use(each, _TRUE, start)


def _results(node: Expression) -> Iterator[Expression]:
    """Yield the expressions whose value an expression may have."""
    if isinstance(node, Conditional):
        yield from _results(node.then)
        if node.otherwise is not None:
            yield from _results(node.otherwise)
    elif isinstance(node, Operation) and set(node.operators) <= {"and", "or"}:
        for operand in node.operands:
            yield from _results(operand)
    else:
        yield node


def _conditions(node: Expression) -> Iterator[Expression]:
    """Yield the expressions whose truth decides about a condition."""
    if isinstance(node, Operation) and set(node.operators) <= {"and", "or", "not"}:
        for operand in node.operands:
            yield from _conditions(operand)
    else:
        yield node


_has_lazy: Final = summary(
    lambda chunk: any(
        isinstance(node, Filter) and node.name in _ITERATING for _, node in expressions_in(chunk)
    ),
    any,
)


@rule(severity="warning", kinds=JINJA_KINDS)
def unread_iterator(file: File) -> Iterator[Finding]:
    """Yield the iterators that are used as lists or texts, once at each place."""
    if not _has_lazy(file.chunks):
        return
    types = LiteralTypes(file)
    seen: set[Span] = set()
    for located, use in items_in(file.chunks, _uses):
        place = use.node.name_span if isinstance(use.node, Filter) else use.node.span
        span = place.shifted(use.start + located.start)
        is_certain = types.type_of(use.node) is GeneratorType or _is_reversed_list(file, use.node)
        # Few prompts print a text backwards, so a value of unknown type is likely to be a list.
        if span in seen or not (is_certain or (is_certain is None and use.is_printed)):
            continue
        seen.add(span)
        what = f"`{use.node.name}` returns" if isinstance(use.node, Filter) else "this is"
        is_reverse = isinstance(use.node, Filter) and use.node.name == "reverse"
        effect = _PRINTED_REVERSE if is_reverse and use.effect == _PRINTED else use.effect
        fixes = tuple(_fixes(located.chunk, use))
        message = f"{'' if is_certain else 'for a list, '}{what} an iterator, {effect}"
        severity: Severity | None = None if is_certain else "hint"
        yield Finding(place.shifted(use.start), message, fixes, severity=severity).shifted(located.start)
    yield from _read_again(file, types)


def _is_reversed_list(file: File, node: Expression) -> bool | None:
    """Return whether a filter reverses an input that is a list, by its declaration or all samples.

    None if that is unknown.
    """
    target = node.target if isinstance(node, Filter) and node.name == "reverse" else None
    names = file.template.names
    if not isinstance(target, Name) or target.name in names.all_bound_names:
        return False
    declared = file.template.declarations.schemas
    schema = declared.get(target.name) or sampled_schemas(file).get(target.name, {})
    return bool(schema.get("type") == "array") if schema or declared else None


def _read_again(file: File, types: LiteralTypes) -> Iterator[Finding]:
    """Yield the reads of iterators in variables that come after another read."""
    names = file.template.names
    read = (names.bound_names("set") & _read_names(file.chunks)) - names.input_names
    times = Counter(each.name for each in names.bindings_of("set")) if read else Counter()
    yield from _second_reads(
        file,
        frozenset(name for name in read if times[name] == 1 and types.type_of_name(name) is GeneratorType),
    )


def _fixes(chunk: Chunk, use: _Use) -> Iterator[Fix]:
    span = use.node.span.shifted(use.start)
    if not use.is_printed:
        yield _added(chunk, use, span, "list")
    elif not (isinstance(use.node, Filter) and use.node.name in _GROUPING):
        quote = "'" if '"' not in chunk.slice(span) and "'" in chunk.text else '"'
        yield _added(chunk, use, span, f"join({quote}, {quote})")


def _added(chunk: Chunk, use: _Use, span: Span, added: str) -> Fix:
    """Return the fix that applies a filter to the expression."""
    edits = (Edit.insert(span.end, f" | {added}"),)
    if use.is_indexed and chunk.text[span.end : span.end + 1] != ")":
        edits = (Edit(span, f"({chunk.slice(span)} | {added})"),)
    return Fix(f"Add `| {added}`", edits)
