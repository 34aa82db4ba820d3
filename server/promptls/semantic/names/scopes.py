"""Resolve which names a text binds, and which it reads from its data.

The rules are jinja2's: a `for` loop, a macro, a `call`, `filter`, `with` or block-`set`
body is a scope; an `if` is not, but what is set in one of its branches may or may not be
set after it. A name that nothing binds is an input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.semantic.names.events import NameEvent, chunk_events
from promptls.syntax.chunk import Chunk
from promptls.text.positions import Span

GLOBALS: Final = frozenset({"range", "dict", "lipsum", "cycler", "joiner", "namespace", "self"})
"""Names that Jinja itself provides."""
INJECTED: Final = frozenset({"escape_special_characters", "token_limit"})
"""Names that Prompt Poet adds to the data."""
_SCOPES: Final = frozenset({"for", "macro", "call", "filter", "with", "set", "block"})


class Binding(NamedTuple):
    """A name that the file itself binds; `span` counts from the file's start."""

    name: str
    span: Span
    kind: str


class Reading(NamedTuple):
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


Held = tuple[Binding, bool, int]
"""A binding, whether it is made in all branches, and the offset that its span counts from."""
Bound = dict[str, Held]
"""The current bindings of a scope: the latest binding of each name."""


def placed(held: Held) -> Binding:
    """Return the binding, with its span counted from the start of the file."""
    binding, _, start = held
    return binding._replace(span=binding.span.shifted(start)) if start else binding


class _Scope:
    """An open block that is a scope, or the file itself."""

    __slots__ = ("bound", "keyword")

    def __init__(self, keyword: str) -> None:
        self.keyword = keyword
        self.bound: Bound = {}


class _If:
    """An open `if`: the bindings before it, and those at the end of each finished branch."""

    __slots__ = ("entry", "has_else", "over")

    def __init__(self, entry: Bound) -> None:
        self.entry = entry
        self.over: Bound | None = None
        self.has_else = False


def _joined(first: Bound, second: Bound) -> Bound:
    """Return the bindings after two branches join."""
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
        self.scopes = [_Scope("")]
        self.blocks: list[str] = []
        self._ifs: list[_If] = []
        self._late: Final[Bound] = late or {}

    def readings(self, chunk: Chunk, start: int) -> Iterator[Reading]:
        """Advance over the chunk that begins at offset `start`; yield its resolved readings, in order."""
        for event in chunk_events(chunk):
            if event.action == "read":
                binding, certain = self.meaning(event.name)
                span = event.span.shifted(start)
                yield Reading(event.name, span, event.detail, binding, certain or binding is None)
            else:
                self.pass_event(event, start)

    def meaning(self, name: str) -> tuple[Binding | None, bool]:
        """Return the binding that a name refers to here, or None, and whether that is certain."""
        found: Binding | None = None
        for scope in reversed(self.scopes):
            known = scope.bound.get(name)
            if known is not None:
                found = found or placed(known)
                if known[1]:
                    return found, True
        if found is None and name in self._late and "macro" in self.blocks:
            found = placed(self._late[name])
        return found, False

    def is_bound(self, name: str) -> bool:
        """Return whether a name certainly refers to a binding of the file here."""
        for scope in self.scopes:
            known = scope.bound.get(name)
            if known is not None and known[1]:
                return True
        return False

    def pass_event(self, event: NameEvent, start: int = 0) -> None:
        """Update the scopes for an event that is not a reading."""
        if event.action == "bind":
            self.bind((Binding(event.name, event.span, event.detail), True, start))
        elif event.action == "open":
            self._open(event, start)
        elif event.action == "middle":
            self._middle(event)
        else:
            self._close(event)

    def bind(self, held: Held) -> None:
        """Record that a name is bound here, or may be."""
        bound = self.scopes[-1].bound
        name = held[0].name
        known = bound.get(name)
        if known is not None and known[1] and not held[1]:
            held = (held[0], True, held[2])
        bound[name] = held

    def _open(self, event: NameEvent, start: int) -> None:
        self.blocks.append(event.name)
        if event.name == "if":
            self._ifs.append(_If(dict(self.scopes[-1].bound)))
        if event.name not in _SCOPES:
            return
        scope = _Scope(event.name)
        for name, span, kind in event.bound:
            scope.bound[name] = (Binding(name, span, kind), True, start)
        self.scopes.append(scope)

    def _middle(self, event: NameEvent) -> None:
        if not self.blocks:
            return
        if self.blocks[-1] == "if":
            branches, scope = self._ifs[-1], self.scopes[-1]
            over = branches.over
            branches.over = scope.bound if over is None else _joined(over, scope.bound)
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
                    over = _joined(branches.entry, branches.over)
                scope.bound = scope.bound if over is None else _joined(over, scope.bound)
            elif closed in _SCOPES:
                self.scopes.pop()
            if closed == event.name:
                return
