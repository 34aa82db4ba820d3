"""What a template needs from its caller: the shape of each input, inferred from its uses.

The uses in each piece of a file are summed up once and kept with it, in stretches between the
tags whose block reaches out of the piece; a file's shapes are those of its outermost piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from promptls.meaning.paths import Each, Path, Step, path_of
from promptls.meaning.shape import UNKNOWN, Shape, declared_over, interned, merged, shape_of_schema
from promptls.meaning.template import Template
from promptls.meaning.use import Bind, Close, Middle, Open, Rebind, Use
from promptls.meaning.uses import chunk_uses
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Group, chunks_from, derived, united
from promptls.syntax.jinja.nodes import Expression

_MOST_STEPS: Final = 20
"""How deep shapes nest; loops over their own elements go deeper for nothing."""

Stretch: TypeAlias = dict[str, Shape]
"""The shapes of the variables that a piece of a chunk uses and does not bind itself."""
Piece: TypeAlias = Stretch | Bind | Rebind | Open | Middle | Close


def input_shapes(template: Template) -> Mapping[str, Shape]:
    """The shape of each input that the template reads or declares, sorted by name.

    The JSON Schemas of `input_keys` go before what the uses suggest.
    """
    used = used_shapes(template)
    declared = {key.name: shape_of_schema(key.schema) for key in template.declarations.inputs or ()}
    names = sorted({*template.names.input_names, *declared})
    return {
        name: declared_over(declared[name], used.get(name, UNKNOWN))
        if name in declared
        else used.get(name, UNKNOWN)
        for name in names
    }


def used_shapes(template: Template) -> Mapping[str, Shape]:
    """The shapes of all values that come from outside the template, by their uses alone."""
    return _shapes(template.source.root)


def chunk_shapes(chunk: Chunk) -> Mapping[str, Shape]:
    """The shapes of the variables that the chunk uses, as far as the chunk alone can tell."""
    return _shapes(chunk)


def _shapes_of(pieces: tuple[Piece, ...]) -> Mapping[str, Shape]:
    walk = _Walk()
    walk.take(pieces)
    return walk.shapes()


def shape_at(
    template: Template, expression: Expression, offset: int, inputs: Mapping[str, Shape]
) -> Shape | None:
    """What is known of the value that `expression` gives at `offset`, with `inputs` known already.

    None where it is no way from an input.
    """
    return shape_under(inputs, resolved_at(template, path_of(expression), offset))


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
    walk = _Walk()
    for located in chunks_from(template.source.root, 0):
        for tag in chunk_uses(located.chunk):
            for event in tag.events:
                if not isinstance(event, Use):
                    walk.step(event)
                elif way := walk.resolved(event.path):
                    yield event._replace(path=way, span=event.span.shifted(located.start))


def _walk_to(template: Template, offset: int) -> _Walk:
    """The blocks that are open at `offset`; what the tag there sets is not known in it yet."""
    located = template.source.located(offset)
    walk = _Walk()
    for piece in _pieces_before(template.source.root, located.index):
        walk.take(stretches(piece))
    inside = offset - located.start
    for tag in chunk_uses(located.chunk):
        if tag.start >= inside:
            break
        for event in tag.events:
            if not isinstance(event, Use) and (tag.end <= inside or not isinstance(event, Bind)):
                walk.step(event)
    walk.found.clear()
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
    return _summed([event for tag in chunk_uses(chunk) for event in tag.events])


def _joined_pieces(pieces: list[tuple[Piece, ...]]) -> tuple[Piece, ...]:
    return _summed([event for each in pieces for event in each])


def _summed(events: Sequence[Piece | Use]) -> tuple[Piece, ...]:
    """The uses in some events, summed up between those that the text around takes part in."""
    loose = _loose(events)
    found: list[Piece] = []
    walk = _Walk()

    def end_stretch() -> None:
        if walk.found:
            found.append(walk.shapes())
            walk.found.clear()
        bound = walk.frames[0].names
        if bound:
            found.append(Rebind(tuple([Bind(name, path) for name, path in bound.items()])))
            bound.clear()

    for index, event in enumerate(events):
        if isinstance(event, Use):
            walk.use(event.path, event.shape)
        elif isinstance(event, dict):
            walk.use_all(event)
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


stretches: Final = united(_of_chunk, _joined_pieces)
"""The uses of a piece of the file, summed up between what the text around it takes part in."""
_shapes: Final = derived(stretches, _shapes_of)


class _Frame:
    """One open block: what its names stand for, and what its branch asks for."""

    __slots__ = ("asked", "asked_else", "keyword", "names")

    def __init__(self, keyword: str, asked: tuple[Path, ...] = (), asked_else: tuple[Path, ...] = ()) -> None:
        self.keyword = keyword
        self.names: dict[str, Path] = {}
        self.asked = asked
        self.asked_else = asked_else


class _Walk:
    """The blocks that are open at the place reached, and the shapes that were found on the way.

    A name bound in a branch is known to that branch; behind it nobody knows what it stands for.
    """

    def __init__(self) -> None:
        self.frames: Final = [_Frame("")]
        self.found: Final[dict[tuple[Path, int, tuple[Path, ...]], Shape]] = {}
        self._asked: tuple[Path, ...] = ()

    def take(self, pieces: tuple[Piece, ...]) -> None:
        """Go over a chunk."""
        for piece in pieces:
            if isinstance(piece, dict):
                self.use_all(piece)
            else:
                self.step(piece)

    def use_all(self, shapes: Mapping[str, Shape]) -> None:
        """Note the uses that have been summed up as the shapes of variables."""
        for name, shape in shapes.items():
            self.use((Step(name, shape.optional),), shape)

    def use(self, path: Path, shape: Shape) -> None:
        """Note a use, where it is one of an outer value."""
        way = self.resolved(path)
        if way:
            self.found[way, id(shape), self._asked] = shape

    def resolved(self, path: Path) -> Path:
        """The path from a variable that nothing here binds; empty where there is none."""
        for frame in reversed(self.frames):
            bound = frame.names.get(str(path[0].key))
            if bound is not None:
                return _joined(bound, path) if bound else ()
        return path[:_MOST_STEPS]

    def step(self, event: Bind | Rebind | Open | Middle | Close) -> None:
        """Go into a block, or out of it, or past a name that is bound."""
        if isinstance(event, Bind):
            self._bind((event,))
        elif isinstance(event, Rebind):
            self._bind(event.binds)
        elif isinstance(event, Open):
            frame = _Frame(
                event.keyword, self._all_resolved(event.asked), self._all_resolved(event.asked_else)
            )
            frame.names = {bind.name: self.resolved(bind.path) if bind.path else () for bind in event.bound}
            self.frames.append(frame)
        elif isinstance(event, Middle):
            self._middle(event)
        elif any(frame.keyword == event.keyword for frame in self.frames[1:]):
            while self._leave(self.frames.pop()) != event.keyword:
                pass
        self._asked = tuple(path for frame in self.frames for path in frame.asked)

    def _bind(self, binds: tuple[Bind, ...]) -> None:
        ways = {bind.name: self.resolved(bind.path) if bind.path else () for bind in binds}
        self.frames[-1].names.update(ways)

    def _middle(self, event: Middle) -> None:
        frame = self.frames[-1]
        if frame.keyword == "for":  # behind a loop's `else` its variable is gone
            frame.names.clear()
        if frame.keyword != "if":
            return
        for name in frame.names:
            frame.names[name] = ()
        frame.asked = (*frame.asked_else, *self._all_resolved(event.asked))
        frame.asked_else = (*frame.asked_else, *self._all_resolved(event.asked_else))

    def _leave(self, frame: _Frame) -> str:
        """What a branch has bound is known of no longer; the keyword of the block that ends."""
        if frame.keyword == "if":
            self.frames[-1].names.update(dict.fromkeys(frame.names, ()))
        return frame.keyword

    def _all_resolved(self, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        return tuple(way for path in paths if (way := self.resolved(path)))

    def shapes(self) -> dict[str, Shape]:
        """The shapes found, by the names of the variables."""
        made: dict[str, Shape] = {}
        for (path, _, asked), shape in self.found.items():
            name = str(path[0].key)
            whole = _along(path, shape)
            for question in asked:
                if question[0].key == name:
                    whole = _guarded(whole, question[1:])
            made[name] = merged(made[name], whole) if name in made else whole
        return {name: interned(shape) for name, shape in made.items()}


def _joined(bound: Path, path: Path) -> Path:
    """The path from what the first name of `path` stands for."""
    end = bound[-1]._replace(optional=bound[-1].optional or path[0].optional)
    return (*bound[:-1], end, *path[1:])[:_MOST_STEPS]


def _along(path: Path, shape: Shape) -> Shape:
    """The shape of the variable that `path` begins at, when `shape` is at its end."""
    for step in reversed(path[1:]):
        below = _optional(shape) if step.optional else shape
        if isinstance(step.key, str):
            shape = Shape("mapping", keys=((step.key, below),))
        else:
            shape = Shape("mapping" if step.key is Each.VALUE else "list", element=below)
    return _optional(shape) if path[0].optional else shape


def _optional(shape: Shape) -> Shape:
    return shape if shape.optional else replace(shape, optional=True)


def _guarded(shape: Shape, path: Path) -> Shape:
    """The shape of a value where the one at the end of `path` has been asked for."""
    if not path:
        return _optional(shape)
    if isinstance(path[0].key, str):
        keys = tuple(
            (name, _guarded(below, path[1:]) if name == path[0].key else below) for name, below in shape.keys
        )
        return replace(shape, keys=keys)
    return shape if shape.element is None else replace(shape, element=_guarded(shape.element, path[1:]))
