"""What a refactoring looks at, and what it offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from promptls.meaning.kind import Kind
from promptls.meaning.template import Template
from promptls.rules.rule import Edit
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

RefactoringKind = Literal["refactor.extract", "refactor.inline", "refactor.rewrite"]


@dataclass(frozen=True, slots=True)
class Place:
    """A selection in a prompt file, which is empty where there is but a cursor."""

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
    """Edits of the file that was looked at, and new files by their paths."""

    edits: tuple[Edit, ...]
    new_files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offer:
    """A refactoring that can be had, or with a `reason`, one that cannot.

    `change` works out the edits, which may cost more than looking whether they can be had.
    """

    title: str
    kind: RefactoringKind
    change: Callable[[], Change]
    reason: str = ""
    makes_files: bool = False
    preferred: bool = False


def refused(title: str, kind: RefactoringKind, reason: str, *, makes_files: bool = False) -> Offer:
    """A refactoring that cannot be had here, with the reason in words."""
    return Offer(title, kind, lambda: Change(()), reason, makes_files)


def line_break(template: Template) -> str:
    """The line end that the file uses."""
    return "\r\n" if "\r\n" in template.source.first_chunk.text else "\n"


def fresh_name(wanted: str, taken: frozenset[str] | set[str]) -> str:
    """The wanted name, with a number behind it where it is taken."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name
