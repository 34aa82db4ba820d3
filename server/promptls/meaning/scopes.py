"""Which names a text binds, and which it reads from its data.

The rules are jinja2's: a `for` loop, a macro, a `call`, `filter`, `with` or block-`set`
body is a scope; `if` is none, but what is set in one of its branches may or may not be
there behind it. A name that nothing binds is an input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.blocks import BlockTag
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Name, Statement, children
from promptls.syntax.jinja.problems import tag_tree
from promptls.text.span import Span

GLOBALS: Final = frozenset({"range", "dict", "lipsum", "cycler", "joiner", "namespace", "self"})
"""Names that Jinja itself provides."""
INJECTED: Final = frozenset({"escape_special_characters", "token_limit"})
"""Names that Prompt Poet adds to the data."""
_BODY_NAMES: Final = {"for": ("loop",), "macro": ("caller", "varargs", "kwargs"), "block": ("super",)}
_SCOPES: Final = frozenset({"for", "macro", "call", "filter", "with", "set", "block"})


class NameEvent(NamedTuple):
    """One step of a chunk's names, in order: `read`, `bind`, `open`, `middle` or `close`.

    `name` is the variable, or the keyword of the block; `detail` says how it is read (`call`,
    `attribute`, or empty) or bound (`set`, `for`, `macro`, `import`, `with`, `parameter`).
    `bound` holds what a block binds for its body. Spans count from the chunk's start.
    """

    action: str
    name: str
    span: Span
    detail: str = ""
    bound: tuple[tuple[str, Span, str], ...] = ()


class Binding(NamedTuple):
    """A name that the file itself makes; `span` counts from the file's start."""

    name: str
    span: Span
    kind: str


class Reading(NamedTuple):
    """A place where a variable is read.

    `binding` is what it refers to, or None for an input. `certain` is False where the name is
    set only on some ways to this place, and may be an input on the others.
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


@kept
def chunk_events(chunk: Chunk) -> tuple[NameEvent, ...]:
    """The name events of a chunk."""
    return tuple(_events(chunk))


def _events(chunk: Chunk) -> Iterator[NameEvent]:
    for tag in chunk.tags:
        if tag.kind in {"output", "statement"}:
            statement = tag_tree(tag).statement
            for event in _statement_events(statement):
                bound = tuple((name, span.shifted(tag.span.start), kind) for name, span, kind in event.bound)
                yield event._replace(span=event.span.shifted(tag.span.start), bound=bound)


def _statement_events(statement: Statement) -> Iterator[NameEvent]:
    keyword = statement.keyword
    if keyword.startswith("end"):
        yield NameEvent("close", keyword[3:], statement.keyword_span)
        return
    if keyword in {"elif", "else"}:
        yield NameEvent("middle", keyword, statement.keyword_span)
    yield from _reads_around(statement)
    targets = tuple(
        (name.name, name.span, keyword) for target in statement.targets for name in _target_names(target)
    )
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
        implied = tuple((name, Span(0, 0), "implied") for name in _BODY_NAMES.get(keyword, ()))
        yield NameEvent("open", keyword, statement.keyword_span, bound=(*own, *parameters, *implied))
    yield from _reads_inside(statement)


def _reads_around(statement: Statement) -> Iterator[NameEvent]:
    """What a tag reads before it opens its block."""
    defaults = [item.default for item in statement.parameters]
    for expression in statement.expressions:
        if not any(expression is default for default in defaults):
            yield from _reads(expression)
    for target in statement.targets:
        if isinstance(target, Attribute):
            yield from _reads(target.target)


def _reads_inside(statement: Statement) -> Iterator[NameEvent]:
    """What a tag reads in its block: a loop's test, and defaults, which know the parameters before them."""
    for item in statement.parameters:
        if item.default is not None:
            yield from _reads(item.default)
    if statement.loop_test is not None:
        yield from _reads(statement.loop_test)


def _target_names(target: Expression) -> Iterator[Name]:
    if isinstance(target, Name):
        yield target
    elif not isinstance(target, Attribute):
        for child in children(target):
            yield from _target_names(child)


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


class _Scope:
    """One open block: what it binds, and the branches that lie around its bindings."""

    __slots__ = ("bound", "keyword")

    def __init__(self, keyword: str) -> None:
        self.keyword = keyword
        self.bound: dict[str, tuple[Binding, tuple[int, ...]]] = {}


class Resolver:
    """The scopes and branches open at the place that has been reached, and what was found on the way."""

    def __init__(self) -> None:
        self.scopes = [_Scope("")]
        self.branches: list[int] = []
        self.next_branch = 0
        self.readings: list[Reading] = []
        self.bindings: list[Binding] = []
        self.in_macros: list[int] = []
        self.blocks: list[str] = []

    def take(self, chunk: Chunk, start: int) -> None:
        """Go over the chunk that begins at offset `start`."""
        for event in chunk_events(chunk):
            getattr(self, f"_{event.action}")(event, start)

    def pass_blocks(self, loose: tuple[BlockTag, ...]) -> None:
        """Go over nothing of a chunk but the tags whose partners are elsewhere."""
        for tag in loose:
            getattr(self, f"_{tag.action}")(NameEvent(tag.action, tag.keyword, tag.span), 0)

    def bound_here(self, names: frozenset[str]) -> dict[str, tuple[Binding, bool]]:
        """What those of the names mean here that the file has bound, and whether they certainly do."""
        found: dict[str, tuple[Binding, bool]] = {}
        for scope in reversed(self.scopes):
            for name in names & scope.bound.keys():
                if name not in found:
                    binding, path = scope.bound[name]
                    found[name] = (binding, self.branches[: len(path)] == list(path))
        return found

    def binds_nothing(self) -> bool:
        """Whether nothing is bound at the place reached, outside every block."""
        return len(self.scopes) == 1 and not self.scopes[0].bound

    def _read(self, event: NameEvent, start: int) -> None:
        binding, certain = None, True
        for scope in reversed(self.scopes):
            if event.name in scope.bound:
                binding, path = scope.bound[event.name]
                certain = self.branches[: len(path)] == list(path)
                break
        if binding is None and "macro" in self.blocks:
            self.in_macros.append(len(self.readings))
        self.readings.append(Reading(event.name, event.span.shifted(start), event.detail, binding, certain))

    def _bind(self, event: NameEvent, start: int) -> None:
        binding = Binding(event.name, event.span.shifted(start), event.detail)
        self.bindings.append(binding)
        known = self.scopes[-1].bound.get(event.name)
        path = tuple(self.branches)
        if known and known[1] == path[: len(known[1])]:
            path = known[1]
        self.scopes[-1].bound[event.name] = (binding, path)

    def _open(self, event: NameEvent, start: int) -> None:
        self.blocks.append(event.name)
        if event.name == "if":
            self._enter_branch()
        if event.name not in _SCOPES:
            return
        scope = _Scope(event.name)
        for name, span, kind in event.bound:
            binding = Binding(name, span.shifted(start), kind)
            if kind != "implied":
                self.bindings.append(binding)
            scope.bound[name] = (binding, tuple(self.branches))
        self.scopes.append(scope)

    def _enter_branch(self) -> None:
        self.next_branch += 1
        self.branches.append(self.next_branch)

    def _middle(self, event: NameEvent, _start: int) -> None:
        if not self.blocks:
            return
        if self.blocks[-1] == "if":
            self.branches.pop()
            self._enter_branch()
        elif self.blocks[-1] == "for" and event.name == "else":
            self.scopes[-1].bound.clear()

    def _close(self, event: NameEvent, _start: int) -> None:
        if event.name not in self.blocks:
            return
        while True:
            closed = self.blocks.pop()
            if closed == "if":
                self.branches.pop()
            elif closed in _SCOPES:
                self.scopes.pop()
            if closed == event.name:
                return

    def bind_late(self) -> None:
        """Let macros read what the file sets further down, before they are called."""
        top = self.scopes[0].bound
        for index in self.in_macros:
            reading = self.readings[index]
            if reading.name in top:
                self.readings[index] = reading._replace(binding=top[reading.name][0], certain=False)
