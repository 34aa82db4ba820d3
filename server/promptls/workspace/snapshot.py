"""The whole workspace at one moment: every question about it gets answers that fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.meaning.kind import Kind, chosen_kind
from promptls.meaning.leading import leading_references
from promptls.meaning.references import TemplateReference
from promptls.meaning.template import Template
from promptls.workspace.disk import MOST_KEPT, DiskFiles
from promptls.workspace.include_graph import IncludeGraph
from promptls.workspace.include_names import ancestors, path_in
from promptls.workspace.text_sections import section_kind

if TYPE_CHECKING:
    from promptls.workspace.project_settings import ProjectFile
    from promptls.workspace.python_calls import TemplateCall
    from promptls.workspace.python_findings import PythonFindings


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that an editor holds open: its unsaved text counts, and the editor's version of it."""

    template: Template
    version: int


@dataclass(frozen=True, slots=True)
class Known:
    """What has been looked up on disk and among the includes.

    Typing does not change it: it is handed from one snapshot to the next until a file is
    opened, closed, made, written or removed, names other files, or settings change.
    """

    templates: dict[str, Template | None] = field(default_factory=dict)
    exists: dict[str, bool] = field(default_factory=dict)
    targets: dict[tuple[str, tuple[str, ...]], str | None] = field(default_factory=dict)
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    projects: dict[str, ProjectFile] = field(default_factory=dict)
    callers: dict[str, tuple[TemplateCall, ...]] = field(default_factory=dict)
    """The Python calls that load each template; empty until somebody asks."""


@dataclass(frozen=True)
class Snapshot:
    """Open files, files on disk, includes and settings, all as of one `revision`.

    `roots` are the folders that the editor opened, without a trailing separator.
    """

    revision: int
    open_files: Mapping[str, OpenFile]
    disk: DiskFiles
    graph: IncludeGraph
    roots: tuple[str, ...] = ()
    editor_settings: Mapping[str, object] | None = None
    trusted: bool = False
    editor_models: tuple[str, ...] = ()
    """The models that the editor offers, as `<vendor>/<family>`."""
    projects: dict[str, ProjectFile] = field(default_factory=dict)
    """Settings by folder, kept from one snapshot to the next until settings change."""
    known: Known = field(default_factory=Known)
    calls: Mapping[str, tuple[TemplateCall, ...]] = field(default_factory=dict)
    """The calls that load templates, by the Python file that they stand in."""
    held: Mapping[str, OpenFile] = field(default_factory=dict)
    """Programs and files of data that an editor holds open; `open_files` are the prompts and the settings."""
    written: Mapping[str, PythonFindings] = field(default_factory=dict)
    """The experiments, metrics and data sets that Python files define, by the file."""

    @cached_property
    def derived(self) -> dict[object, object]:
        """What functions of this room have worked out of the snapshot, by the function and its argument."""
        return {}

    def template(self, path: str) -> Template | None:
        """The file at `path`, as edited where it is open; None where there is none."""
        opened = self.open_file(path)
        if opened:
            return opened.template
        known = self.known.templates
        if path not in known:
            if len(known) >= MOST_KEPT:
                known.clear()
            known[path] = self.disk.template(path)
        return known[path]

    def open_file(self, path: str) -> OpenFile | None:
        """The file at `path`, of whichever kind, as an editor holds it open; None where none does."""
        return self.open_files.get(path) or self.held.get(path)

    def exists(self, path: str) -> bool:
        """Whether there is a file at `path`, saved or not."""
        if path in self.open_files:
            return True
        known = self.known.exists.get(path)
        if known is None:
            try:
                known = Path(path).is_file()
            except OSError:  # a name that no file can have, such as one that is too long
                known = False
            self.known.exists[path] = known
        return known

    def unsaved(self) -> dict[str, str]:
        """The texts of all open files, by path."""
        opened = {**self.held, **self.open_files}
        return {path: each.template.source.text for path, each in opened.items()}

    # -- settings -------------------------------------------------------------

    def project(self, path: str) -> ProjectFile:
        """The settings that hold for the file at `path`, the editor's over the project's."""
        known = self.known.projects.get(path)
        if known is None:
            folder = str(Path(path).parent)
            known = self.projects.get(folder)
            if known is None:
                from promptls.workspace.project_settings import find_project

                known = self.projects[folder] = find_project(Path(path), self.editor_settings)
            self.known.projects[path] = known
        return known

    # -- kinds ----------------------------------------------------------------

    def kind(self, path: str) -> Kind:
        """The kind of the file at `path`, by its text, its includers, its includes and the settings."""
        known = self._kinds.get(path)
        if known is None:
            known = self._kinds[path] = self._find_kind(path)
        return known

    @cached_property
    def _kinds(self) -> dict[str, Kind]:
        return {}

    def _find_kind(self, path: str) -> Kind:
        template = self.template(path)
        if template is None:
            return Kind.OTHER
        settings = self.project(path)
        if settings.excludes(path):
            return Kind.OTHER
        own = template.kind
        if own in {Kind.OBJECT, Kind.EVALUATION}:
            return own
        if any(self._leads_to_parts(includer, set()) for includer in self._all_includers(path)):
            return section_kind(self, path)
        if self._leads_to_parts(path, set()):
            return Kind.PARTS
        return chosen_kind(template.source) if settings.includes(path) else Kind.OTHER

    def _leads_to_parts(self, path: str, seen: set[str]) -> bool:
        """Whether a file is a parts template by its own text, or by nothing but what it includes."""
        template = self.template(path)
        if template is None or path in seen:
            return False
        if template.kind is Kind.PARTS:
            return True
        if template.kind is not Kind.OTHER or template.parts or template.source.first_chunk.has_content:
            return False
        seen.add(path)
        return any(
            (target := self.resolve(path, reference)) and self._leads_to_parts(target, seen)
            for reference in leading_references(template)
        )

    def _all_includers(self, path: str) -> Iterator[str]:
        seen = {path}
        waiting = [*self.includers(path)]
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                yield current
                waiting += self.includers(current)

    # -- includes -------------------------------------------------------------

    def includers(self, path: str) -> frozenset[str]:
        """The files that include, import or extend the file at `path`."""
        return self.graph.includers(path, self.exists)

    def entries(self, path: str) -> tuple[str, ...]:
        """The entry templates through which `path` is reached: itself where nothing names it."""
        found = self.graph.entries(path, self.exists)
        return tuple(sorted(found)) or (path,)

    def resolve(self, path: str, reference: TemplateReference) -> str | None:
        """The file that a reference in the file at `path` leads to, or None where there is none."""
        names = reference.alternatives or ((reference.name,) if reference.name else ())
        key = (path, names)
        if key not in self.known.targets:
            candidates = (path_in(folder, name) for name in names for folder in self.search_folders(path))
            self.known.targets[key] = next(
                (candidate for candidate in candidates if candidate and self.exists(candidate)), None
            )
        return self.known.targets[key]

    def search_folders(self, path: str) -> tuple[str, ...]:
        """The folders that an include in the file at `path` may count from, likeliest first.

        Those of its entry templates, those of the setting `template_paths`, and the folders
        around it, because a program may load a template that nothing in the workspace names.
        """
        known = self.known.folders.get(path)
        if known is None:
            entries = (str(Path(entry).parent) for entry in self.entries(path))
            project = self.project(path)
            extra = (str(project.root / folder) for folder in project.settings.template_paths)
            known = tuple(dict.fromkeys([*entries, *extra, *ancestors(path, self.roots)]))
            self.known.folders[path] = known
        return known

    def included(self, path: str) -> tuple[str, ...]:
        """Every file that rendering the file at `path` may read, itself first, each once."""
        known = self._included.get(path)
        if known is None:
            known = self._included[path] = self._find_included(path)
        return known

    @cached_property
    def _included(self) -> dict[str, tuple[str, ...]]:
        return {}

    def _find_included(self, path: str) -> tuple[str, ...]:
        seen = {path: None}
        waiting = [path]
        while waiting:
            current = waiting.pop()
            template = self.template(current)
            for reference in leading_references(template) if template else ():
                target = self.resolve(current, reference)
                if target and target not in seen:
                    seen[target] = None
                    waiting.append(target)
        return tuple(seen)
