"""What the keys in a template are keys of: the ways that lead to them from what the caller gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from promptls.meaning.keys import Handling, KeyPlace, ValueUse, chunk_keys, key_names
from promptls.meaning.parameter_roots import is_macro
from promptls.meaning.paths import Each, Path, Step, View, used_whole, without_views
from promptls.meaning.scopes import GLOBALS, INJECTED
from promptls.meaning.shapes import resolved_at, stretches
from promptls.meaning.template import Template
from promptls.meaning.use import Use
from promptls.meaning.uses import chunk_uses
from promptls.meaning.walk import Walk
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Group, Located, Piece
from promptls.text.span import Span

Way: TypeAlias = tuple[str | Each, ...]
"""The way from an input to a value; an element by its number is an element like others."""

_NO_INPUTS: Final = GLOBALS | INJECTED | {"self", "loop", "caller", "varargs", "kwargs"}


class KeyRead(NamedTuple):
    """A key that is read at `span` of the file, and the way to it; empty where that is not known."""

    way: Way
    span: Span
    name: str
    is_quoted: bool


class ValueRead(NamedTuple):
    """What is done at `span` of the file with the value at the end of a way from an input.

    `callee` is what a value that is `handed` on is handed to.
    """

    way: Way
    span: Span
    handling: Handling
    callee: Path = ()


def way_of(path: Path) -> Way:
    """A path as a way; empty where it begins at no input, or ends at no value that the caller gives."""
    if not path or path[0].key in _NO_INPUTS or is_macro(path[0].key) or without_views(path) != path:
        return ()
    return tuple(
        Each.ELEMENT if step.key is Each.INDEX else step.key
        for step in path
        if not isinstance(step.key, View)
    )


def path_along(way: Way) -> Path:
    """A way as a path."""
    return tuple(Step(key) for key in way)


def keys_named(template: Template, name: str) -> Iterator[KeyRead]:
    """Every key of this name that the template reads, in order."""
    for located, walk in _chunks(template.source.root, lambda piece: name in key_names(piece), Walk()):
        for what, way in _resolved(located.chunk, walk, name):
            if isinstance(what, KeyPlace):
                yield KeyRead(way, what.span.shifted(located.start), name, what.is_quoted)


def key_read_at(template: Template, offset: int) -> KeyRead | None:
    """The key whose name stands at `offset`, or ends there; reads no more than the blocks around it."""
    located = template.source.located(offset)
    inside = offset - located.start
    for tag in chunk_keys(located.chunk):
        if not tag.start <= inside <= tag.end:
            continue
        for keys, place in ((tag.keys, located.start + tag.start), (tag.keys_inside, offset)):
            for key in keys:
                if key.span.contains(inside):
                    way = way_of(resolved_at(template, key.path, place))
                    way = way if way[-1:] == (key.name,) else ()
                    return KeyRead(way, key.span.shifted(located.start), key.name, key.is_quoted)
    return None


def values_used(template: Template, root: str) -> Iterator[ValueRead]:
    """Every use of a value that comes from the input `root`, in order. Goes over the whole file."""
    for located, walk in _chunks(template.source.root, lambda _: True, Walk()):
        for what, way in _resolved(located.chunk, walk):
            if isinstance(what, ValueUse) and way[:1] == (root,):
                span = what.span.shifted(located.start)
                yield ValueRead(way, span, what.handling, walk.resolved(what.callee) if what.callee else ())


def _chunks(
    group: Group, holds: Callable[[Piece], bool], walk: Walk, at: tuple[int, int, int] = (0, 0, 0)
) -> Iterator[tuple[Located, Walk]]:
    """The chunks for which `holds` is true, each with the blocks that are open at its beginning.

    Whoever takes a chunk leads the walk through it.
    """
    for number, piece in enumerate(group.children):
        place = (
            at[0] + group.first_chunks[number],
            at[1] + group.starts[number],
            at[2] + group.first_lines[number],
        )
        if not holds(piece):
            walk.take(stretches(piece))
        elif isinstance(piece, Group):
            yield from _chunks(piece, holds, walk, place)
        else:
            yield Located(piece, *place), walk


def _resolved(chunk: Chunk, walk: Walk, name: str | None = None) -> Iterator[tuple[KeyPlace | ValueUse, Way]]:
    """The uses of a chunk, or its keys of this name, with their ways; leads the walk through the chunk."""
    for tag, read in zip(chunk_uses(chunk), chunk_keys(chunk), strict=True):
        outer, inner = (read.keys, read.keys_inside) if name is not None else (read.uses, read.uses_inside)
        yield from _with_ways(outer, walk, name)
        for event in tag.events:
            if not isinstance(event, Use):
                walk.step(event)
        yield from _with_ways(inner, walk, name)


def _with_ways(
    found: tuple[KeyPlace, ...] | tuple[ValueUse, ...], walk: Walk, name: str | None
) -> Iterator[tuple[KeyPlace | ValueUse, Way]]:
    for each in found:
        if name is None or (isinstance(each, KeyPlace) and each.name == name):
            path = walk.resolved(each.path)
            if isinstance(each, KeyPlace):
                way = way_of(path)
                yield each, way if way[-1:] == (each.name,) else ()
            else:
                is_view = used_whole(path) != path and each.handling == "iterated"
                yield each._replace(handling="asked") if is_view else each, way_of(used_whole(path))
