"""The names that tags read and bind, and their resolution: those bound, and those read from the data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from promptls.dialects.prompt_poet.vocabulary import RESERVED_INPUTS
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.builtins import FUNCTIONS
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Name, Statement, children, names_in
from promptls.syntax.jinja.statements import parse_tag
from promptls.text.positions import Span

BODY_NAMES: Final = {"for": ("loop",), "macro": ("caller", "varargs", "kwargs"), "block": ("super",)}
"""The names that Jinja itself binds in the body of a block."""
IMPLIED: Final = frozenset[str]().union(*BODY_NAMES.values())

ISOLATED: Final = "isolated"
"""The detail of a block that does not see the variables of the blocks around it."""


class NameEvent(NamedTuple):
    """A step in a chunk's names, in order: `read`, `bind`, `open`, `middle` or `close`.

    `name` is the variable, or the keyword of the block; `detail` is how it is read (`call`,
    `attribute`, or empty) or bound (`set`, `for`, `macro`, `import`, `with`, `parameter`), or `ISOLATED`.
    `bound` contains what a block binds for its body. Spans count from the chunk's start.
    """

    action: str
    name: str
    span: Span
    detail: str = ""
    bound: tuple[tuple[str, Span, str], ...] = ()


@chunk_fact
def chunk_events(chunk: Chunk) -> tuple[NameEvent, ...]:
    """Return the name events of a chunk."""
    return tuple(_events(chunk))


def _events(chunk: Chunk) -> Iterator[NameEvent]:
    for tag in chunk.tags:
        if tag.kind in {"output", "statement"}:
            start = tag.span.start
            for action, name, span, detail, bound in _tag_events(tag.text, tag.inner_start, tag.inner_end):
                placed = tuple([(each, place.shifted(start), kind) for each, place, kind in bound])
                yield NameEvent(action, name, span.shifted(start), detail, placed)


@lru_cache(maxsize=4096)
def _tag_events(text: str, inner_start: int, inner_end: int) -> tuple[NameEvent, ...]:
    """Return the events of a tag, with spans from its start; cached by the tag's text, like its tree."""
    return tuple(_statement_events(parse_tag(text, inner_start, inner_end).statement))


def _statement_events(statement: Statement) -> Iterator[NameEvent]:
    keyword = statement.keyword
    if keyword.startswith("end"):
        yield NameEvent("close", keyword[3:], statement.keyword_span)
        return
    if keyword in {"elif", "else"}:
        yield NameEvent("middle", keyword, statement.keyword_span)
    yield from _reads_around(statement)
    targets = tuple((each.name, each.span, keyword) for each in names_in(statement.targets))
    if statement.name and keyword in {"macro", "import"}:
        yield NameEvent("bind", statement.name, statement.name_span, keyword)
    for imported in statement.imported:
        yield NameEvent("bind", imported.alias, imported.alias_span, "import")
    if keyword == "set":
        for name, span, kind in targets:
            yield NameEvent("bind", name, span, kind)
    if statement.opens_block:
        own = () if keyword == "set" else targets
        parameters = tuple((item.name, item.span, "parameter") for item in statement.parameters)
        implied = tuple((name, Span(0, 0), "implied") for name in BODY_NAMES.get(keyword, ()))
        detail = ISOLATED if keyword == "block" and not statement.is_scoped else ""
        yield NameEvent("open", keyword, statement.keyword_span, detail, (*own, *parameters, *implied))
    yield from _reads_inside(statement)


def _reads_around(statement: Statement) -> Iterator[NameEvent]:
    """Yield the references of a tag before its block begins."""
    defaults = [item.default for item in statement.parameters]
    for expression in statement.expressions:
        if not any(expression is default for default in defaults):
            yield from _reads(expression)
    for target in statement.targets:
        if isinstance(target, Attribute):
            yield from _reads(target.target)
    if statement.loop_test is not None:  # it sees the loop's variable, and the outer `loop`
        yield from (read for read in _reads(statement.loop_test) if read.name == "loop")


def _reads_inside(statement: Statement) -> Iterator[NameEvent]:
    """Yield the references inside a tag's block: a loop's condition, and defaults of parameters."""
    for item in statement.parameters:
        if item.default is not None:
            yield from _reads(item.default)
    if statement.loop_test is not None:
        yield from (read for read in _reads(statement.loop_test) if read.name != "loop")


def _reads(expression: Expression, how: str = "") -> Iterator[NameEvent]:
    if isinstance(expression, Name):
        yield NameEvent("read", expression.name, expression.span, how)
        return
    for child in children(expression):
        if isinstance(expression, Call) and child is expression.function:
            yield from _reads(child, "call")
        elif isinstance(expression, Attribute):
            yield from _reads(child, "attribute")
        else:
            yield from _reads(child)


GLOBALS: Final = frozenset({*FUNCTIONS, "self"})
"""Names that Jinja itself provides."""
INJECTED: Final = frozenset(RESERVED_INPUTS)
"""Names that Prompt Poet adds to the data."""
_SCOPES: Final = frozenset({"for", "macro", "call", "filter", "with", "set", "block"})


BINDING_KINDS: Final = ("set", "for", "macro", "import", "with", "parameter")
"""The ways in which a file binds names."""


class Binding(NamedTuple):
    """A name that the file itself binds; `span` counts from the file's start."""

    name: str
    span: Span
    kind: str


class NameReference(NamedTuple):
    """A position where a variable is read.

    `binding` is what it refers to, or None for an input. `certain` is False if the name is only set in
    some branches before this position, and may be an input otherwise.
    """

    name: str
    span: Span
    how: str
    binding: Binding | None
    certain: bool

    @property
    def is_input(self) -> bool:
        """Whether the value may come from the caller."""
        return self.binding is None or not self.certain


ScopedBinding = tuple[Binding, bool, int]
"""A binding, whether it is made in all branches, and the offset that its span counts from."""
Bound = dict[str, ScopedBinding]
"""The current bindings of a scope: the latest binding of each name."""


def place_binding(scoped: ScopedBinding) -> Binding:
    """Return the binding, with its span counted from the start of the file."""
    binding, _, start = scoped
    return binding._replace(span=binding.span.shifted(start)) if start else binding


class _Scope:
    """An open block that is a scope, or the file itself.

    Blocks inside one that is isolated see only its names and those of the file.
    """

    __slots__ = ("bound", "is_isolated", "keyword")

    def __init__(self, keyword: str = "", *, is_isolated: bool = False) -> None:
        self.keyword = keyword
        self.is_isolated = is_isolated
        self.bound: Bound = {}


class _If:
    """An open `if`: the bindings before it, and those at the end of each finished branch."""

    __slots__ = ("entry", "has_else", "over")

    def __init__(self, entry: Bound) -> None:
        self.entry = entry
        self.over: Bound | None = None
        self.has_else = False


def _join(first: Bound, second: Bound) -> Bound:
    if first == second:
        return second
    either: Bound = {}
    for name in first.keys() | second.keys():
        binding, certain, start = second.get(name) or first[name]
        either[name] = (binding, certain and name in first and name in second and first[name][1], start)
    return either


class Resolver:
    """The scopes and branches that are open at the current position.

    `late` are the names that the file binds at its end, outside of all blocks: a macro may read
    them earlier in the text, because it is called later.
    """

    def __init__(self, late: Bound | None = None) -> None:
        self.scopes = [_Scope()]
        self.blocks: list[str] = []
        self._ifs: list[_If] = []
        self._late: Final[Bound] = late or {}

    def visible_scopes(self) -> Iterator[_Scope]:
        """Yield the scopes whose names are visible here, from the innermost to that of the file."""
        for scope in reversed(self.scopes):
            yield scope
            if scope.is_isolated:
                yield self.scopes[0]
                return

    def references(self, chunk: Chunk, start: int) -> Iterator[NameReference]:
        """Advance over the chunk that begins at offset `start`; yield its resolved references, in order."""
        for event in chunk_events(chunk):
            if event.action == "read":
                binding, certain = self.meaning(event.name)
                span = event.span.shifted(start)
                yield NameReference(event.name, span, event.detail, binding, certain or binding is None)
            else:
                self.pass_event(event, start)

    def meaning(self, name: str) -> tuple[Binding | None, bool]:
        """Return the binding that a name refers to here, or None, and whether that is certain."""
        found: Binding | None = None
        for scope in self.visible_scopes():
            known = scope.bound.get(name)
            if known is not None:
                found = found or place_binding(known)
                if known[1]:
                    return found, True
        if found is None and name in self._late and "macro" in self.blocks:
            found = place_binding(self._late[name])
        return found, False

    def is_bound(self, name: str) -> bool:
        """Return whether a name certainly refers to a binding of the file here."""
        for scope in self.visible_scopes():
            known = scope.bound.get(name)
            if known is not None and known[1]:
                return True
        return False

    def pass_event(self, event: NameEvent, start: int = 0) -> None:
        """Update the scopes for an event that is not a reference."""
        if event.action == "bind":
            self.bind((Binding(event.name, event.span, event.detail), True, start))
        elif event.action == "open":
            self._open(event, start)
        elif event.action == "middle":
            self._middle(event)
        else:
            self._close(event)

    def bind(self, scoped: ScopedBinding) -> None:
        """Record that a name is bound here, or may be."""
        bound = self.scopes[-1].bound
        name = scoped[0].name
        known = bound.get(name)
        if known is not None and known[1] and not scoped[1]:
            scoped = (scoped[0], True, scoped[2])
        bound[name] = scoped

    def _open(self, event: NameEvent, start: int) -> None:
        self.blocks.append(event.name)
        if event.name == "if":
            self._ifs.append(_If(dict(self.scopes[-1].bound)))
        if event.name not in _SCOPES:
            return
        scope = _Scope(event.name, is_isolated=event.detail == ISOLATED)
        for name, span, kind in event.bound:
            scope.bound[name] = (Binding(name, span, kind), True, start)
        self.scopes.append(scope)

    def _middle(self, event: NameEvent) -> None:
        if not self.blocks:
            return
        if self.blocks[-1] == "if":
            branches, scope = self._ifs[-1], self.scopes[-1]
            over = branches.over
            branches.over = scope.bound if over is None else _join(over, scope.bound)
            branches.has_else = branches.has_else or event.name == "else"
            scope.bound = dict(branches.entry)
        elif self.blocks[-1] == "for" and event.name == "else":
            self.scopes[-1].bound.clear()

    def _close(self, event: NameEvent) -> None:
        if event.name not in self.blocks:
            return
        while True:
            closed = self.blocks.pop()
            if closed == "if":
                branches, scope = self._ifs.pop(), self.scopes[-1]
                over = branches.over if branches.has_else else branches.entry
                if not branches.has_else and branches.over is not None:
                    over = _join(branches.entry, branches.over)
                scope.bound = scope.bound if over is None else _join(over, scope.bound)
            elif closed in _SCOPES:
                self.scopes.pop()
            if closed == event.name:
                return
