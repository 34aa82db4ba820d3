"""What a template needs from its caller: the shape of each input, inferred from its uses.

The uses in each piece of a file are summed up once and kept with it, in stretches between the
tags whose block reaches out of the piece; a file's shapes are those of its outermost piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from promptls.meaning.macro_flow import Flow, shapes_of_inputs
from promptls.meaning.paths import Path, without_views
from promptls.meaning.settled_shapes import settled, settled_shapes
from promptls.meaning.shape import Shape, element_of
from promptls.meaning.template import Template
from promptls.meaning.use import Bind, Close, Middle, Open, Pass, Rebind, Use
from promptls.meaning.uses import chunk_uses, unplaced_events
from promptls.meaning.walk import Later, Piece, Walk
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Group, chunks_from, derived, united


def used_shapes(template: Template) -> Mapping[str, Shape]:
    """The shapes of all values that come from outside the template, by their uses alone."""
    return _shapes(template.source.root)


def summed_uses(template: Template) -> Mapping[str, Shape]:
    """The uses of all values that come from outside the template, side by side, as `merged` sums them up."""
    return _uses(template.source.root)


def flow_of(template: Template) -> Flow:
    """The shapes of inputs and parameters by their uses alone, and what calls hand on."""
    return _flow(template.source.root)


def _flow_of(pieces: tuple[Piece, ...]) -> Flow:
    walk = Walk()
    walk.take(pieces)
    return Flow(walk.shapes(), tuple(walk.passes))


def shape_under(shapes: Mapping[str, Shape], path: Path) -> Shape | None:
    """The shape at the end of a path from one of the variables; None where nothing is known of it."""
    shape = shapes.get(str(path[0].key)) if path else None
    for step in path[1:]:
        if shape is None:
            return None
        shape = shape.key(step.key) if isinstance(step.key, str) else element_of(shape)
    return None if shape is None else settled(shape)


def resolved_at(template: Template, path: Path, offset: int) -> Path:
    """The path from an input that `path` means at `offset`; empty where it begins at no input."""
    return _walk_to(template, offset).resolved(path) if path else ()


def known_constants(template: Template, path: Path, offset: int) -> tuple[str, ...]:
    """The texts that the value at a path must be one of at `offset`, by the conditions around it, sorted.

    None where that is not known.
    """
    if not path:
        return ()
    walk = _walk_to(template, offset)
    way = walk.resolved(path)
    found: frozenset[object] | None = None
    for condition in walk.where:
        if condition.is_among and condition.path == way:
            found = condition.values if found is None else found & condition.values
    texts = sorted(each for each in found or () if isinstance(each, str))
    return tuple(texts) if len(texts) == len(found or ()) else ()


def resolved_each(template: Template, asked: Iterable[tuple[Path, int]]) -> dict[tuple[Path, int], Path]:
    """What `resolved_at` gives for each of some paths at their offsets, in one walk over the file."""
    paths: dict[int, list[Path]] = {}
    for path, offset in asked:
        paths.setdefault(offset, []).append(path)
    return {
        (path, offset): walk.resolved(path) if path else ()
        for offset, walk in _walks_to(template.source.root, sorted(paths))
        for path in paths[offset]
    }


def shapes_at(template: Template, offset: int, used: Mapping[str, Shape]) -> Mapping[str, Shape]:
    """The shapes of what is outside the template when a text that stands at `offset` uses these variables."""
    walk = _walk_to(template, offset)
    walk.use_all(used)
    return walk.shapes()


def resolved_uses(template: Template) -> Iterator[Use]:
    """Every use of a value that comes from outside the template, in order, with its path from there.

    Goes over the whole file. Spans count from the start of the file.
    """
    walk = Walk()
    for located in chunks_from(template.source.root, 0):
        for tag in chunk_uses(located.chunk):
            for event in tag.events:
                if not isinstance(event, Use):
                    walk.step(event)
                elif (way := walk.resolved(event.path)) and without_views(way) == way:
                    start = located.start
                    compared = tuple(
                        [each._replace(span=each.span.shifted(start)) for each in event.compared]
                    )
                    yield event._replace(path=way, span=event.span.shifted(start), compared=compared)


def _walk_to(template: Template, offset: int) -> Walk:
    """The blocks that are open at `offset`; what the tag there sets is not known in it yet."""
    ((_, walk),) = _walks_to(template.source.root, [offset])
    return walk


def _walks_to(
    group: Group, offsets: Sequence[int], start: int = 0, walk: Walk | None = None
) -> Iterator[tuple[int, Walk]]:
    """The blocks that are open at each of some offsets, which are in order, in a group at `start`.

    One walk goes over the group, and enters only what holds one of the offsets.
    """
    walk = Walk() if walk is None else walk
    waiting = 0
    children: tuple[Chunk | Group, ...] = group.children
    for number, child in enumerate(children):
        end = start + group.starts[number + 1] if number + 1 < len(children) else None
        first = waiting
        while waiting < len(offsets) and (end is None or offsets[waiting] < end):
            waiting += 1
        if first == waiting:
            _pass_by(walk, child)
        elif isinstance(child, Group):
            yield from _walks_to(child, offsets[first:waiting], start + group.starts[number], walk)
        else:
            for offset in offsets[first:waiting]:
                yield offset, _walk_into(child, offset - start - group.starts[number], walk.copied())
            _pass_by(walk, child)
        if waiting == len(offsets):
            break


def _walk_into(chunk: Chunk, inside: int, walk: Walk) -> Walk:
    for tag in chunk_uses(chunk):
        if tag.start >= inside:
            break
        for event in tag.events:
            if not isinstance(event, (Use, Pass)) and (tag.end <= inside or not isinstance(event, Bind)):
                walk.step(event)
    return walk


def _pass_by(walk: Walk, piece: Chunk | Group) -> None:
    for each in _bindings(piece):
        if not isinstance(each, (dict, Later)):
            walk.step(each)


def _of_chunk(chunk: Chunk) -> tuple[Piece, ...]:
    return _summed(list(unplaced_events(chunk)))


def _bindings_of(chunk: Chunk) -> tuple[Piece, ...]:
    return tuple([each for each in stretches(chunk) if not isinstance(each, (dict, Later, Pass))])


def _joined_pieces(pieces: list[tuple[Piece, ...]]) -> tuple[Piece, ...]:
    return _summed([event for each in pieces for event in each])


def _summed(events: Sequence[Piece | Use]) -> tuple[Piece, ...]:
    """The uses in some events, summed up between those that the text around takes part in.

    Uses of a name of other kinds stand side by side, also where the text around makes the name a view that
    some of them do not fit.
    """
    loose = _loose(events)
    found: list[Piece] = []
    walk = Walk()

    def end_stretch() -> None:
        if walk.found:
            found.append(walk.shapes())
            walk.forget()
        found.extend(walk.passes)
        walk.passes.clear()
        found.extend(Later(path, shape) for (path, _), shape in walk.waiting.items())
        walk.waiting.clear()
        bound = walk.frames[0].names
        if bound:
            found.append(Rebind(tuple([Bind(name, path) for name, path in bound.items()])))
            bound.clear()

    for index, event in enumerate(events):
        if isinstance(event, Use):
            walk.use(event.path, event.shape, event.where)
        elif isinstance(event, dict):
            walk.use_all(event)
        elif isinstance(event, Later):
            walk.use(event.path, event.shape)
        elif index in loose:
            end_stretch()
            found.append(event)
        else:
            walk.step(event)
    end_stretch()
    return tuple(found)


def _loose(events: Sequence[Piece | Use]) -> frozenset[int]:
    """The indexes of the events of blocks whose other end is not among the events."""
    loose: list[int] = []
    stack: list[tuple[str, list[int]]] = []
    for index, event in enumerate(events):
        if isinstance(event, Open):
            stack.append((event.keyword, [index]))
        elif isinstance(event, Middle) and stack:
            stack[-1][1].append(index)
        elif isinstance(event, Close) and stack and stack[-1][0] == event.keyword:
            stack.pop()
        elif isinstance(event, (Middle, Close)):
            # A block closed by the wrong tag takes those inside it along, also those of the text around.
            loose += [number for _, numbers in stack for number in numbers]
            stack.clear()
            loose.append(index)
    return frozenset((*loose, *(index for _, indexes in stack for index in indexes)))


stretches: Final = united(_of_chunk, _joined_pieces, of_tags=True)
"""The uses of a piece of the file, summed up between what the text around it takes part in."""
_bindings: Final = united(_bindings_of, _joined_pieces, of_tags=True)
"""Of those stretches what is bound for the text behind, and the blocks that begin or end there."""
_flow: Final = derived(stretches, _flow_of)
_uses: Final = derived(_flow, lambda flow: shapes_of_inputs(flow, {}))
_shapes: Final = derived(_uses, settled_shapes)
