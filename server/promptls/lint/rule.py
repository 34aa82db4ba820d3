"""What a rule is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import cleandoc
from sys import modules
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from promptls.semantic.header import Declarations, Example
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.chunk_list import Piece
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary
    from promptls.rendering.file_rendering import FileRendering

Severity = Literal["error", "warning", "information", "hint"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of one span of the file by a text."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that take a finding away; a preferred one can be applied without looking."""

    title: str
    edits: tuple[Edit, ...]
    preferred: bool = False

    def shifted(self, by: int) -> Fix:
        """Return the same fix in a text that begins `by` characters earlier."""
        return Fix(
            self.title, tuple(Edit(edit.span.shifted(by), edit.text) for edit in self.edits), self.preferred
        )


@dataclass(frozen=True, slots=True)
class RelatedPlace:
    """Another place that a finding speaks of, in the file at `path`."""

    path: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: where, what is wrong, and what would mend it.

    `severity` is None for the rule's own. `unnecessary` marks text that could go.
    """

    span: Span
    message: str
    fixes: tuple[Fix, ...] = ()
    related: tuple[RelatedPlace, ...] = ()
    unnecessary: bool = False
    rule: str = ""
    severity: Severity | None = None

    def of(self, rule: str, severity: Severity) -> Finding:
        """Return the same finding, of a rule and with its severity."""
        return Finding(self.span, self.message, self.fixes, self.related, self.unnecessary, rule, severity)

    def shifted(self, by: int) -> Finding:
        """Return the same finding in a text that begins `by` characters earlier; related places stay."""
        if not by:
            return self
        return Finding(
            self.span.shifted(by),
            self.message,
            tuple([fix.shifted(by) for fix in self.fixes]),
            self.related,
            self.unnecessary,
            self.rule,
            self.severity,
        )


@dataclass(frozen=True, slots=True)
class FileContext:
    """What a rule may ask about the file that it checks."""

    snapshot: Snapshot
    path: str
    template: Template
    kind: Kind
    project: Project


class CheckNames(NamedTuple):
    """How a rule looks at a chunk that needs to know what some names mean in the file.

    `facts` gives what the rule needs to know of each name. `check` looks at one chunk, as `Rule.check_chunk`
    does, and is given the facts of the names that `mentioned` gives for the chunk.
    """

    facts: Callable[[FileContext], Mapping[str, object]]
    mentioned: Callable[[Piece], frozenset[str]]
    check: Callable[[Chunk, Mapping[str, Any]], Iterable[Finding]]


class CheckExamples(NamedTuple):
    """How a rule looks at each of the examples that a file declares, by itself.

    `basis` gives what the rule needs to know of the file, or None if it has nothing to look for; two are
    the same when they are equal. `check` looks at one example, as `Rule.check` does at a file; what it finds
    depends on the example and the basis alone, and is kept with the example. Its number may stand in messages.
    """

    basis: Callable[[FileContext], object]
    check: Callable[[str, Example, Any], Iterable[Finding]]
    """Given the text of the file, an example, and the basis."""


@dataclass(frozen=True)
class Rule:
    """One rule. Its page is the docstring of the module that declares it.

    `check` looks at a whole file; it runs again when something that it has read is different.
    `check_chunk` looks at one chunk, with spans that count from the chunk's start; `check_declared` too,
    beside what the file declares, and `check_names` beside what the names in the chunk mean.
    `check_examples` looks at one example at a time. `check_rendering` looks at what a file was rendered to,
    once the typing pauses. `reads_prose` is false if `check_chunk` finds the same whatever the prose
    between the tags of a content says; `reads_values` too if it finds the same whatever is printed in lines
    of prose.
    """

    name: str
    summary: str
    severity: Severity
    module: str
    kinds: frozenset[Kind]
    check: Callable[[FileContext], Iterable[Finding]] | None = None
    check_chunk: Callable[[Chunk, Project], Iterable[Finding]] | None = None
    reads_prose: bool = True
    reads_values: bool = True
    check_declared: Callable[[Chunk, Declarations, Project], Iterable[Finding]] | None = None
    check_names: CheckNames | None = None
    check_examples: CheckExamples | None = None
    check_rendering: Callable[[FileContext, FileRendering], Iterable[Finding]] | None = None
    check_runs: Callable[[FileContext, Sequence[RunSummary]], Iterable[Finding]] | None = None
    since: str = "0.1.0"

    @cached_property
    def page(self) -> str:
        """The rule's documentation, in Markdown."""
        return cleandoc(modules[self.module].__doc__ or "")


PARTS_KINDS = frozenset({Kind.PARTS, Kind.SECTION})
"""The kinds whose YAML is a list of parts."""
JINJA_KINDS = PARTS_KINDS | {Kind.TEXT}
"""The kinds that Jinja makes a list of parts of, with the texts that they include."""
OBJECT_KINDS = frozenset({Kind.OBJECT})
"""Prompt objects."""
EVALUATION_KINDS = frozenset({Kind.EVALUATION})
"""Evaluation prompts."""
YAML_KINDS = PARTS_KINDS | OBJECT_KINDS | EVALUATION_KINDS
"""The kinds that are YAML under their Jinja."""
DECLARING_KINDS = YAML_KINDS | {Kind.TEXT}
"""The kinds that can declare inputs and examples: every prompt file."""
