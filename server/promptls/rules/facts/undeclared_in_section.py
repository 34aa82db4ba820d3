"""The readings of an included file that its includers do not provide for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from promptls.meaning.scopes import INJECTED, Reading
from promptls.rules.facts.undeclared_readings import binding_of, declared_names, names_in_scope
from promptls.rules.rule import FileContext, RelatedPlace
from promptls.text.nearest import nearest
from promptls.workspace.ways import Way, ways_to

_MOST_NAMED = 3


class Unprovided(NamedTuple):
    """A reading that some ways to the file provide nothing for.

    `meant` is a name that all of those ways provide and that it is probably a slip of.
    """

    reading: Reading
    lacking: tuple[Way, ...]
    is_provided_elsewhere: bool
    meant: str | None


def unprovided_readings(context: FileContext) -> Iterator[Unprovided]:
    """The readings of names that an entry template leading here declares its inputs without.

    Calls are left out, and so is `loop`. None in a file that declares inputs itself.
    """
    if declared_names(context) is not None:
        return
    ways = [way for way in ways_to(context.snapshot, context.path) if way.reference is not None]
    if not any(way.declares for way in ways):
        return
    names = context.template.names
    for name in sorted(names.input_names - {"loop"}):
        lacking = tuple(way for way in ways if way.declares and name not in way.provided)
        if not lacking or binding_of(names, name) is not None:
            continue
        provided = frozenset.intersection(*(way.provided for way in lacking))
        for reading in names.readings_of(name):
            if reading.binding is None and reading.how != "call":
                in_scope = provided | names_in_scope(names, reading.span.start) | INJECTED
                meant = nearest(name, in_scope) if len(lacking) == len(ways) else None
                yield Unprovided(reading, lacking, len(lacking) < len(ways), meant)


def entries_words(found: Unprovided) -> str:
    """The entry templates that lack the name, as people read them."""
    files = list(dict.fromkeys(f"`{PurePath(way.entry).name}`" for way in found.lacking))
    more = f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
    return ", ".join(files[:_MOST_NAMED]) + more


def include_places(found: Unprovided) -> tuple[RelatedPlace, ...]:
    """The includes that lead from the entry templates to the file."""
    places = dict.fromkeys(
        (way.includer, way.reference.span)
        for way in found.lacking[:_MOST_NAMED]
        if way.includer is not None and way.reference is not None
    )
    return tuple(RelatedPlace(path, span, "the file is included here") for path, span in places)
