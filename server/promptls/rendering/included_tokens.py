"""The tokens of the parts that a file's includes bring in, told by their written-out names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from promptls.rendering.outcome import Rendering
from promptls.workspace.snapshot import Snapshot


def told_names(snapshot: Snapshot, path: str) -> dict[str, tuple[str, ...]]:
    """The parts of each file that the one at `path` includes, by path: names that no other part has."""
    names = {other: _names(snapshot, other) for other in snapshot.included(path)}
    counts = Counter(name for its in names.values() for name in its)
    return {
        other: tuple([name for name in its if name is not None and counts[name] == 1])
        for other, its in names.items()
        if other != path and its
    }


def brought_in(snapshot: Snapshot, told: dict[str, tuple[str, ...]], target: str) -> tuple[str, ...] | None:
    """The names of the parts that an include of `target` brings in; None where some cannot be told apart."""
    found: list[str] = []
    for other in snapshot.included(target):
        if other in told:
            if len(told[other]) != len(_names(snapshot, other)):
                return None
            found += told[other]
    return tuple(found)


def tokens_of(names: Iterable[str], rendering: Rendering) -> tuple[int, ...]:
    """The tokens of each rendered part that has one of the names, in their order."""
    wanted = frozenset(names)
    return tuple([part.tokens for part in rendering.parts if part.name in wanted])


def _names(snapshot: Snapshot, path: str) -> tuple[str | None, ...]:
    template = snapshot.template(path)
    return tuple([placed.part.name for placed in template.parts]) if template is not None else ()
