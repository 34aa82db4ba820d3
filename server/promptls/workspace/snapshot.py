"""Snapshots of the workspace: open files, files on disk, includes and settings at one moment."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from promptls.facts import Question, Reads, note, question, recording, repeatable, unrecorded
from promptls.security.files import ANYWHERE, FileScope, Stamp, absolute_path, is_file, scope_of, stamp_of
from promptls.semantic.kind import Kind, chosen_kind
from promptls.semantic.names.mentions import TemplateReference
from promptls.semantic.names.template_names import leading_references
from promptls.semantic.parts import chunk_contents, column_of
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, ChunkList
from promptls.syntax.facts import placed_fact
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.source import Layout, Source
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.workspace.disk import MAX_KEPT, DiskFiles, is_utf8
from promptls.workspace.include_graph import IncludeGraph, ancestors, names_of, path_in

if TYPE_CHECKING:
    from promptls.workspace.python_calls import TemplateCall
    from promptls.workspace.python_experiments import PythonFindings
    from promptls.workspace.settings import ProjectFile

Found = TypeVar("Found")

_MAX_INCLUDERS: Final = 40
"""How many includers are examined; a file that is included more often is judged by these."""
_PRINTED_ELSEWHERE: Final = frozenset({"set", "macro", "call"})
"""Blocks whose text is printed in a different place, which is not known here."""


def is_text_section(snapshot: Snapshot, path: str) -> bool:
    """Return whether the file at `path` is included where its lines are text.

    That is: inside a content, or by a file that is such a text. If it is included in a `set`, a macro or a
    `call`, or only macros are imported from it, it counts as text unless it looks like a list of parts. Such
    a list is text only if every include of it is in a text.
    """
    return _is_text(snapshot, path, frozenset())


def _is_text(snapshot: Snapshot, path: str, above: frozenset[str]) -> bool:
    template = snapshot.template(path)
    if template is None or path in above:
        return False
    has_parts = template.kind is Kind.PARTS
    includers = sorted(snapshot.includers(path) - above - {path})
    found = False
    for includer in islice(includers, _MAX_INCLUDERS):
        outer = snapshot.template(includer)
        for reference in leading_references(outer) if outer else ():
            if snapshot.resolve(includer, reference) != path:
                continue
            assert outer is not None
            place = _place_in_file(outer.source.root, reference)
            if place == "elsewhere":
                is_text = not has_parts
            else:
                is_text = place == "text" or _is_text(snapshot, includer, above | {path})
            if is_text and not has_parts:
                return True
            if not is_text and has_parts:
                return False
            found = found or is_text
    return found


@placed_fact
def _place_in_file(chunks: ChunkList, reference: TemplateReference) -> str:
    found = chunks.at_offset(reference.span.start)
    return _place_in(found.chunk, reference.span.start - found.start, reference.keyword)


def _place_in(chunk: Chunk, offset: int, keyword: str) -> str:
    if keyword == "extends":
        return "frame"
    if keyword != "include":
        return "elsewhere"
    if any(
        chunk.tags[pair.opening].span.start <= offset <= chunk.tags[pair.closing].span.end
        for pair in chunk_blocks(chunk).pairs
        if pair.keyword in _PRINTED_ELSEWHERE
    ):
        return "elsewhere"
    line = bisect_right(chunk.line_starts, offset) - 1
    start = chunk.line_starts[line]
    indent = offset - start - len(chunk.text[start:offset].lstrip(" \t"))
    for content in chunk_contents(chunk):
        # A block scalar whose last lines contain only tags ends before them, according to YAML.
        is_inside = start <= content.key.start or indent > column_of(chunk, content.key.start)
        if is_inside and content.value.span.start <= offset < content.end:
            return "text"
    # The context is unknown while the YAML there is broken.
    return "elsewhere" if indent and chunk_yaml(chunk).problems else "frame"


def read_included(snapshot: Snapshot, path: str) -> None:
    """Read all texts that the file at `path` is rendered from, for the current recording."""
    for included in snapshot.included(path):
        snapshot.template(included)


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that is open in an editor: its unsaved text, and the editor's version number."""

    template: Template
    version: int


@dataclass(frozen=True, slots=True)
class Known:
    """Cached lookups of files on disk and includes.

    Edits do not invalidate it: it is passed from one snapshot to the next until a file is opened, closed,
    created, written or removed, names other files, or settings change.
    """

    templates: dict[str, Template | None] = field(default_factory=dict)
    stamps: dict[str, Stamp | None] = field(default_factory=dict)
    exists: dict[str, bool] = field(default_factory=dict)
    targets: dict[tuple[str, tuple[str, ...]], str | None] = field(default_factory=dict)
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    projects: dict[str, ProjectFile] = field(default_factory=dict)
    callers: dict[str, tuple[TemplateCall, ...]] = field(default_factory=dict)
    """The Python calls that load each template; filled on the first query."""


@lru_cache(maxsize=4096)
def _folder(path: str) -> str:
    return str(Path(path).parent)


@dataclass(frozen=True)
class Snapshot:
    """Open files, files on disk, includes and settings at one `revision`.

    `roots` are the folders that the editor opened, without a trailing separator.
    """

    revision: int
    open_files: Mapping[str, OpenFile]
    disk: DiskFiles
    graph: IncludeGraph
    roots: tuple[str, ...] = ()
    editor_settings: Mapping[str, object] | None = None
    trusted: bool = False
    """Whether code of the roots may run."""
    trusted_outside: Mapping[str, bool] | None = None
    """For projects outside of the roots, whether their code may run; None: as in `trusted`."""
    editor_models: tuple[str, ...] = ()
    """The models that the editor offers, as `<vendor>/<family>`."""
    projects: dict[str, ProjectFile] = field(default_factory=dict)
    """Settings by folder, cached until settings change."""
    known: Known = field(default_factory=Known)
    calls: Mapping[str, tuple[TemplateCall, ...]] = field(default_factory=dict)
    """The calls that load templates, by Python file."""
    auxiliary: Mapping[str, OpenFile] = field(default_factory=dict)
    """Programs and data files that are open in an editor; `open_files` are the prompts and the settings."""
    written: Mapping[str, PythonFindings] = field(default_factory=dict)
    """The experiments, metrics and datasets that Python files define, by file."""

    @cached_property
    def memo(self) -> dict[object, Any]:
        """Memoized results of functions of the snapshot, by function and argument."""
        return {}

    def once(self, find: Callable[[Snapshot, str], Found], path: str) -> Found:
        """Return `find(self, path)`, computed once; its reads are recorded on every call."""
        known = self.memo.get((find, path))
        if known is None:
            with recording(self.reads_about(path)) as reads:
                found = find(self, path)
            self.memo[find, path] = (found, reads)
            return found
        found, reads = known
        reads.pass_on()
        return found

    def reads_about(self, path: str) -> Reads:
        """Return a recording for a computation about the file at `path`."""
        template = unrecorded(self.template, path)
        if template is None:
            return Reads()
        return Reads(template.serial, (Question(Snapshot.text_version, (path,)), self.text_version(path)))

    @cached_property
    def known_paths(self) -> tuple[str, ...]:
        """The paths of the files of the include graph and of the open prompts and settings, sorted."""
        return tuple(sorted({*self.graph.paths, *self.open_files}))

    @cached_property
    def file_scope(self) -> FileScope:
        """The folders whose files may be read.

        Everything if all open files are trusted; otherwise the roots, and the projects of open files
        outside of them.
        """
        if self.trusted and all(map(self.trusts, self.open_files)):
            return ANYWHERE
        projects = (self.project_outside(path) for path in self.open_files if not self.has_below_roots(path))
        return _scope_of(tuple(dict.fromkeys([*self.roots, *projects])))

    def template(self, path: str) -> Template | None:
        """Return the file at `path`, with unsaved edits if it is open, or None if it does not exist."""
        note(Snapshot.text_version, (path,), self.text_version(path))
        opened = self._open_file(path)
        if opened:
            return opened.template
        known = self.known.templates
        if path not in known:
            if len(known) >= MAX_KEPT:
                known.clear()
            known[path] = unrecorded(self.disk.template, path)
        return known[path]

    def with_open(self, path: str, source: Source, version: int) -> Snapshot:
        """Return the next snapshot, in which the file at `path` is open with the text `source`."""
        template = Template(source)
        opened = {**self.open_files, path: OpenFile(template, version)}
        graph = self.graph.with_names(path, names_of(template))
        is_typing = path in self.open_files and graph is self.graph
        known = self.known if is_typing else Known()
        return replace(self, revision=self.revision + 1, open_files=opened, graph=graph, known=known)

    @repeatable
    def text_version(self, path: str) -> int | Stamp | None:
        """Return a value that is equal as long as the file's text is, or None if it does not exist."""
        opened = self._open_file(path)
        if opened:
            return opened.template.serial
        known = self.known.stamps
        if path not in known:
            known[path] = unrecorded(stamp_of, path)
        return known[path]

    def open_file(self, path: str) -> OpenFile | None:
        """Return the file at `path`, of any kind, as it is open in an editor, or None if it is not."""
        note(Snapshot.text_version, (path,), self.text_version(path))
        return self._open_file(path)

    def _open_file(self, path: str) -> OpenFile | None:
        return self.open_files.get(path) or self.auxiliary.get(path)

    @question
    def open_paths(self) -> tuple[str, ...]:
        """Return the paths of the open prompts and settings files."""
        return tuple(self.open_files)

    @question
    def exists(self, path: str) -> bool:
        """Return whether the file at `path` exists, saved or unsaved."""
        if path in self.open_files:
            return True
        known = self.known.exists.get(path)
        if known is None:
            known = self.known.exists[path] = is_file(path)
        return known

    @question
    def is_utf8(self, path: str) -> bool:
        """Return whether the file at `path` is UTF-8 on disk, if it can be read."""
        return is_utf8(path)

    def unsaved(self) -> dict[str, str]:
        """Return the texts of all open files, by path."""
        opened = {**self.auxiliary, **self.open_files}
        return {path: each.template.source.text for path, each in opened.items()}

    # -- trust ----------------------------------------------------------------

    @question
    def trusts(self, path: str) -> bool:
        """Return whether code that the file at `path` names may run."""
        if self.trusted_outside is None or self.has_below_roots(path):
            return self.trusted
        return self.trusted_outside.get(self.project_outside(path), False)

    def project_outside(self, path: str) -> str:
        """Return the project of a file outside of the roots, or its folder if it is in none of the known."""
        around = [each for each in self.trusted_outside or () if _is_below(path, (each,))]
        return max(around, key=len, default=_folder(path))

    def has_below_roots(self, path: str) -> bool:
        """Return whether the file at `path` is in one of the roots."""
        return _is_below(path, self.roots)

    # -- settings -------------------------------------------------------------

    @question
    def project(self, path: str) -> ProjectFile:
        """Return the settings for the file at `path`; the editor's override the project's."""
        known = self.known.projects.get(path)
        if known is None:
            folder = _folder(path)
            known = self.projects.get(folder)
            if known is None:
                from promptls.workspace.settings import find_project

                known = self.projects[folder] = find_project(Path(path), self.editor_settings)
            self.known.projects[path] = known
        return known

    # -- kinds ----------------------------------------------------------------

    @question
    def kind(self, path: str) -> Kind:
        """Return the kind of the file at `path`, from its text, includers, includes and the settings."""
        return self.once(Snapshot._find_kind, path)

    def _find_kind(self, path: str) -> Kind:
        template = self.template(path)
        if template is None or template.source.refusal is not None:
            return Kind.OTHER
        settings = self.project(path)
        if settings.excludes(path):
            return Kind.OTHER
        own = template.kind
        if own in {Kind.OBJECT, Kind.EVALUATION}:
            return own
        if any(self._leads_to_parts(includer, set()) for includer in self._all_includers(path)):
            return Kind.TEXT if is_text_section(self, path) else Kind.SECTION
        if self._leads_to_parts(path, set()):
            return Kind.PARTS
        return chosen_kind(template.source) if settings.includes(path) else Kind.OTHER

    def _leads_to_parts(self, path: str, seen: set[str]) -> bool:
        """Return whether a file is a parts template, or contains nothing but tags that lead to one."""
        template = self.template(path)
        if template is None or template.source.refusal is not None or path in seen:
            return False
        if template.kind is Kind.PARTS:
            return True
        extended = [each for each in template.references if each.keyword == "extends"]
        if template.kind is Kind.OTHER and any(
            (target := self.resolve(path, each)) and self._leads_to_parts(target, seen | {path})
            for each in extended
        ):
            return True
        source = template.source
        first = source.first_chunk if source.layout is Layout.LIST else source.whole
        if template.kind is not Kind.OTHER or template.parts or first.has_content:
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

    @question
    def includers(self, path: str) -> frozenset[str]:
        """Return the files that include, import or extend the file at `path`."""
        return self.graph.includers(path, self.exists)

    @question
    def entries(self, path: str) -> tuple[str, ...]:
        """Return the entry templates that reach `path`; the path itself if no file names it."""
        return tuple(sorted(self.graph.entries(path, self.exists))) or (path,)

    def resolve(self, path: str, reference: TemplateReference) -> str | None:
        """Return the file that a reference in the file at `path` resolves to, or None."""
        names = reference.alternatives or ((reference.name,) if reference.name else ())
        return self._target(path, names)

    @question
    def _target(self, path: str, names: tuple[str, ...]) -> str | None:
        """Return the first file that one of the names resolves to from the file at `path`."""
        key = (path, names)
        if key not in self.known.targets:
            candidates = (path_in(folder, name) for name in names for folder in self.search_folders(path))
            self.known.targets[key] = next(
                (candidate for candidate in candidates if candidate and self.exists(candidate)), None
            )
        return self.known.targets[key]

    @question
    def search_folders(self, path: str) -> tuple[str, ...]:
        """Return the folders that an include in the file at `path` may be relative to, most likely first.

        Those of its entry templates, those of the setting `template_paths`, and the folders around it,
        because a program may load a template that no file in the workspace names.
        """
        known = self.known.folders.get(path)
        if known is None:
            entries = (str(Path(entry).parent) for entry in self.entries(path))
            project = self.project(path)
            extra = (str(project.root / folder) for folder in project.settings.template_paths)
            known = tuple(dict.fromkeys([*entries, *extra, *ancestors(path, self.roots)]))
            self.known.folders[path] = known
        return known

    @question
    def included(self, path: str) -> tuple[str, ...]:
        """Return every file that rendering the file at `path` may read, each once, itself first."""
        return self.once(Snapshot._find_included, path)

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


_scope_of = lru_cache(maxsize=16)(scope_of)


@lru_cache(maxsize=1024)
def _is_below(path: str, roots: tuple[str, ...]) -> bool:
    file = absolute_path(path)
    return any(file.is_relative_to(root) for root in roots)
