"""Metrics and models by name, in headers, settings files and Python: what a name stands for, and its places.

A metric is a function of a Python file, or a name that `metrics` of a header or of the settings gives to
one with options. A model is a name that `models` of the settings gives.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from promptls.ide.symbols.declared_names import DeclaredName, declared_names, is_settings_file, settings_files
from promptls.ide.symbols.python_functions import function_places, functions_of
from promptls.ide.symbols.shared_data import prompts_with
from promptls.ide.symbols.symbol import Occurrence, Symbol, Use
from promptls.text.positions import Span
from promptls.text.steps import Steps, finished
from promptls.workspace.snapshot import Snapshot


class Function(NamedTuple):
    """A function of the Python file `home`."""

    home: str
    name: str


NAMED_KINDS: Final = frozenset({"metric", "named metric", "model"})
"""Kinds of symbols that are found here."""


def declared_symbol_at(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """Return the metric or model that a header or a settings file names at `offset`."""
    for name in declared_names(snapshot, path):
        if name.span.contains(offset):
            found = _meant(snapshot, path, name)
            return found if found is not None and found.span.contains(offset) else None
    return None


def declared_symbol_places(snapshot: Snapshot, symbol: Symbol) -> Iterator[Occurrence | None]:
    """Yield every place of a metric or model; None stands between the files."""
    prompts = yield from prompts_with(snapshot, symbol.name)
    for path in (*prompts, *settings_files(snapshot)):
        yield None
        for name in declared_names(snapshot, path) if path != symbol.home or symbol.kind != "metric" else ():
            found = _meant(snapshot, path, name)
            if found is not None and _is_same(found, symbol):
                use: Use = "declaration" if name.role == "definition" else "read"
                yield Occurrence(path, found.span, use, "settings" if is_settings_file(path) else "header")
    if symbol.kind == "metric":
        yield from function_places(snapshot, symbol.home, symbol.name)


def is_named_anywhere(snapshot: Snapshot, home: str, name: str) -> Steps[bool]:
    """Return whether a header or a settings file names the function of a Python file as a metric."""
    key = ("metrics named", name)
    known = snapshot.derived.get(key)
    if known is None:
        found: set[str] = set()
        prompts = yield from prompts_with(snapshot, f":{name}")
        for path in (*prompts, *settings_files(snapshot)):
            yield
            for each in declared_names(snapshot, path):
                meant = _meant(snapshot, path, each) if each.what == "metric" else None
                if meant is not None and meant.kind == "metric" and meant.name == name:
                    found.add(meant.home)
        known = snapshot.derived[key] = frozenset(found)
    assert isinstance(known, frozenset)
    return home in known


def function_named(snapshot: Snapshot, path: str, name: str) -> Function | None:
    """Return the function that the file at `path` names as `file.py:function`; None if there is none."""
    home = _home_of_function(snapshot, path, name)
    return Function(home, name.rpartition(":")[2]) if home is not None else None


def prompts_naming(snapshot: Snapshot, function: Function) -> tuple[str, ...]:
    """Return the prompt files that name a function as a metric, themselves or by their settings."""
    found = []
    for path in finished(prompts_with(snapshot, function.name)):
        for each in declared_names(snapshot, path):
            meant = _meant(snapshot, path, each) if each.what == "metric" else None
            if meant is not None and (meant.home, meant.name) == function:
                found.append(path)
                break
    return tuple(found)


def _is_same(one: Symbol, other: Symbol) -> bool:
    return (one.kind, one.home, one.name) == (other.kind, other.home, other.name)


def _meant(snapshot: Snapshot, path: str, named: DeclaredName) -> Symbol | None:
    """Return what a name in the file at `path` stands for.

    None if it leads to nothing that has a name here.
    """
    if named.what == "model":
        home = _home_of_model(snapshot, path, named.name)
        return Symbol("model", named.name, path, named.span, home) if home is not None else None
    definer = path if named.role == "definition" else _definer(snapshot, path, named.name)
    if definer is not None:
        return Symbol("named metric", named.name, path, named.span, definer)
    if named.role == "threshold":
        return _of_threshold(snapshot, path, named)
    function = named.name.rpartition(":")[2]
    home = _home_of_function(snapshot, path, named.name)
    span = Span(named.span.end - len(function), named.span.end)
    return Symbol("metric", function, path, span, home) if home is not None else None


def _of_threshold(snapshot: Snapshot, path: str, named: DeclaredName) -> Symbol | None:
    """Return the function that a threshold is for: that whose metric is called as the function is."""
    for metric in named.beside:
        home = _home_of_function(snapshot, path, metric)
        program = snapshot.template(home) if home is not None else None
        function = metric.rpartition(":")[2]
        if home is None or program is None or function != named.name:
            continue
        if functions_of(program.source.text).get(function):
            return Symbol("metric", function, path, named.span, home)
    return None


def _home_of_function(snapshot: Snapshot, path: str, name: str) -> str | None:
    """Return the Python file of a metric that is named as `file.py:function`.

    None if it has no such function.
    """
    file, _, function = name.rpartition(":")
    if not file.endswith(".py"):
        return None
    folders = [str(Path(path).parent)]
    if is_settings_file(path):  # its metrics are used by prompts in other folders, from which files count
        prompts = sorted(snapshot.graph.paths)
        folders += [str(Path(each).parent) for each in prompts if str(snapshot.project(each).path) == path]
    for folder in dict.fromkeys(folders):
        home = os.path.normpath(Path(folder) / file)
        program = snapshot.template(home)
        if program is not None and function in functions_of(program.source.text):
            return home
    return None


def _definer(snapshot: Snapshot, path: str, name: str) -> str | None:
    """Return the file whose `metrics` have the name: the prompt file itself, or its settings file."""
    for file in _files_around(snapshot, path):
        if name in _defined(snapshot, file, "metric"):
            return file
    return None


def _home_of_model(snapshot: Snapshot, path: str, name: str) -> str | None:
    for file in _files_around(snapshot, path):
        if is_settings_file(file) and name in _defined(snapshot, file, "model"):
            return file
    return None


def _files_around(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    if is_settings_file(path):
        return (path,)
    settings = snapshot.project(path).path
    return (path, str(settings)) if settings is not None else (path,)


def _defined(snapshot: Snapshot, path: str, what: str) -> frozenset[str]:
    """Return the metrics or models that a file defines."""
    key = ("defined names", path, what)
    known = snapshot.derived.get(key)
    if known is None:
        known = snapshot.derived[key] = frozenset(
            each.name
            for each in declared_names(snapshot, path)
            if each.what == what and each.role == "definition"
        )
    assert isinstance(known, frozenset)
    return known
