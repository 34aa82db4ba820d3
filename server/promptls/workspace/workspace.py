"""The mutable workspace: the only place where its state is replaced."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Final

from promptls.semantic.template import Template
from promptls.syntax.language import PLAIN_TEXT
from promptls.syntax.source import Source
from promptls.text.positions import Span
from promptls.workspace import disk
from promptls.workspace.include_graph import IncludeGraph, saved_names
from promptls.workspace.python_calls import TemplateCall, calls_in, calls_in_file
from promptls.workspace.python_experiments import PythonFindings, findings_in, findings_in_file
from promptls.workspace.snapshot import Known, OpenFile, Snapshot


class Workspace:
    """Holds the current snapshot, and replaces it with a new one at every change.

    Must be used from one thread. Snapshots are immutable. A scan of the roots that are `shallow` is limited
    to their direct subfolders.
    """

    def __init__(
        self, roots: Iterable[Path] = (), *, trusted: bool = False, shallow: Iterable[Path] = ()
    ) -> None:
        folders = tuple(str(root.absolute()) for root in roots)
        self._shallow: Final = frozenset(str(root.absolute()) for root in shallow)
        self.snapshot = Snapshot(0, {}, disk.DiskFiles(), IncludeGraph({}, folders), folders, None, trusted)

    def _swap(self, **changes: object) -> None:
        changes["revision"] = self.snapshot.revision + 1
        changes.setdefault("known", Known())
        self.snapshot = replace(self.snapshot, **changes)  # type: ignore[arg-type]  # checked by the callers

    # -- documents ------------------------------------------------------------

    def open(self, path: str, text: str, version: int) -> None:
        """Use `text` for the file at `path` until it is closed."""
        self.put(path, disk.source_of(path, text), version)

    def edit(self, path: str, version: int, edits: Iterable[tuple[Span, str]]) -> None:
        """Apply edits in order, each to the result of the previous one."""
        source = self.snapshot.open_files[path].template.source
        for span, text in edits:
            source = source.edited(span, text)
        self.put(path, source, version)

    def put(self, path: str, source: Source, version: int) -> None:
        """Use `source` for the file at `path`, whether or not it was opened before."""
        self.snapshot = self.snapshot.with_open(path, source, version)

    def hold(self, path: str, text: str, version: int) -> None:
        """Use `text` for a program or data file until it is released; it is not read as a prompt."""
        opened = OpenFile(Template(Source.of(text, PLAIN_TEXT)), version)
        self._swap(auxiliary={**self.snapshot.auxiliary, path: opened})
        if path.endswith(".py"):
            self.python_changed(path)

    def let_go(self, path: str) -> None:
        """Read a program or data file from disk again."""
        self._swap(auxiliary={key: value for key, value in self.snapshot.auxiliary.items() if key != path})
        if path.endswith(".py"):
            self.python_changed(path)

    def close(self, path: str) -> None:
        """Read the file at `path` from disk again."""
        opened = {key: value for key, value in self.snapshot.open_files.items() if key != path}
        self._swap(open_files=opened)
        self.file_changed(path)

    # -- disk -----------------------------------------------------------------

    def file_changed(self, path: str) -> None:
        """Update a file that was written, created or removed by another program.

        A file that a scan would not find is not part of the workspace unless it is open.
        """
        if path in self.snapshot.open_files:
            return
        is_inside = disk.is_below(path, self.snapshot.roots)
        names = _scanned_names(self.snapshot, path) if is_inside else None
        graph = self.snapshot.graph
        self._swap(graph=graph.without(path) if names is None else graph.with_names(path, names))

    def disk_changed(self) -> None:
        """Discard all cached lookups on disk."""
        self._swap(graph=self.snapshot.graph.without_resolutions())

    def scan(self) -> int:
        """Read which templates each prompt file below the roots names; return the number of files."""
        names: dict[str, tuple[str, ...]] = {}
        for _ in scan_names(self.snapshot.roots, names, self.snapshot, self._shallow):
            pass
        self.take_scan(names)
        return len(names)

    def take_scan(self, names: Mapping[str, tuple[str, ...]]) -> None:
        """Store the result of `scan_names`, except for open files, whose unsaved text is used."""
        graph = self.snapshot.graph
        opened = {path: graph.names(path) for path in self.snapshot.open_files}
        self._swap(graph=IncludeGraph({**names, **opened}, self.snapshot.roots))

    # -- Python -----------------------------------------------------------------

    def scan_calls(self, *around: str) -> None:
        """Read the Python calls that load templates, in every Python file below the roots.

        In the folders `around` the roots, the files directly in them and in their direct subfolders are read.
        """
        calls: dict[str, tuple[TemplateCall, ...]] = {}
        written: dict[str, PythonFindings] = {}
        roots, shallow = [*self.snapshot.roots, *around], self._shallow.union(around)
        scans = (
            disk.scan_python(calls_in_file, roots, calls, shallow),
            disk.scan_python(findings_in_file, self.snapshot.roots, written, self._shallow),
        )
        for _ in zip_longest(*scans):  # side by side, so that each file is parsed once
            pass
        self.take_calls(calls)
        self.take_written(written)

    def take_written(self, written: Mapping[str, PythonFindings]) -> None:
        """Store what Python files define; unsaved texts of auxiliary documents take precedence."""
        self._swap(written=dict(written))
        self._read_auxiliary()

    def take_calls(self, calls: Mapping[str, tuple[TemplateCall, ...]]) -> None:
        """Store the calls in Python files; unsaved texts of auxiliary documents take precedence."""
        self._swap(calls=dict(calls))
        self._read_auxiliary()

    def _read_auxiliary(self) -> None:
        for path in self.snapshot.auxiliary:
            if path.endswith(".py"):
                self.python_changed(path)

    def python_changed(self, path: str) -> None:
        """Update a Python file that was written, created, removed or edited."""
        open_file = self.snapshot.auxiliary.get(path)
        text = open_file.template.source.text if open_file is not None else None
        findings = findings_in_file(path) if text is None else findings_in(text, path)
        if any(findings) or path in self.snapshot.written:
            self._swap(written={**self.snapshot.written, path: findings})
        others = {file: calls for file, calls in self.snapshot.calls.items() if file != path}
        found = calls_in_file(path) if text is None else calls_in(text, path)
        if found or path in self.snapshot.calls:
            self._swap(calls={**others, path: found} if found else others)

    # -- settings -------------------------------------------------------------

    def set_roots(self, roots: Iterable[Path]) -> None:
        """Replace the folders of the workspace; they are read by `scan`."""
        folders = tuple(str(root.absolute()) for root in roots)
        opened = {path: self.snapshot.graph.names(path) for path in self.snapshot.open_files}
        self._swap(roots=folders, graph=IncludeGraph(opened, folders))

    def set_editor_settings(self, settings: Mapping[str, object] | None) -> None:
        """Override the projects' settings with those of the editor."""
        self._swap(editor_settings=settings, projects={})

    def settings_changed(self) -> None:
        """Discard the cached settings of all projects."""
        self._swap(projects={})

    def set_editor_models(self, models: tuple[str, ...]) -> None:
        """Set which models the editor offers, as `<vendor>/<family>`."""
        self._swap(editor_models=models)

    def set_trusted(self, *, trusted: bool, outside: Mapping[str, bool] | None = None) -> None:
        """Set whether code of the workspace may run, and files outside of it may be read.

        `outside` is as in `Snapshot.trusted_outside`.
        """
        graph = self.snapshot.graph.without_resolutions()
        self._swap(trusted=trusted, trusted_outside=outside, projects={}, graph=graph)


def _is_prompt(snapshot: Snapshot, path: str) -> bool:
    return disk.has_prompt_name(path) or snapshot.project(path).includes(path)


def _scanned_names(snapshot: Snapshot, path: str) -> tuple[str, ...] | None:
    """Return which templates a file names, as saved; None if a scan of its folder would not find it."""
    is_prompt = _is_prompt(snapshot, path)
    text = disk.text_on_disk(path) if is_prompt or disk.may_include(path) else None
    names = () if text is None else saved_names(path, text)
    return names if text is not None and (names or is_prompt) else None


def scan_names(
    roots: Iterable[str],
    names: dict[str, tuple[str, ...]],
    snapshot: Snapshot,
    shallow: Container[str] = (),
) -> Iterator[None]:
    """Fill `names` with which templates each prompt file below `roots` names, as saved.

    Prompt files are those with such a name, those that the settings in `snapshot` include, and other
    templates that name files. Pauses after each file and each folder, so that a server can do other work in
    between.
    """

    def is_template(path: str) -> bool:
        return disk.may_include(path) or _is_prompt(snapshot, path)

    for root in roots:
        for paths in disk.prompt_paths_by_folder(
            Path(root), is_shallow=root in shallow, is_prompt=is_template
        ):
            for path in paths:
                found = _scanned_names(snapshot, path)
                if found is not None:
                    names[path] = found
                yield
            yield
