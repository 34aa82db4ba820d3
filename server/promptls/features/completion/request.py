"""What a completion is asked for, as every source of items gets it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from promptls.meaning.header import Declarations
from promptls.meaning.kind import Kind
from promptls.meaning.references import TemplateReference
from promptls.meaning.scopes import Binding
from promptls.meaning.template import Template
from promptls.meaning.visible import Visible, visible_at
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.samples import file_samples
from promptls.syntax.source import Source
from promptls.text.failure import Failure
from promptls.text.span import Span
from promptls.workspace.needs import passes_data, scopes_before, targets
from promptls.workspace.snapshot import Snapshot

_MOST_INCLUDERS: Final = 20
"""How many of the files that include one are asked for what they hand on."""


class Inclusion(NamedTuple):
    """A reference to a file, and the file that it stands in."""

    path: str
    template: Template
    reference: TemplateReference

    @property
    def bound(self) -> dict[str, Binding]:
        """What the including file binds at the place, but for what Jinja keeps from included files."""
        scopes = scopes_before(self.template, self.reference).scopes
        return {
            name: known[0]
            for scope in scopes
            for name, known in scope.bound.items()
            if known[0].kind != "implied"
        }


@dataclass(frozen=True)
class Request:
    """A place in a file, and what is known around it.

    `newest` is the file's newest rendering, whose sample's keys are offered; `typed` is the word at
    the place, to the left and the right of it.
    """

    snapshot: Snapshot
    path: str
    template: Template
    kind: Kind
    offset: int
    newest: FileRendering | None = None
    typed: str = ""

    @cached_property
    def visible(self) -> Visible:
        """What the file binds at the place."""
        return visible_at(self.template, self.offset)

    @cached_property
    def declarations(self) -> Declarations:
        """What the file declares; where the line being written breaks that, what it declares without it."""
        declared = self.template.declarations
        is_broken = any(problem.kind == "syntax" for problem in declared.problems)
        if not is_broken and (self.template.header is not None or self.template.root is not None):
            return declared
        if self.template.header is None and self.kind not in {Kind.OBJECT, Kind.EVALUATION}:
            return declared
        source = self.template.source
        line = source.line_span(source.place(self.offset).line)
        # The header alone is read again, and of other files all.
        end = declared.span.end if self.template.header is not None else len(source)
        if line.start >= end:
            return declared
        text = source.slice(Span(0, end))
        return Template(Source.of(text[: line.start] + text[line.end :])).declarations

    @cached_property
    def data(self) -> dict[str, Any]:
        """The data to preview with: the chosen sample, else the file's first one, else the first example."""
        if self.newest is not None:
            return self.newest.sample.data
        try:
            samples = file_samples(self.template, self.path)
        except Failure:  # previewing reports it
            samples = ()
        if samples:
            return samples[0].data
        examples = self.declarations.examples
        return examples[0].data if examples else {}

    @cached_property
    def all_declarations(self) -> tuple[Declarations, ...]:
        """The declarations of the file, and of the entry templates through which it is reached."""
        others = (each.declarations for each in self.entry_templates if each is not self.template)
        return (self.declarations, *others)

    @cached_property
    def includes(self) -> tuple[Inclusion, ...]:
        """The places at which other files include this one, and so hand on their variables."""
        found = []
        for includer in sorted(self.snapshot.includers(self.path))[:_MOST_INCLUDERS]:
            template = self.snapshot.template(includer)
            for reference, target in targets(self.snapshot, includer):
                if template is not None and target == self.path and passes_data(reference):
                    found.append(Inclusion(includer, template, reference))
        return tuple(found)

    @cached_property
    def entry_templates(self) -> tuple[Template, ...]:
        """The file itself, and the entry templates through which it is reached."""
        paths = dict.fromkeys([self.path, *self.snapshot.entries(self.path)])
        return tuple(template for path in paths if (template := self.snapshot.template(path)) is not None)
