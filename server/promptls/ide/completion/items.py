"""What completion is asked and what it returns: plain data, which any client's form can be made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.samples import file_samples
from promptls.semantic.header import Declarations
from promptls.semantic.kind import Kind
from promptls.semantic.names.references import TemplateReference
from promptls.semantic.names.scopes import Binding
from promptls.semantic.names.visible import Visible, visible_at
from promptls.semantic.template import Template
from promptls.syntax.source import Source
from promptls.text.errors import UserError
from promptls.text.positions import Span
from promptls.workspace.contract import passes_data, scopes_before, targets
from promptls.workspace.snapshot import Snapshot

ItemKind = Literal[
    "variable",
    "property",
    "function",
    "method",
    "keyword",
    "value",
    "enum",
    "file",
    "snippet",
    "module",
    "constant",
    "field",
]

SETTING: Final = "setting"
"""The source of the items for a settings file."""
FIRST: Final = 0
"""The rank of what is due."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that may stand at the place.

    `text` takes the place of the word, where it is another than `label`; `snippet` does so in clients
    that fill in placeholders, and leaves valid text as it is. `detail` says in a few words what it
    is; `parameters` stand right behind the label. Items are sorted by `rank` and then by label.
    """

    label: str
    kind: ItemKind
    rank: int = 50
    text: str = ""
    snippet: str = ""
    detail: str = ""
    parameters: str = ""
    is_deprecated: bool = False
    is_preselected: bool = False
    filter_text: str = ""
    commits: str = ""
    """The characters that accept the item when they are typed."""

    @property
    def plain_text(self) -> str:
        """What is inserted in clients without placeholders."""
        return self.text or self.label


@dataclass(frozen=True, slots=True)
class Completion:
    """The items for a place.

    `insert` is the word up to the place, which every item takes the place of, and `replace` all of
    the word. `source` and `path` find the documentation of an item again. `is_incomplete` says
    that more typing may bring other items.
    """

    items: tuple[Item, ...]
    insert: Span
    replace: Span
    source: str
    path: tuple[str, ...] = ()
    is_incomplete: bool = False


def table_items(values: Mapping[str, str], rank: int = 10) -> Iterator[Item]:
    """Yield the values of a table, in its order, from a rank on."""
    for index, name in enumerate(values):
        yield Item(name, "enum", rank + index)


def name_items(names: Mapping[str, Any], detail: str) -> Iterator[Item]:
    """Yield names of the file or its data, in their order, with what they are."""
    for index, name in enumerate(names):
        yield Item(name, "field", 10 + min(index, 80), detail=detail)


_MAX_INCLUDERS: Final = 20
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
        except UserError:  # previewing reports it
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
        for includer in sorted(self.snapshot.includers(self.path))[:_MAX_INCLUDERS]:
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
