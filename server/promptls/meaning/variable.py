"""What a variable of one file is, and which chunks of the file have to do with a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from promptls.meaning.name_events import chunk_events
from promptls.meaning.references import TemplateReference, template_references
from promptls.meaning.scopes import Binding
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import Piece, union, united
from promptls.text.span import Span

WAYS: Final = ("set", "for", "macro", "import", "with", "parameter")
"""The ways in which a file binds names."""
IMPLIED: Final = frozenset({"loop", "caller", "varargs", "kwargs", "super"})
"""Names that Jinja binds in a block."""


class VariableReading(NamedTuple):
    """A place where a variable is read; `binding` is what it refers to, or None for an input."""

    span: Span
    how: str
    binding: Binding | None


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of a file; spans count from the file's start.

    `is_input` says that the caller may give it, `is_exported` that files which import this one
    get it, `is_implied` that Jinja makes it in a block, as `loop`. `seen_by` are the includes
    and imports whose files see it under its name.
    """

    name: str
    bindings: tuple[Binding, ...]
    readings: tuple[VariableReading, ...]
    seen_by: tuple[TemplateReference, ...]
    is_input: bool
    is_exported: bool
    is_implied: bool

    def holds(self, span: Span) -> bool:
        """Whether the variable is bound or read at exactly this place."""
        return any(binding.span == span for binding in self.bindings) or any(
            reading.span == span for reading in self.readings
        )


def _chunk_mentions(chunk: Chunk) -> frozenset[str]:
    names = {event.name for event in chunk_events(chunk) if event.action in {"read", "bind"}}
    return frozenset(names.union(name for event in chunk_events(chunk) for name, _, _ in event.bound))


mentions: Final = united(_chunk_mentions, union)
"""Every name that a piece reads or binds."""

_has_references: Final = united(lambda chunk: bool(template_references(chunk)), any)
"""Whether a piece names another template."""


@kept
def chunk_reads(chunk: Chunk) -> dict[str, tuple[tuple[Span, str], ...]]:
    """Where the chunk reads each name, and how."""
    found: dict[str, list[tuple[Span, str]]] = {}
    for event in chunk_events(chunk):
        if event.action == "read":
            found.setdefault(event.name, []).append((event.span, event.detail))
    return {name: tuple(places) for name, places in found.items()}


def is_wanted(piece: Piece, name: str) -> bool:
    """Whether a piece reads or binds the name, or names files that may see it."""
    return name in mentions(piece) or _has_references(piece)
