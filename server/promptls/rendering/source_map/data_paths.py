"""The path of a printed value in the template's data, such as `history[2].content`.

A path derived from the template's expressions is returned only if the data contains that same value there.
A value that no expression leads to, such as the argument of a macro, is found by its identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from promptls.rendering.source_map.pieces import Iteration, Leaf, ListItem, SourceFile

DataPath: TypeAlias = tuple[Any, ...]
"""The name of an input, followed by keys and indices."""

_NOTHING: Final = object()
_ACCESSES: Final = frozenset({".", "[]"})
_LEADING: Final = frozenset({".", "[]", "|", "()"})
"""Kinds of expressions that read one value, or derive one from it."""
_MAX_INDEXED: Final = 100_000
_LONGEST_CHAIN: Final = 20
"""The maximum number of names in a chain of aliases."""


def path_text(path: DataPath) -> str:
    """Return the path in template syntax."""
    path_text = str(path[0])
    for key in path[1:]:
        is_name = isinstance(key, str) and key.isidentifier()
        path_text += f".{key}" if is_name else f"[{key!r}]"
    return path_text


def iterations_of(leaf: Leaf) -> list[Iteration]:
    """Return the loop iterations that produced a leaf, outermost first."""
    if not leaf.outer:
        return chain_of(leaf.iteration)
    found: list[Iteration] = []
    for iteration in (*(outer.iteration for outer in leaf.outer), leaf.iteration):
        # A value may be set by one tag and printed by a different one in the same iteration.
        found += [each for each in chain_of(iteration) if not any(each is known for known in found)]
    return found


def chain_of(iteration: Iteration | None) -> list[Iteration]:
    """Return an iteration with its outer ones in the same function, outermost first."""
    found: list[Iteration] = []
    while iteration is not None:
        found.append(iteration)
        iteration = iteration[0]
    return found[::-1]


class DataPaths:
    """Locates values of one rendering in its data."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Search `data`, which must be the objects that the template used."""
        self._data = data
        self._places: dict[int, DataPath | None] | None = None
        self._items: dict[int, tuple[Iteration, DataPath | None]] = {}

    def of(self, leaf: Leaf) -> tuple[DataPath, ...]:
        """Return the paths of the value that `leaf` printed.

        For a value derived from several others, return the path of each.
        """
        if leaf.file is None or leaf.site is None:
            return ()
        expression, iterations = leaf.file.sites[leaf.site].expression, iterations_of(leaf)
        if type(leaf.value) is ListItem:
            path = self._listed(self._resolve(expression, leaf.file, iterations), leaf.value)
            return () if path is None else (path,)
        return tuple(dict.fromkeys(self._paths(expression, leaf.file, iterations, leaf.value)))

    def _paths(
        self, expression: Any, file: SourceFile, iterations: Sequence[Iteration], value: Any
    ) -> Iterator[DataPath]:
        kind = expression[0] if isinstance(expression, tuple) else "."
        if kind in {"?", "or"}:
            yield from self._chosen(expression, file, iterations, value)
        elif kind in _ACCESSES and not _is_made(expression):
            path = self._resolve(expression, file, iterations)
            if path is None or not self._is_at(path, value):
                path = self._place(value)
            if path is not None:
                yield path
        elif (path := self._place(value)) is not None:
            yield path
        else:
            yield from self._reads(expression, file, iterations)

    def _chosen(
        self, expression: Any, file: SourceFile, iterations: Sequence[Iteration], value: Any
    ) -> Iterator[DataPath]:
        """Yield the paths of a value that is one of two alternatives."""
        values = [each for each in expression[-2:] if each is not None]
        for each in values:
            path = None if _is_made(each) else self._resolve(each, file, iterations)
            if path is not None and _is_same(self._value(path), value):
                yield path
                return
        for each in values:
            if _is_made(each):
                yield from self._paths(each, file, iterations, value)
        if expression[0] == "?":
            yield from self._reads(expression[1], file, iterations)

    def _reads(
        self, expression: Any, file: SourceFile, iterations: Sequence[Iteration]
    ) -> Iterator[DataPath]:
        """Yield the paths of all existing values that an expression reads."""
        kind = expression[0] if isinstance(expression, tuple) else "."
        if kind not in _ACCESSES or _is_made(expression):
            for each in expression[1:2] if kind in {".", "()"} else expression[1:]:
                if each is not None:
                    yield from self._reads(each, file, iterations)
        elif expression is not None:
            path = self._resolve(expression, file, iterations)
            if path is not None and self._value(path) is not _NOTHING:
                yield path

    def _is_at(self, path: DataPath, value: Any) -> bool:
        """Return whether `value` is at `path` in the data, or is a character of the text there."""
        known = self._value(path)
        is_character = isinstance(value, str) and len(value) == 1 and isinstance(known, str)
        return _is_same(known, value) or (is_character and value in known)

    def _listed(self, of: DataPath | None, item: ListItem) -> DataPath | None:
        values = _NOTHING if of is None else self._value(of)
        if of is not None and isinstance(values, list | tuple):
            is_there = item.at < len(values) and _is_same(values[item.at], item.value)
            return (*of, item.at) if is_there else of
        return self._place(item.value)

    def _resolve(
        self, expression: Any, file: SourceFile, iterations: Sequence[Iteration], depth: int = 0
    ) -> DataPath | None:
        if expression is None or depth > _LONGEST_CHAIN:
            return None
        if isinstance(expression, str):
            return self._named(expression, file, iterations, depth)
        if expression[0] not in _LEADING:
            return None
        of = self._resolve(expression[1], file, iterations, depth)
        if of is None or expression[0] in {"|", "()"}:
            return of
        key = expression[2] if expression[0] == "." else self._known(expression[2], file, iterations)
        return None if key is _NOTHING else self._entry(of, key)

    def _known(self, expression: Any, file: SourceFile, iterations: Sequence[Iteration]) -> Any:
        """Return the value of an expression if iterations or data determine it."""
        if isinstance(expression, str):
            for _, its_file, site, _, item in reversed(iterations):
                targets = its_file.sites[site].targets
                if targets == expression:
                    return item
                if isinstance(targets, tuple) and expression in targets:
                    return item[targets.index(expression)]
        path = self._resolve(expression, file, iterations)
        return _NOTHING if path is None or _is_made(expression) else self._value(path)

    def _named(
        self, name: str, file: SourceFile, iterations: Sequence[Iteration], depth: int
    ) -> DataPath | None:
        for index in range(len(iterations) - 1, -1, -1):
            _, its_file, site, _, item = iterations[index]
            targets = its_file.sites[site].targets
            if targets == name:
                return self._item(iterations[index], iterations[:index])
            if isinstance(targets, tuple) and name in targets:
                return self._of_tuple(iterations[index], iterations[:index], targets.index(name), item)
        if name in file.names.aliases:
            return self._resolve(file.names.aliases[name], file, iterations, depth + 1)
        return None if name in file.names.bound or name not in self._data else (name,)

    def _item(self, iteration: Iteration, outer: Sequence[Iteration]) -> DataPath | None:
        known = self._items.get(id(iteration))
        if known is not None:
            return known[1]
        _, file, site, number, item = iteration
        base = self._resolve(file.sites[site].expression, file, outer)
        path = self._among(base, number - 1, item)
        if path is None:
            path = self._place(item)
        self._items[id(iteration)] = iteration, path
        return path

    def _among(self, base: DataPath | None, index: int, item: Any) -> DataPath | None:
        """Return the path of an item of the container at `base`."""
        values = _NOTHING if base is None else self._value(base)
        if base is None or values is _NOTHING:
            return None
        if isinstance(values, Mapping):
            return (*base, item) if _is_key(values, item) else None
        if not isinstance(values, list | tuple):
            return None
        if index < len(values) and values[index] is item:
            return (*base, index)
        same = [place for place, value in enumerate(values) if value is item]
        return (*base, same[0]) if len(same) == 1 else None

    def _of_tuple(
        self, iteration: Iteration, outer: Sequence[Iteration], position: int, item: Any
    ) -> DataPath | None:
        """Return the path of one of the values that an iteration has unpacked."""
        _, file, site, number, _ = iteration
        base = self._resolve(file.sites[site].expression, file, outer)
        values = _NOTHING if base is None else self._value(base)
        if base is None or values is _NOTHING:
            return self._place(item[position])
        if isinstance(values, Mapping) and len(item) == 2 and _is_key(values, item[0]):  # noqa: PLR2004 - key, value
            return (*base, item[0])
        if isinstance(values, list | tuple) and number <= len(values):
            row = values[number - 1]
            if isinstance(row, list | tuple) and len(row) == len(item) and row[position] is item[position]:
                return (*base, number - 1, position)
        return self._place(item[position])

    def _entry(self, of: DataPath, key: Any) -> DataPath | None:
        value = self._value(of)
        if isinstance(value, Mapping):
            return (*of, key) if _is_key(value, key) else None
        if isinstance(value, list | tuple) and isinstance(key, int) and -len(value) <= key < len(value):
            return (*of, key % len(value))
        return of if isinstance(value, str) and isinstance(key, int) else None

    def _value(self, path: DataPath) -> Any:
        value: Any = self._data
        try:
            for key in path:
                value = value[key]
        except (LookupError, TypeError):
            return _NOTHING
        return value

    def _place(self, value: Any) -> DataPath | None:
        """Return the path of this object in the data, if it occurs exactly once."""
        if not isinstance(value, list | dict) and not (isinstance(value, str) and len(value) > 1):
            return None
        if self._places is None:
            self._places = {}
            for count, (path, each) in enumerate(_walk(self._data)):
                if count > _MAX_INDEXED:
                    break
                self._places[id(each)] = None if id(each) in self._places else path
        return self._places.get(id(value))


def _is_made(expression: Any) -> bool:
    """Return whether the value of an expression differs from the one that it reads."""
    return isinstance(expression, tuple) and (expression[0] not in _ACCESSES or _is_made(expression[1]))


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (
        type(one) is type(other) and not isinstance(one, list | dict) and bool(one == other)
    )


def _is_key(values: Mapping[Any, Any], key: Any) -> bool:
    try:
        return key in values
    except TypeError:
        return False


def _walk(data: Mapping[str, Any]) -> Iterator[tuple[DataPath, Any]]:
    """Yield every container and text of the data, once for each of its paths."""
    waiting: list[tuple[DataPath, Any]] = [((name,), value) for name, value in data.items()]
    around: set[int] = set()
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, dict | list):
            yield path, value
            if id(value) in around:
                continue
            around.add(id(value))
            items = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*path, key), each) for key, each in items]
