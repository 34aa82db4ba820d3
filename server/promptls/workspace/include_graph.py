"""The graph of which prompt files of the workspace name which others, and the resolution of names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from promptls.semantic.names.template_names import leading_references
from promptls.semantic.template import Template
from promptls.workspace.disk import source_of


def parts_of_name(name: str) -> tuple[str, ...] | None:
    """Return the folders and the file of an include's name, or None if Jinja rejects the name."""
    parts = []
    for part in name.split("/"):
        if part == "..":
            return None
        if part and part != ".":
            parts.append(part)
    return tuple(parts) or None


def path_in(folder: str, name: str) -> str | None:
    """Return the path of `name` if the entry template is in `folder`."""
    parts = parts_of_name(name)
    return str(Path(folder, *parts)) if parts else None


def ancestors(path: str, roots: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders around a file, nearest first, up to the workspace root that contains it.

    Outside of all roots, only the file's own folder.
    """
    folder = Path(path).parent
    found = [str(folder)]
    while str(folder) not in roots and folder.parent != folder:
        if not any(str(folder).startswith(root.rstrip("/\\")) for root in roots):
            break
        folder = folder.parent
        found.append(str(folder))
    return tuple(found)


_REFERENCE: Final = re.compile(r"\{%[-+]?\s*(?:include|import|from|extends)\b(.{0,1000}?)%\}", re.DOTALL)
_QUOTED: Final = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")
_COMPUTED: Final = re.compile(r"\{%[-+]?\s*(?:include|extends)\b(?:[^%]*?~|\s*[A-Za-z_{])")
"""A tag whose name may be a concatenation or a variable."""


def names_of(template: Template) -> tuple[str, ...]:
    """Return the literal template names in a file, and those that it certainly concatenates."""
    return tuple(
        name
        for reference in leading_references(template)
        for name in reference.alternatives or (reference.name,)
        if name
    )


def saved_names(path: str, text: str) -> tuple[str, ...]:
    """Return the same as `names_of` for a text that is saved at `path`.

    Most texts are only searched, not parsed.
    """
    found = [
        match.group(1) or match.group(2)
        for reference in _REFERENCE.finditer(text)
        for match in _QUOTED.finditer(reference.group(1))
    ]
    if _COMPUTED.search(text):
        found += names_of(Template(source_of(path, text)))
    return tuple(dict.fromkeys(found))


class IncludeGraph:
    """The edges between files: which files each file names, and which name it.

    A name refers to the first existing file among the folders around the file that contains it,
    nearest first, because the entry template may be in any of them.
    """

    def __init__(
        self,
        names: Mapping[str, tuple[str, ...]],
        roots: tuple[str, ...],
        targets: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        self._names = dict(names)
        self._roots = roots
        self._targets = dict(targets or {})
        self._includers: dict[str, frozenset[str]] | None = None

    @property
    def paths(self) -> Iterable[str]:
        """The files whose names are known: after a scan, every prompt file of the workspace."""
        return self._names.keys()

    def names(self, path: str) -> tuple[str, ...]:
        """Return the template names in the file at `path`."""
        return self._names.get(path, ())

    def with_names(self, path: str, names: tuple[str, ...]) -> IncludeGraph:
        """Return the graph with the names in one file replaced; the same graph if they are unchanged."""
        if self._names.get(path) == names:
            return self
        # Unless a file is added or removed, the names in all other files resolve as before.
        targets = dict(self._targets) if path in self._names else {}
        targets.pop(path, None)
        return IncludeGraph({**self._names, path: names}, self._roots, targets)

    def without_resolutions(self) -> IncludeGraph:
        """Return the graph with the same names, but without cached resolutions."""
        return IncludeGraph(self._names, self._roots)

    def without(self, path: str) -> IncludeGraph:
        """Return the graph without one file."""
        return IncludeGraph({key: value for key, value in self._names.items() if key != path}, self._roots)

    def includers(self, path: str, exists: Callable[[str], bool]) -> frozenset[str]:
        """Return the files that name the file at `path`."""
        if self._includers is None:
            found: dict[str, set[str]] = {}
            for includer, names in self._names.items():
                for target in self._resolve(includer, names, exists):
                    found.setdefault(target, set()).add(includer)
            self._includers = {target: frozenset(files) for target, files in found.items()}
        return self._includers.get(path, frozenset())

    def entries(self, path: str, exists: Callable[[str], bool]) -> frozenset[str]:
        """Return the files from which `path` is reached and that no other file names, except itself."""
        seen = {path}
        entries = set()
        waiting = list(self.includers(path, exists))
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            above = self.includers(current, exists)
            if not above - {current}:
                entries.add(current)
            waiting += above
        return frozenset(entries)

    def _resolve(self, path: str, names: Iterable[str], exists: Callable[[str], bool]) -> frozenset[str]:
        known = self._targets.get(path)
        if known is None:
            folders = ancestors(path, self._roots)
            targets = set()
            for name in names:
                candidates = (path_in(folder, name) for folder in folders)
                target = next((found for found in candidates if found and exists(found)), None)
                if target:
                    targets.add(target)
            known = self._targets[path] = frozenset(targets)
        return known
