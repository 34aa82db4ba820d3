"""What a name in data stands for: an input of the prompt that takes the data, or a key of one's value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from promptls.ide.symbols.data_keys import DataKeys
from promptls.ide.symbols.evaluation_columns import column_places
from promptls.ide.symbols.inputs import input_names
from promptls.ide.symbols.keys import data_keys, schema_ways
from promptls.ide.symbols.symbol import Symbol
from promptls.semantic.flow.keys import Way, keys_named
from promptls.text.positions import Span
from promptls.workspace.contract import needs_of
from promptls.workspace.snapshot import Snapshot


class Taken(NamedTuple):
    """An input of the file at `home`, or with a `way` a key of its value."""

    home: str
    way: Way = ()

    def symbol(self, name: str, path: str, span: Span) -> Symbol:
        """Return the symbol at a place that names it."""
        return Symbol("key" if self.way else "input", name, path, span, self.home, None, self.way)


def taken_as(
    snapshot: Snapshot, prompt: str, name: str, stands_at: Callable[[DataKeys], bool]
) -> Taken | None:
    """Return what the prompt at `prompt`, which is given some data, takes from under a key of this name.

    `stands_at` says of the keys that lead to one whether the key in question is that one.
    """
    for home in _takers(snapshot, prompt, name):
        if stands_at((name,)):
            return Taken(home)
    for home in snapshot.included(prompt):
        for way in _ways(snapshot, home, name):
            if stands_at(data_keys(way)):
                return Taken(home, way)
    return None


def _takers(snapshot: Snapshot, prompt: str, name: str) -> Iterator[str]:
    """Yield the files that take an input of this name from the caller of the prompt."""
    template = snapshot.template(prompt)
    if template is not None and (name in input_names(template) or any(column_places(template, prompt, name))):
        yield prompt
    for need in needs_of(snapshot, prompt).by_name.get(name, ()):
        yield need.path


def _ways(snapshot: Snapshot, path: str, name: str) -> Iterator[Way]:
    """Yield the ways to keys of this name that a file reads or declares, each once."""
    template = snapshot.template(path)
    if template is None:
        return
    reads = (read.way for read in keys_named(template, name) if len(read.way) > 1)
    yield from dict.fromkeys((*reads, *schema_ways(template, name)))
