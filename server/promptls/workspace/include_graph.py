"""Which file names which others, for all prompt files of the workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from promptls.workspace.include_names import ancestors, path_in


class IncludeGraph:
    """The edges between files: what each names, and who names it.

    A name is taken to mean the first existing file among the folders around the file that
    holds it, nearest first, because the entry template may lie in any of them.
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
        """The files whose names are known: every prompt file of the workspace, once it is scanned."""
        return self._names.keys()

    def names(self, path: str) -> tuple[str, ...]:
        """The template names in the file at `path`."""
        return self._names.get(path, ())

    def with_names(self, path: str, names: tuple[str, ...]) -> IncludeGraph:
        """The graph with what one file names replaced; the same graph where that is no change."""
        if self._names.get(path) == names:
            return self
        # Where no file comes or goes, the names in all other files lead where they led before.
        targets = dict(self._targets) if path in self._names else {}
        targets.pop(path, None)
        return IncludeGraph({**self._names, path: names}, self._roots, targets)

    def looked_up_anew(self) -> IncludeGraph:
        """The graph with the same names, which may lead to other files than before."""
        return IncludeGraph(self._names, self._roots)

    def without(self, path: str) -> IncludeGraph:
        """The graph without one file."""
        return IncludeGraph({key: value for key, value in self._names.items() if key != path}, self._roots)

    def includers(self, path: str, exists: Callable[[str], bool]) -> frozenset[str]:
        """The files that name the file at `path`."""
        if self._includers is None:
            found: dict[str, set[str]] = {}
            for includer, names in self._names.items():
                for target in self._resolved(includer, names, exists):
                    found.setdefault(target, set()).add(includer)
            self._includers = {target: frozenset(files) for target, files in found.items()}
        return self._includers.get(path, frozenset())

    def around(self, path: str, exists: Callable[[str], bool]) -> frozenset[str]:
        """The files that what is said of the file at `path` may depend on; without itself.

        They are those that reach it, and all that it and they reach.
        """
        found = {path}
        for step in (self.includers, self._named):
            waiting = list(found)
            while waiting:
                beside = step(waiting.pop(), exists) - found
                found |= beside
                waiting += beside
        return frozenset(found - {path})

    def _named(self, path: str, exists: Callable[[str], bool]) -> frozenset[str]:
        return self._resolved(path, self.names(path), exists)

    def entries(self, path: str, exists: Callable[[str], bool]) -> frozenset[str]:
        """The files from which `path` is reached and that no other file names; without itself."""
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

    def _resolved(self, path: str, names: Iterable[str], exists: Callable[[str], bool]) -> frozenset[str]:
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
