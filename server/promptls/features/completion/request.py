"""What a completion is asked for, as every source of items gets it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from promptls.meaning.kind import Kind
from promptls.meaning.template import Template
from promptls.meaning.visible import Visible, visible_at
from promptls.rendering.file_rendering import FileRendering
from promptls.workspace.snapshot import Snapshot


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
    def data(self) -> dict[str, Any]:
        """The data to preview with: the chosen sample, else the first example."""
        if self.newest is not None:
            return self.newest.sample.data
        examples = self.template.declarations.examples
        return examples[0].data if examples else {}

    @cached_property
    def entry_templates(self) -> tuple[Template, ...]:
        """The file itself, and the entry templates through which it is reached."""
        paths = dict.fromkeys([self.path, *self.snapshot.entries(self.path)])
        return tuple(template for path in paths if (template := self.snapshot.template(path)) is not None)
