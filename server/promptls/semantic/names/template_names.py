"""Find the templates that an include can lead to if its name is an expression."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from itertools import islice, product
from typing import Final, NamedTuple

from promptls.semantic.flow.paths import path_of
from promptls.semantic.flow.shapes import known_constants
from promptls.semantic.names.mentions import TemplateReference, choices
from promptls.semantic.names.scopes import BINDING_KINDS, Binding, NameReference
from promptls.semantic.template import Template
from promptls.semantic.types.shape import SOMETIMES, Need
from promptls.syntax.facts import placed_fact
from promptls.syntax.jinja.nodes import Collection, Constant, Expression, Item, Name, Operation, Statement
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.source import NAMING
from promptls.text.positions import Span


def placed_statement_at(template: Template, offset: int) -> tuple[Statement, int] | None:
    """Return the statement of the tag around `offset`, and the offset of the tag."""
    located = template.source.located(offset)
    tag = located.tag_at(offset)
    if tag is None or tag.kind != "statement":
        return None
    return tag_tree(tag).statement, located.start + tag.span.start


def statement_at(template: Template, offset: int) -> Statement | None:
    """Return the statement of the tag around `offset`."""
    found = placed_statement_at(template, offset)
    return found[0] if found is not None else None


_ASKING: Final = frozenset({"if", "elif"})
_MAX: Final = 50
_DEEPEST: Final = 4


class WrittenName(NamedTuple):
    """A possible name for an include, or several of which it uses the first that exists.

    `span` is where the literal is in the file. `is_whole` is True if the name is one literal rather than a
    concatenation. `where` contains the conditions for this name, and is empty if it is unconditional.
    """

    names: tuple[str, ...]
    span: Span
    is_whole: bool = True
    is_variable: bool = False
    where: frozenset[Need] = frozenset()


def written_names(template: Template, reference: TemplateReference) -> Iterator[WrittenName]:
    """Yield the names that a reference by an expression may lead to, as far as the file contains them."""
    yield from islice(_names_of(_Reader(template), template, reference), _MAX)


def _certain_names(template: Template, reference: TemplateReference) -> tuple[WrittenName, ...]:
    """Return all names that a reference by an expression can lead to; empty if there may be others."""
    reader = _Reader(template, is_exact=True)
    found = {each.names: each for each in islice(_names_of(reader, template, reference), _MAX)}
    return tuple(found.values()) if reader.is_whole and len(found) < _MAX else ()


def _names_of(reader: _Reader, template: Template, reference: TemplateReference) -> Iterator[WrittenName]:
    statement = statement_at(template, reference.span.start)
    if reference.name is not None or statement is None or statement.template is None:
        return
    start = tag_start(template, reference.span)
    for node in choices(statement.template):
        if node.span.shifted(start) == reference.span:
            yield from reader.names(node, start)


def tag_start(template: Template, span: Span) -> int:
    """Return the offset of the tag that contains the span."""
    located = template.source.located(span.start)
    inside = span.start - located.start
    return next(
        located.start + tag.span.start
        for tag in located.chunk.tags_at(Span(max(inside - 1, 0), inside + 1))
        if tag.kind == "statement" and tag.span.touches(inside)
    )


def _declared_texts(template: Template) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the inputs that are declared as one of several texts, each with its texts, in file order."""
    found = []
    for key in template.declarations.inputs:
        values = key.schema.get("enum")
        if isinstance(values, list) and values and all(isinstance(each, str) for each in values):
            found.append((key.name, tuple(values)))
    return tuple(found)


class _Reader:
    """Follows variables to literals in one file."""

    def __init__(self, template: Template, *, is_exact: bool = False) -> None:
        self._template: Final = template
        self._is_exact: Final = is_exact
        self.is_whole = True
        """Whether all possible names have been found so far."""

    def names(self, node: Expression, start: int, depth: int = 0) -> Iterator[WrittenName]:
        """Yield the possible names for an expression in the tag at `start`; empty if nothing is known."""
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
        """Yield the constants that a value must be one of, by the enclosing conditions."""
        constants = known_constants(self._template, path_of(node), start)
        if not constants and isinstance(node, Name):
            constants = dict(_declared_texts(self._template)).get(node.name, ())
        self.is_whole = self.is_whole and bool(constants)
        resolved = tuple([step.key for step in path_of(node) if isinstance(step.key, str)])
        for each in constants:
            need = Need(resolved, is_among=True, values=frozenset({each}))
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
        """Yield the values of a variable or its items: the offset of the tag, and its conditions."""
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
        """Return whether a variable is the loop variable of a list."""
        reference = self._reference(name, start)
        if reference is None or reference.binding is None or reference.binding.kind != "for":
            return False
        statement = statement_at(self._template, reference.binding.span.start)
        return statement is not None and statement.loop_test is None

    def _reference(self, name: Name, start: int) -> NameReference | None:
        return self._template.names.reference_at(name.span.shifted(start))

    def _values(self, name: Name, start: int, depth: int) -> Iterator[tuple[Expression, int]]:
        """Yield the possible values of a variable, each with the offset of its tag."""
        if depth > _DEEPEST:
            return
        reference = self._reference(name, start)
        if reference is None or reference.binding is None:
            return
        for binding in self._bindings(reference.binding, is_certain=reference.certain):
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
        """Return the bindings that a reference may refer to; all if they are only used for includes."""
        names = self._template.names
        bound = (
            each
            for kind in BINDING_KINDS
            if nearest.name in names.bound_names(kind)
            for each in names.bindings_of(kind)
            if each.name == nearest.name
        )
        found = tuple(islice(bound, _MAX + 1))
        if not is_certain:
            self.is_whole = False  # the name may also be an input
        if len(found) == 1:
            return found
        is_followed = len(found) <= _MAX and all(each.kind == "set" for each in found)
        if is_followed and self._only_names(nearest.name):
            return found
        return (nearest,) if is_certain else ()

    def _only_names(self, name: str) -> bool:
        """Return whether a variable is only read to name templates."""
        for reference in self._template.names.references_of(name):
            statement = statement_at(self._template, reference.span.start)
            if statement is None or statement.keyword not in NAMING | _ASKING:
                return False
        return True


def _binds_one(statement: Statement) -> bool:
    """Return whether a tag binds one name to one expression."""
    is_single = len(statement.targets) == len(statement.expressions) == 1
    return is_single and isinstance(statement.targets[0], Name)


def sometimes(choices_: Sized) -> frozenset[Need]:
    """Return the condition for each of some choices: none if there is only one."""
    return frozenset({SOMETIMES}) if len(choices_) > 1 else frozenset()


def _items(node: Expression, *, values: bool) -> tuple[Expression, ...]:
    """Return the items of a list; for a mapping its values, or its keys, which a loop iterates over."""
    if not isinstance(node, Collection):
        return ()
    return node.items if node.kind != "dict" else node.items[1 if values else 0 :: 2]


@placed_fact
def leading_references(template: Template) -> tuple[TemplateReference, ...]:
    """Return the references of a file.

    A reference by an expression is replaced by one for each of its possible names. If some of these are
    unknown, the reference itself is included as well, without a name.
    """
    return tuple([each for reference in template.references for each in _led(template, reference)])


def _led(template: Template, reference: TemplateReference) -> Iterator[TemplateReference]:
    is_open = reference.name is None and not reference.is_unfinished
    names = _certain_names(template, reference) if is_open else ()
    for each in names:
        alternatives = each.names if len(each.names) > 1 else ()
        is_choice = reference.is_choice or bool(each.where)
        yield reference._replace(
            name=each.names[0], alternatives=alternatives, is_choice=is_choice, where=each.where
        )
    if not names:
        yield reference
