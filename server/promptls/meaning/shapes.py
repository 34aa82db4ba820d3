"""What a template needs from its caller: the shape of each input, inferred from its uses.

The uses in each piece of a file are summed up once and kept with it, in stretches between the
tags whose block reaches out of the piece; a file's shapes are those of its outermost piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from promptls.meaning.macro_flow import Flow, shapes_of_inputs
from promptls.meaning.paths import Path, without_views
from promptls.meaning.shape import Shape
from promptls.meaning.template import Template
from promptls.meaning.use import Bind, Close, Middle, Open, Rebind, Use
from promptls.meaning.uses import chunk_uses, unplaced_events
from promptls.meaning.walk import Later, Piece, Walk
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Group, chunks_from, derived, united


def used_shapes(template: Template) -> Mapping[str, Shape]:
    """The shapes of all values that come from outside the template, by their uses alone."""
    return _shapes(template.source.root)


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
        shape = shape.key(step.key) if isinstance(step.key, str) else shape.element
    return shape


def resolved_at(template: Template, path: Path, offset: int) -> Path:
    """The path from an input that `path` means at `offset`; empty where it begins at no input."""
    return _walk_to(template, offset).resolved(path) if path else ()


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
    located = template.source.located(offset)
    walk = Walk()
    for piece in _pieces_before(template.source.root, located.index):
        walk.take(stretches(piece))
    inside = offset - located.start
    for tag in chunk_uses(located.chunk):
        if tag.start >= inside:
            break
        for event in tag.events:
            if not isinstance(event, Use) and (tag.end <= inside or not isinstance(event, Bind)):
                walk.step(event)
    walk.forget()
    return walk


def _pieces_before(group: Group, index: int) -> Iterator[Chunk | Group]:
    """The largest pieces that hold all chunks before the one of this number, in order."""
    children: tuple[Chunk | Group, ...] = group.children
    for number, child in enumerate(children):
        first = group.first_chunks[number]
        if first + child.count <= index:
            yield child
        elif first < index and isinstance(child, Group):
            yield from _pieces_before(child, index - first)


def _of_chunk(chunk: Chunk) -> tuple[Piece, ...]:
    return _summed(list(unplaced_events(chunk)))


def _joined_pieces(pieces: list[tuple[Piece, ...]]) -> tuple[Piece, ...]:
    return _summed([event for each in pieces for event in each])


def _summed(events: Sequence[Piece | Use]) -> tuple[Piece, ...]:
    """The uses in some events, summed up between those that the text around takes part in.

    Uses of a name that contradict each other sum up to `any`, also where the text around would make the
    name a view that some of them do not fit.
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
            walk.use(event.path, event.shape)
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
_flow: Final = derived(stretches, _flow_of)
_shapes: Final = derived(_flow, lambda flow: shapes_of_inputs(flow, {}))
