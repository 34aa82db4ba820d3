"""Determine what each tag of a chunk uses and binds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, TypeAlias

from promptls.semantic.flow import use
from promptls.semantic.flow.conditions import conditions_of, is_cut, selected_uses
from promptls.semantic.flow.paths import (
    NUMBERS_ROOT,
    OF_PAIR,
    VIEWS,
    Each,
    MacroParameter,
    Path,
    Step,
    View,
    ViewKind,
    caller_root,
    extend_path,
    macro_root,
    present_if_false,
    present_if_true,
    with_optional_end,
)
from promptls.semantic.flow.uses import LIST, MAPPING, SCALAR, ExpressionUses
from promptls.semantic.names.scopes import BODY_NAMES
from promptls.semantic.types.shape import UNKNOWN
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Expression,
    Filter,
    Name,
    Statement,
    names_in,
)
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.jinja.statements import parse_tag


class TagReader:
    """Collects the uses in one tag."""

    def __init__(self, text: str) -> None:
        self._text: Final = text
        self._uses: Final = ExpressionUses()
        self._events: Final = self._uses.events

    def statement(self, statement: Statement) -> list[use.Event]:
        """Return the events of a tag."""
        keyword = statement.keyword
        if keyword.startswith("end"):
            self._events.append(use.Close(keyword[3:]))
        elif keyword in {"if", "elif"}:
            self._condition(statement)
        elif keyword == "else":
            self._events.append(use.Middle(keyword))
        elif keyword == "for":
            self._loop(statement)
        elif keyword in {"set", "with"}:
            self._assignment(statement)
        elif keyword == "output":
            for expression in statement.expressions:
                self._uses.use(expression, SCALAR)
        else:
            self._other(statement)
        return self._events

    def _condition(self, statement: Statement) -> None:
        if statement.keyword == "elif":
            self._events.append(use.Middle("elif"))
        holds = fails = use.NOTHING_TESTED
        for test in statement.expressions:
            types = use.type_tests(test)
            with self._uses.telling(types, is_last=statement.keyword == "elif"):
                self._uses.truth(test)
            holds = holds.joined(use.Tested(present_if_true(test), types.holds, conditions_of(test)))
            refused = conditions_of(test, holds=False)
            fails = fails.joined(use.Tested(present_if_false(test), types.fails, refused))
        is_if = statement.keyword == "if"
        self._events.append(use.Open("if", (), holds, fails) if is_if else use.Middle("elif", holds, fails))

    def _loop(self, statement: Statement) -> None:
        target = statement.targets[0] if statement.targets else None
        bound = [use.Bind("loop", ())]
        where: list[use.Condition] = []
        for over in statement.expressions:
            bound += self._bound_in_loop(over, target)
            if isinstance(target, Name):
                where += selected_uses(over, target.name)
        tested: tuple[Path, ...] = ()
        if statement.loop_test is not None:
            tested = present_if_true(statement.loop_test)
            where += conditions_of(statement.loop_test)
        self._events.append(use.Open("for", tuple(bound), use.Tested(tested, where=tuple(where))))
        if statement.loop_test is not None:
            self._uses.truth(statement.loop_test)

    def _bound_in_loop(self, over: Expression, target: Expression | None) -> Iterator[use.Bind]:
        mapping, view = _iterated_mapping(over)
        if mapping is None:
            path = self._uses.use(over, LIST, "iterated")
        else:
            path = self._uses.use(mapping, MAPPING, "mapping")
            if view != "keys":  # iterating over a mapping itself yields its keys
                path = extend_path(path, Step(View(view)))
        element = extend_path(path, Step(Each.ELEMENT))
        if element:
            self._uses.emit(element, UNKNOWN, over)
        elif isinstance(over, Call) and over.function == Name(over.function.span, "range"):
            element = (Step(NUMBERS_ROOT),)
        if isinstance(target, Name):
            yield use.Bind(target.name, element)
            return
        items = target.items if isinstance(target, Collection) else ()
        if element and mapping is None:
            self._uses.emit(element, LIST, over)
        for index, item in enumerate(items):
            if isinstance(item, Name):
                yield use.Bind(
                    item.name, extend_path(element, Step(OF_PAIR[index])) if index < len(OF_PAIR) else ()
                )

    def _assignment(self, statement: Statement) -> None:
        paths = [
            with_optional_end(path) if is_cut(each) else path
            for each in statement.expressions
            for path in (self._uses.use(each, UNKNOWN),)
        ]
        targets = statement.targets
        if len(paths) != len(targets) or (statement.keyword == "set" and statement.opens_block):
            paths = [()] * len(targets)
        bound: list[use.Bind] = []
        for target, path in zip(targets, paths, strict=True):
            if isinstance(target, Name):
                bound.append(use.Bind(target.name, path))
            else:
                bound += [use.Bind(each.name, ()) for each in names_in((target,))]
        if statement.keyword == "with":
            self._events.append(use.Open("with", tuple(bound)))
            return
        self._events.extend(bound)
        if statement.opens_block:
            self._events.append(use.Open("set"))

    def _other(self, statement: Statement) -> None:
        """Visit any other tag: what it reads, and what it binds for other tags or inside its block."""
        if statement.keyword == "call" and statement.parameters:
            self._uses.call_block = self._text
        # A default is only evaluated if the argument is missing.
        self._uses.branches += statement.keyword == "macro"
        for expression in statement.expressions:
            self._uses.use(expression, UNKNOWN)
        defined = [statement.name] if statement.name and statement.keyword in {"macro", "import"} else []
        for name in (*defined, *(imported.alias for imported in statement.imported)):
            self._events.append(use.Bind(name, (Step(macro_root(name)),)))
        if statement.opens_block:
            self._events.append(use.Open(statement.keyword, tuple(self._bound_inside(statement))))

    def _bound_inside(self, statement: Statement) -> Iterator[use.Bind]:
        """Yield the bindings inside a block: parameters of a macro or call block, and Jinja's own names."""
        owner = statement.name if statement.keyword == "macro" else self._text
        for index, item in enumerate(statement.parameters):
            yield use.Bind(item.name, (Step(MacroParameter(owner, index, item.name).root),) if owner else ())
        for name in BODY_NAMES.get(statement.keyword, ()):
            yield use.Bind(name, (Step(caller_root(owner)),) if name == "caller" and owner else ())


def _iterated_mapping(over: Expression) -> tuple[Expression | None, ViewKind]:
    """Return the mapping that a loop iterates over with a method or filter, and the kind of the view."""
    match over:
        case Call(function=Attribute(target=mapping, name=name), arguments=()) if name in VIEWS:
            return mapping, VIEWS[name]
        case Filter(name="items" | "dictsort", target=target) if target is not None:
            return target, "entries"
        case _:
            return None, "entries"


TagText: TypeAlias = tuple[str, int, int]
"""The text of a tag, and the span of what is inside its delimiters."""


def unplaced_events(chunk: Chunk) -> Iterator[use.Event]:
    """Yield what the chunk's tags use and bind, in order; spans count from the start of each tag."""
    for tag in _flow_tags(chunk):
        yield from events_of(tag.text, tag.inner_start, tag.inner_end)


def tag_texts(chunk: Chunk) -> tuple[TagText, ...]:
    """Return the tags of the chunk that print a value or are statements, in order."""
    return tuple([(tag.text, tag.inner_start, tag.inner_end) for tag in _flow_tags(chunk)])


def _flow_tags(chunk: Chunk) -> list[Tag]:
    return [tag for tag in chunk.tags if tag.kind in {"output", "statement"}]


@chunk_fact
def chunk_uses(chunk: Chunk) -> tuple[use.TagUses, ...]:
    """Return what the chunk's tags use and bind, tag by tag; spans count from the chunk's start."""
    return tuple(
        use.TagUses(
            tag.span,
            tuple(
                _place(event, tag.span.start) for event in events_of(tag.text, tag.inner_start, tag.inner_end)
            ),
        )
        for tag in _flow_tags(chunk)
    )


@lru_cache(maxsize=4096)
def events_of(text: str, inner_start: int, inner_end: int) -> tuple[use.Event, ...]:
    """Return what a tag uses and binds; spans count from its start."""
    return tuple(TagReader(text).statement(parse_tag(text, inner_start, inner_end).statement))


def _place(event: use.Event, start: int) -> use.Event:
    if not isinstance(event, use.Use):
        return event
    compared = tuple([each._replace(span=each.span.shifted(start)) for each in event.compared])
    return event._replace(span=event.span.shifted(start), compared=compared)
