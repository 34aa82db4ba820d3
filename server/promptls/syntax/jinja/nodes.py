"""The tree of one Jinja tag.

Every node has a span that counts from the start of its tag, so that a tag's tree only depends
on the tag's text. `Missing` represents an expression that was expected but is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from promptls.syntax.problem import ProblemKind
from promptls.text.positions import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class Name:
    """A variable that is read, or a target that is assigned."""

    span: Span
    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A string, number, boolean or none."""

    span: Span
    value: Any


@dataclass(frozen=True, slots=True)
class Missing:
    """The position of a missing expression."""

    span: Span


@dataclass(frozen=True, slots=True)
class Attribute:
    """`target.name`; the name is empty while it is being typed."""

    span: Span
    target: Expression
    name: str
    name_span: Span


@dataclass(frozen=True, slots=True)
class Item:
    """`target[key]`."""

    span: Span
    target: Expression
    key: Expression


@dataclass(frozen=True, slots=True)
class Slice:
    """`start:stop:step` between brackets."""

    span: Span
    bounds: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Keyword:
    """`name=value` in a call; `name` is `*` or `**` for unpacked arguments."""

    span: Span
    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """`function(arguments)`."""

    span: Span
    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """`target | name(arguments)`; the target is missing in a `{% filter %}` tag."""

    span: Span
    target: Expression | None
    name: str
    name_span: Span
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Test:
    """`target is name(arguments)`."""

    span: Span
    target: Expression
    name: str
    name_span: Span
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator with its operands, in order: unary, binary, or a chain of comparisons."""

    span: Span
    operators: tuple[str, ...]
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then if test else otherwise`."""

    span: Span
    then: Expression
    test: Expression
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class Collection:
    """A list, tuple or dict display; a dict's keys and values alternate."""

    span: Span
    kind: str
    items: tuple[Expression, ...]


Expression: TypeAlias = (
    "Name | Constant | Missing | Attribute | Item | Slice | Keyword | Call | Filter | Test"
    " | Operation | Conditional | Collection"
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a macro or call block, with its default."""

    name: str
    span: Span
    default: Expression | None


@dataclass(frozen=True, slots=True)
class ImportedName:
    """`name as alias` in a `from` statement; without an alias both are the same."""

    name: str
    span: Span
    alias: str
    alias_span: Span


@dataclass(frozen=True, slots=True)
class Statement:
    """A tag, by its keyword; `output` for `{{ … }}`.

    `targets` are the names that the tag binds (`set`, `for`, `with`, an import's alias);
    `expressions` are those that it reads, in source order; `name` is what it defines (`macro`, `block`) or
    ends (`endblock`), or the import's alias; `template` is what it includes, imports or extends;
    `is_scoped` is whether a `block` sees the variables of the loops around it.
    """

    keyword: str
    keyword_span: Span
    expressions: tuple[Expression, ...] = ()
    targets: tuple[Expression, ...] = ()
    name: str = ""
    name_span: Span = NOWHERE
    parameters: tuple[Parameter, ...] = ()
    imported: tuple[ImportedName, ...] = ()
    template: Expression | None = None
    with_context: bool = False
    ignore_missing: bool = False
    opens_block: bool = False
    is_scoped: bool = False
    loop_test: Expression | None = None

    @property
    def first(self) -> Expression | None:
        """The first expression: the condition of an `if`, the list of a `for`, the value of a `set`."""
        return self.expressions[0] if self.expressions else None

    @property
    def target_names(self) -> list[str]:
        """The names that the tag binds, without lists of names."""
        return [each.name for each in self.targets if isinstance(each, Name)]

    @property
    def read(self) -> tuple[Expression, ...]:
        """The expressions that the tag reads, with the condition of a loop."""
        return self.expressions if self.loop_test is None else (*self.expressions, self.loop_test)


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in a tag and its span.

    `expected` is the text that is expected there, if the problem has a kind. `opened` is the span of the
    bracket that must be closed there.
    """

    span: Span
    message: str
    opened: Span | None = None
    kind: ProblemKind = ""
    expected: str = ""


@dataclass(frozen=True, slots=True)
class TagTree:
    """A parsed tag: its statement and its problems."""

    statement: Statement
    problems: tuple[Problem, ...]


def children(node: Expression) -> tuple[Expression, ...]:
    """Return the expressions directly inside `node`, in source order."""
    match node:
        case Attribute(target=target):
            return (target,)
        case Item(target=target, key=key):
            return (target, key)
        case Slice(bounds=bounds):
            return bounds
        case Keyword(value=value):
            return (value,)
        case Call(function=function, arguments=arguments):
            return (function, *arguments)
        case Filter(target=target, arguments=arguments):
            return arguments if target is None else (target, *arguments)
        case Test(target=target, arguments=arguments):
            return (target, *arguments)
        case Operation(operands=operands):
            return operands
        case Conditional(then=then, test=test, otherwise=otherwise):
            return (then, test) if otherwise is None else (then, test, otherwise)
        case Collection(items=items):
            return items
        case _:
            return ()


def walk(node: Expression) -> Iterator[Expression]:
    """Yield `node` and everything inside it in source order, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(children(current)))


def conditional_ids(expressions: Iterable[Expression]) -> frozenset[int]:
    """Return the ids of the nodes in conditional expressions, `and` and `or`, which may not be evaluated."""
    return frozenset(
        id(inner)
        for node in expressions
        if isinstance(node, Conditional)
        or (isinstance(node, Operation) and not {"and", "or"}.isdisjoint(node.operators))
        for inner in walk(node)
    )


def names_in(targets: Iterable[Expression]) -> Iterator[Name]:
    """Yield the names among the targets of a tag, and those in lists of names."""
    for target in targets:
        if isinstance(target, Name):
            yield target
        elif isinstance(target, Collection):
            yield from names_in(target.items)


def height(node: Expression) -> int:
    """Return the maximum nesting depth of nodes in `node`."""
    deepest = 0
    stack = [(node, 1)]
    while stack:
        current, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in children(current))
    return deepest
