"""Which names a file binds, and which it reads from its data.

The rules are jinja2's: a `for` loop, a macro, a `call`, `filter`, `with` or block-`set`
body is a scope; `if` is none, but what is set in one of its branches may or may not be
there behind it. A name that nothing binds is an input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Name, Statement, children
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.source import Source
from promptls.text.span import Span

GLOBALS: Final = frozenset({"range", "dict", "lipsum", "cycler", "joiner", "namespace"})
"""Names that Jinja itself provides."""
INJECTED: Final = frozenset({"escape_special_characters", "token_limit"})
"""Names that Prompt Poet adds to the data."""
_BODY_NAMES: Final = {"for": ("loop",), "macro": ("caller", "varargs", "kwargs"), "block": ("self", "super")}
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


class FileNames(NamedTuple):
    """All readings and bindings of a file, in the order of their places.

    `takes_all` is set when a part of the file sees every variable by a name that nobody can
    read, such as an include whose template is an expression.
    """

    readings: tuple[Reading, ...]
    bindings: tuple[Binding, ...]
    takes_all: bool

    def inputs(self) -> dict[str, list[Reading]]:
        """The readings of each variable that may come from the caller, without Jinja's own names."""
        found: dict[str, list[Reading]] = {}
        for reading in self.readings:
            if reading.is_input and reading.name not in GLOBALS and reading.name not in INJECTED:
                found.setdefault(reading.name, []).append(reading)
        return found


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
    for expression in statement.expressions:
        yield from _reads(expression)
    for target in statement.targets:
        if isinstance(target, Attribute):
            yield from _reads(target.target)
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


def file_names(source: Source) -> FileNames:
    """Every reading and binding of the file, resolved."""
    return _Resolver().run(source)


class _Resolver:
    """The scopes and branches open at the place that has been reached."""

    def __init__(self) -> None:
        self.scopes = [_Scope("")]
        self.branches: list[int] = []
        self.next_branch = 0
        self.readings: list[Reading] = []
        self.bindings: list[Binding] = []
        self.in_macros: list[int] = []
        self.blocks: list[str] = []

    def run(self, source: Source) -> FileNames:
        takes_all = False
        for start, chunk in zip(source.starts, source.chunks, strict=False):
            for event in chunk_events(chunk):
                getattr(self, f"_{event.action}")(event, start)
            takes_all = takes_all or _takes_all(chunk)
        return FileNames(tuple(self._with_late_bindings()), tuple(self.bindings), takes_all)

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

    def _with_late_bindings(self) -> Iterator[Reading]:
        """The readings; a macro may read what the file sets further down, before it is called."""
        late = set(self.in_macros)
        top = self.scopes[0].bound
        for index, reading in enumerate(self.readings):
            if index in late and reading.name in top:
                yield reading._replace(binding=top[reading.name][0], certain=False)
            else:
                yield reading


def _takes_all(chunk: Chunk) -> bool:
    """Whether the chunk includes a template whose name is not written out."""
    from promptls.meaning.references import template_references

    return any(reference.name is None for reference in template_references(chunk))
