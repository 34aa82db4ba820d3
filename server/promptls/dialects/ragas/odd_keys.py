"""Keys inside of examples that are typos of a key which all other examples have in the same place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

from promptls.text.suggest import is_typo

_MIN_MAPPINGS: Final = 3
"""The minimum number of mappings in the same place that make a different one an exception."""
_MAX_DEPTH: Final = 10
Owner = TypeVar("Owner")


class Keys(NamedTuple):
    """The keys of a mapping: its path in a value, and the same path with None for each index."""

    path: tuple[str | int, ...]
    place: tuple[str | None, ...]
    names: tuple[str, ...]


def keys_in(
    value: Any, path: tuple[str | int, ...] = (), place: tuple[str | None, ...] = ()
) -> Iterator[Keys]:
    """Yield the keys of all mappings in a value."""
    if len(path) > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        yield Keys(path, place, tuple(map(str, value)))
        for key, inner in value.items():
            yield from keys_in(inner, (*path, str(key)), (*place, str(key)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from keys_in(inner, (*path, index), (*place, None))


def odd_keys(found: Iterable[tuple[Owner, Keys]]) -> Iterator[tuple[Owner, Keys, str, str]]:
    """Yield the keys of mappings, each with its owner, that are typos, and what is meant."""
    by_place: dict[tuple[str | None, ...], list[tuple[Owner, Keys]]] = {}
    for owner, keys in found:
        by_place.setdefault(keys.place, []).append((owner, keys))
    for mappings in by_place.values():
        times = Counter(name for _, keys in mappings for name in keys.names)
        usual = {name for name in times if times[name] == len(mappings) - 1}
        for owner, keys in mappings if len(mappings) >= _MIN_MAPPINGS else ():
            for name in keys.names:
                meant = [each for each in usual - {*keys.names} if times[name] == 1 and is_typo(name, each)]
                if len(meant) == 1:
                    yield owner, keys, name, meant[0]
