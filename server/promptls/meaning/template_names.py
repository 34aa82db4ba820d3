"""The names of templates that an include takes from variables of its file, and where they are written out.

A name counts where it is certain that an include may get it: from the only place that sets a variable, from
the list that a loop goes over, from the values of a mapping, and put together of such with `~`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from itertools import islice, product
from typing import Final, NamedTuple

from promptls.meaning.expression_paths import path_of
from promptls.meaning.references import TemplateReference, choices
from promptls.meaning.scopes import Binding, Reading
from promptls.meaning.shape import SOMETIMES, Need
from promptls.meaning.shapes import known_constants
from promptls.meaning.statement_places import statement_at
from promptls.meaning.template import Template
from promptls.syntax.jinja.nodes import Collection, Constant, Expression, Item, Name, Operation, Statement
from promptls.text.span import Span

_KINDS: Final = ("set", "for", "with", "parameter", "macro", "import")
NAMING: Final = frozenset({"include", "import", "from", "extends"})
"""The tags that name another template."""
_ASKING: Final = frozenset({"if", "elif"})
_MOST: Final = 50
_DEEPEST: Final = 4


class WrittenName(NamedTuple):
    """A name that an include may get, or several of which it takes the first that is there.

    `span` is where it is written out in the file. `is_whole` says that it stands there as it is, and is not
    put together of pieces. `where` holds what must be so for it to be this name, nothing where the file
    always comes to it.
    """

    names: tuple[str, ...]
    span: Span
    is_whole: bool = True
    is_variable: bool = False
    where: frozenset[Need] = frozenset()


def written_names(template: Template, reference: TemplateReference) -> Iterator[WrittenName]:
    """The names that a reference by an expression may lead to, as far as the file itself says them."""
    yield from islice(_names_of(_Reader(template), template, reference), _MOST)


def certain_names(template: Template, reference: TemplateReference) -> tuple[WrittenName, ...]:
    """All names that a reference by an expression leads to; none where it may have others."""
    reader = _Reader(template, is_exact=True)
    found = {each.names: each for each in islice(_names_of(reader, template, reference), _MOST)}
    return tuple(found.values()) if reader.is_whole and len(found) < _MOST else ()


def _names_of(reader: _Reader, template: Template, reference: TemplateReference) -> Iterator[WrittenName]:
    statement = statement_at(template, reference.span.start)
    if reference.name is not None or statement is None or statement.template is None:
        return
    start = tag_start(template, reference.span)
    for node in choices(statement.template):
        if node.span.shifted(start) == reference.span:
            yield from reader.names(node, start)


def tag_start(template: Template, span: Span) -> int:
    """Where the tag begins that holds the place."""
    located = template.source.located(span.start)
    inside = span.start - located.start
    return next(
        located.start + tag.span.start
        for tag in located.chunk.tags
        if tag.kind == "statement" and tag.span.contains(inside)
    )


def declared_texts(template: Template) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The inputs that are declared to be one of some texts, each with these, in the order of the file."""
    found = []
    for key in template.declarations.inputs or ():
        values = key.schema.get("enum")
        if isinstance(values, list) and values and all(isinstance(each, str) for each in values):
            found.append((key.name, tuple(values)))
    return tuple(found)


class _Reader:
    """Follows variables to what is written out in one file."""

    def __init__(self, template: Template, *, is_exact: bool = False) -> None:
        self._template: Final = template
        self._is_exact: Final = is_exact
        self.is_whole = True
        """Whether nothing was met so far that may give other names."""

    def names(self, node: Expression, start: int, depth: int = 0) -> Iterator[WrittenName]:
        """The names that an expression in the tag at `start` may be; none of which nothing is known."""
        if depth > _DEEPEST:
            self.is_whole = False
            return
        match node:
            case Constant(value=str() as text):
                yield WrittenName((text,), node.span.shifted(start))
            case Collection():
                yield from self._first_of(node, start)
            case Operation(operators=("~",) | ("+",)):
                yield from self._joined(node, start, depth)
            case _:
                found = [
                    (choice, at, where | sometimes(chosen))
                    for value, at, where in self._stands_for(node, start, depth)
                    for chosen in (tuple(choices(value)),)
                    for choice in chosen
                ]
                for choice, at, where in found:
                    for each in self.names(choice, at, depth + 1):
                        yield each._replace(is_variable=True, where=each.where | where)
                if not found and self._is_exact:
                    yield from self._compared(node, start)

    def _compared(self, node: Expression, start: int) -> Iterator[WrittenName]:
        """The constants that a value must be one of, by the conditions around its place."""
        constants = known_constants(self._template, path_of(node), start)
        if not constants and isinstance(node, Name):
            constants = dict(declared_texts(self._template)).get(node.name, ())
        self.is_whole = self.is_whole and bool(constants)
        way = tuple([step.key for step in path_of(node) if isinstance(step.key, str)])
        for each in constants:
            need = Need(way, is_among=True, values=frozenset({each}))
            yield WrittenName((each,), node.span.shifted(start), is_variable=True, where=frozenset({need}))

    def _first_of(self, node: Collection, start: int) -> Iterator[WrittenName]:
        texts = [
            item.value for item in node.items if isinstance(item, Constant) and isinstance(item.value, str)
        ]
        if texts and len(texts) == len(node.items) and node.kind != "dict":
            yield WrittenName(tuple(texts), node.span.shifted(start))
        else:
            self.is_whole = False

    def _joined(self, node: Operation, start: int, depth: int) -> Iterator[WrittenName]:
        left, right = (
            [each for choice in choices(operand) for each in self.names(choice, start, depth + 1)]
            for operand in node.operands
        )
        for first, second in product(left, right):
            if len(first.names) != 1 or len(second.names) != 1:
                self.is_whole = False
                continue
            blamed = first.span if first.is_variable else second.span
            if not first.is_variable and not second.is_variable:
                blamed = Span(first.span.start, second.span.end)
            is_variable = first.is_variable or second.is_variable
            name = first.names[0] + second.names[0]
            where = first.where | second.where
            yield WrittenName((name,), blamed, is_whole=False, is_variable=is_variable, where=where)

    def _stands_for(
        self, node: Expression, start: int, depth: int
    ) -> Iterator[tuple[Expression, int, frozenset[Need]]]:
        """What a variable, or an item of one, may stand for: where its tag begins, and when it is that."""
        if isinstance(node, Name):
            values = tuple(self._values(node, start, depth))
            is_loop = self._is_in_loop(node, start)
            for value, at in values:
                yield value, at, frozenset() if is_loop else sometimes(values)
        elif isinstance(node, Item) and isinstance(node.target, Name):
            for value, at in self._values(node.target, start, depth):
                items = _items(value, values=True)
                for item in items:
                    yield item, at, sometimes(items)

    def _is_in_loop(self, name: Name, start: int) -> bool:
        """Whether a variable stands for one item of a list after the other."""
        reading = self._reading(name, start)
        if reading is None or reading.binding is None or reading.binding.kind != "for":
            return False
        statement = statement_at(self._template, reading.binding.span.start)
        return statement is not None and statement.loop_test is None

    def _reading(self, name: Name, start: int) -> Reading | None:
        place = name.span.shifted(start)
        readings = self._template.names.readings_in(place.start)
        return next((each for each in readings if each.span == place), None)

    def _values(self, name: Name, start: int, depth: int) -> Iterator[tuple[Expression, int]]:
        """What a variable may stand for, each with where its tag begins."""
        if depth > _DEEPEST:
            return
        reading = self._reading(name, start)
        if reading is None or reading.binding is None:
            return
        for binding in self._bindings(reading.binding, is_certain=reading.certain):
            statement = statement_at(self._template, binding.span.start)
            if statement is None or not _binds_one(statement):
                self.is_whole = False
                continue
            at = tag_start(self._template, binding.span)
            if binding.kind == "with" or (binding.kind == "set" and not statement.opens_block):
                yield statement.expressions[0], at
            elif binding.kind == "for":
                for value, place_of_list in self._lists(statement.expressions[0], at, depth):
                    for item in _items(value, values=False):
                        yield item, place_of_list
            else:
                self.is_whole = False

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
        if not is_certain:
            self.is_whole = False  # an input of that name may come through
        if len(found) == 1:
            return tuple(found)
        if all(each.kind == "set" for each in found) and self._only_names(nearest.name):
            return tuple(found)
        return (nearest,) if is_certain else ()

    def _only_names(self, name: str) -> bool:
        """Whether a variable is read for nothing but to include what it names."""
        for reading in self._template.names.readings_of(name):
            statement = statement_at(self._template, reading.span.start)
            if statement is None or statement.keyword not in NAMING | _ASKING:
                return False
        return True


def _binds_one(statement: Statement) -> bool:
    """Whether a tag binds one name, by one expression."""
    is_single = len(statement.targets) == len(statement.expressions) == 1
    return is_single and isinstance(statement.targets[0], Name)


def sometimes(choices_: Sized) -> frozenset[Need]:
    """When one of some choices is meant: always where it is alone."""
    return frozenset({SOMETIMES}) if len(choices_) > 1 else frozenset()


def _items(node: Expression, *, values: bool) -> tuple[Expression, ...]:
    """The items of a list; of a mapping its values, or its keys, which a loop goes over."""
    if not isinstance(node, Collection):
        return ()
    return node.items if node.kind != "dict" else node.items[1 if values else 0 :: 2]
