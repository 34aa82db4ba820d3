"""The names of templates that an include takes from variables of its file, and where they are written out.

A name counts where it is certain that an include may get it: from the only place that sets a variable, from
the list that a loop goes over, from the values of a mapping, and put together of such with `~`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Final, NamedTuple

from promptls.meaning.references import TemplateReference, choices
from promptls.meaning.scopes import Binding
from promptls.meaning.template import Template
from promptls.rules.macro_calls import statement_at
from promptls.rules.rule import FileContext
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import united
from promptls.syntax.jinja.nodes import Collection, Constant, Expression, Item, Name, Operation, Statement
from promptls.syntax.jinja.problems import tag_tree
from promptls.text.span import Span

_KINDS: Final = ("set", "for", "with", "parameter", "macro", "import")
_NAMING: Final = frozenset({"include", "import", "from", "extends"})
_ASKING: Final = frozenset({"if", "elif"})
_MOST: Final = 50
_DEEPEST: Final = 4


class WrittenName(NamedTuple):
    """A name that an include may get, or several of which it takes the first that is there.

    `span` is where it is written out in the file. `is_whole` says that it stands there as it is, and is not
    put together of pieces.
    """

    names: tuple[str, ...]
    span: Span
    is_whole: bool = True
    is_variable: bool = False


def written_names(template: Template, reference: TemplateReference) -> Iterator[WrittenName]:
    """The names that a reference by an expression may lead to, as far as the file itself says them."""
    statement = statement_at(template, reference.span)
    if reference.name is not None or statement is None or statement.template is None:
        return
    start = _tag_start(template, reference.span)
    for node in choices(statement.template):
        if node.span.shifted(start) == reference.span:
            yield from islice(_Reader(template).names(node, start), _MOST)


def written_texts(context: FileContext) -> object:
    """What the file writes where names of templates may come from, as an aspect of it."""
    return _texts(context.template.source.root)


_texts: Final = united(
    lambda chunk: tuple(_binding_tags(chunk)),
    tuple[object, ...],
    of_tags=True,
)


def _binding_tags(chunk: Chunk) -> Iterator[str]:
    for tag in chunk.tags:
        keyword = tag_tree(tag).statement.keyword if tag.kind == "statement" else ""
        if keyword in {"set", "for", "with"} | _NAMING:
            yield tag.text


def _tag_start(template: Template, span: Span) -> int:
    located = template.source.located(span.start)
    inside = span.start - located.start
    return next(
        located.start + tag.span.start
        for tag in located.chunk.tags
        if tag.kind == "statement" and tag.span.contains(inside)
    )


class _Reader:
    """Follows variables to what is written out in one file."""

    def __init__(self, template: Template) -> None:
        self._template: Final = template

    def names(self, node: Expression, start: int, depth: int = 0) -> Iterator[WrittenName]:
        """The names that an expression in the tag at `start` may be; none of which nothing is known."""
        if depth > _DEEPEST:
            return
        match node:
            case Constant(value=str() as text):
                yield WrittenName((text,), node.span.shifted(start))
            case Collection():
                yield from _first_of(node, start)
            case Operation(operators=("~",) | ("+",)):
                yield from self._joined(node, start, depth)
            case _:
                for value, at in self._stands_for(node, start, depth):
                    for choice in choices(value):
                        for each in self.names(choice, at, depth + 1):
                            yield each._replace(is_variable=True)

    def _joined(self, node: Operation, start: int, depth: int) -> Iterator[WrittenName]:
        left, right = (
            [each for choice in choices(operand) for each in self.names(choice, start, depth + 1)]
            for operand in node.operands
        )
        for first, second in product(left, right):
            if len(first.names) != 1 or len(second.names) != 1:
                continue
            blamed = first.span if first.is_variable else second.span
            if not first.is_variable and not second.is_variable:
                blamed = Span(first.span.start, second.span.end)
            is_variable = first.is_variable or second.is_variable
            name = first.names[0] + second.names[0]
            yield WrittenName((name,), blamed, is_whole=False, is_variable=is_variable)

    def _stands_for(self, node: Expression, start: int, depth: int) -> Iterator[tuple[Expression, int]]:
        """What a variable, or an item of one, may stand for, each with where its tag begins."""
        if isinstance(node, Name):
            yield from self._values(node, start, depth)
        elif isinstance(node, Item) and isinstance(node.target, Name):
            for value, at in self._values(node.target, start, depth):
                for item in _items(value, values=True):
                    yield item, at

    def _values(self, name: Name, start: int, depth: int) -> Iterator[tuple[Expression, int]]:
        """What a variable may stand for, each with where its tag begins."""
        if depth > _DEEPEST:
            return
        place = name.span.shifted(start)
        reading = next(
            (each for each in self._template.names.readings_in(place.start) if each.span == place), None
        )
        if reading is None or reading.binding is None:
            return
        for binding in self._bindings(reading.binding, is_certain=reading.certain):
            statement = statement_at(self._template, binding.span)
            if statement is None or not _binds_one(statement):
                continue
            at = _tag_start(self._template, binding.span)
            if binding.kind == "with" or (binding.kind == "set" and not statement.opens_block):
                yield statement.expressions[0], at
            elif binding.kind == "for":
                for value, place_of_list in self._lists(statement.expressions[0], at, depth):
                    for item in _items(value, values=False):
                        yield item, place_of_list

    def _lists(self, node: Expression, start: int, depth: int) -> Iterator[tuple[Expression, int]]:
        if isinstance(node, Name):
            yield from self._values(node, start, depth + 1)
        else:
            yield node, start

    def _bindings(self, nearest: Binding, *, is_certain: bool) -> tuple[Binding, ...]:
        """The places whose value a reading may get: all, where every one of them is meant for an include."""
        names = self._template.names
        found = [
            each
            for kind in _KINDS
            if nearest.name in names.bound_names(kind)
            for each in names.bindings_of(kind)
            if each.name == nearest.name
        ]
        if len(found) == 1:
            return tuple(found)
        if all(each.kind == "set" for each in found) and self._only_names(nearest.name):
            return tuple(found)
        return (nearest,) if is_certain else ()

    def _only_names(self, name: str) -> bool:
        """Whether a variable is read for nothing but to include what it names."""
        for reading in self._template.names.readings_of(name):
            statement = statement_at(self._template, reading.span)
            if statement is None or statement.keyword not in _NAMING | _ASKING:
                return False
        return True


def _binds_one(statement: Statement) -> bool:
    """Whether a tag binds one name, by one expression."""
    is_single = len(statement.targets) == len(statement.expressions) == 1
    return is_single and isinstance(statement.targets[0], Name)


def _first_of(node: Collection, start: int) -> Iterator[WrittenName]:
    texts = [item.value for item in node.items if isinstance(item, Constant) and isinstance(item.value, str)]
    if texts and len(texts) == len(node.items) and node.kind != "dict":
        yield WrittenName(tuple(texts), node.span.shifted(start))


def _items(node: Expression, *, values: bool) -> tuple[Expression, ...]:
    """The items of a list; of a mapping its values, or its keys, which a loop goes over."""
    if not isinstance(node, Collection):
        return ()
    return node.items if node.kind != "dict" else node.items[1 if values else 0 :: 2]
