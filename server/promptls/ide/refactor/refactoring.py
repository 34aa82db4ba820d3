"""The selection that a refactoring examines, and its offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from promptls.lint.rule import Edit
from promptls.semantic.kind import Kind
from promptls.semantic.parts import Part, chunk_items, next_line, value_end
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot

RefactoringKind = Literal["refactor.extract", "refactor.inline", "refactor.rewrite"]


@dataclass(frozen=True, slots=True)
class RefactorSelection:
    """A selection in a prompt file; empty if there is only a cursor."""

    snapshot: Snapshot
    path: str
    template: Template
    span: Span

    @property
    def kind(self) -> Kind:
        """The kind of the file."""
        return self.snapshot.kind(self.path)

    @property
    def selected(self) -> str:
        """The selected text."""
        return self.template.source.slice(self.span)


@dataclass(frozen=True, slots=True)
class Change:
    """Edits of the selected file, and the texts of new files by path."""

    edits: tuple[Edit, ...]
    new_files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offer:
    """A refactoring that can be applied, or one that cannot, with a `reason`.

    `change` computes the edits, which may be more expensive than checking whether it can be applied.
    """

    title: str
    kind: RefactoringKind
    change: Callable[[], Change]
    reason: str = ""
    makes_files: bool = False
    preferred: bool = False


def refuse(title: str, kind: RefactoringKind, reason: str, *, makes_files: bool = False) -> Offer:
    """Return a refactoring that cannot be applied here, with the reason."""
    return Offer(title, kind, lambda: Change(()), reason, makes_files)


def line_break(template: Template) -> str:
    """Return the line break of the file."""
    return "\r\n" if "\r\n" in template.source.first_chunk.text else "\n"


def fresh_name(base: str, taken: frozenset[str] | set[str]) -> str:
    """Return `base`, with a number appended if it is taken."""
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


class PartRegion(NamedTuple):
    """A part of a chunk with its lines, relative to the chunk's start."""

    span: Span
    part: Part


def part_region(chunk: Chunk) -> PartRegion | None:
    """Return the region of the chunk's only part.

    It ends at a line break, and does not split blocks; None if that is not possible.
    """
    items = chunk_items(chunk)
    if len(items.parts) != 1 or items.others or not chunk.text.startswith("-"):
        return None
    part = items.parts[0]
    end = max(value_end(chunk, entry) for entry in part.entries)
    grown = True
    while grown:
        grown = False
        for pair in chunk_blocks(chunk).pairs:
            closing = chunk.tags[pair.closing].span.end
            if chunk.tags[pair.opening].span.start < end < closing:
                end, grown = next_line(chunk.text, closing), True
    if any(chunk.tags[tag.place].span.start < end for tag in chunk_blocks(chunk).loose):
        return None
    if any(tag.span.start < end < tag.span.end for tag in chunk.tags):
        return None
    return PartRegion(Span(0, end), part)
