"""Goes over the uses of a template in order, with what names stand for at each place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from promptls.meaning.parameter_roots import NUMBERS_ROOT, is_macro
from promptls.meaning.paths import (
    Each,
    Path,
    Step,
    View,
    along,
    in_place,
    is_looked_up,
    under_question,
    without_views,
)
from promptls.meaning.shape import OTHERS, Shape, interned, merged
from promptls.meaning.type_tests import Narrowed, narrowed
from promptls.meaning.use import Bind, Close, Middle, Open, Pass, Rebind

_MOST_STEPS: Final = 20
"""How deep shapes nest; loops over their own elements go deeper for nothing."""

Stretch: TypeAlias = dict[str, Shape]
"""The shapes of the variables that a stretch of text uses and does not bind itself."""


class Later(NamedTuple):
    """A use of a value whose path is only known with the blocks around."""

    path: Path
    shape: Shape


Piece: TypeAlias = Stretch | Later | Pass | Bind | Rebind | Open | Middle | Close


class _Around(NamedTuple):
    """What the conditions around a use ask for, and what they say of types."""

    asked: tuple[Path, ...] = ()
    typed: tuple[Narrowed, ...] = ()


_NOTHING_AROUND: Final = _Around()


class _Frame:
    """One open block: what its names stand for, and what its branch asks for.

    `told` are the variables that were noted in it, each with a shape and that one's identity, since a
    name last stood for something else.
    """

    __slots__ = ("asked", "asked_else", "keyword", "names", "tested", "told", "typed", "typed_else")

    def __init__(
        self,
        keyword: str,
        asked: tuple[Path, ...] = (),
        asked_else: tuple[Path, ...] = (),
        typed: tuple[Narrowed, ...] = (),
        typed_else: tuple[Narrowed, ...] = (),
    ) -> None:
        self.keyword = keyword
        self.names: dict[str, Path] = {}
        self.asked = asked
        self.asked_else = asked_else
        self.typed = typed
        self.typed_else = typed_else
        self.tested = (*typed, *typed_else) if typed or typed_else else ()
        self.told: dict[tuple[str, int], Shape] = {}

    def copied(self) -> _Frame:
        """The block with the names that it has now, and nothing noted in it."""
        other = _Frame(self.keyword, self.asked, self.asked_else, self.typed, self.typed_else)
        other.names = self.names.copy()
        other.tested = self.tested
        return other


class Walk:
    """The blocks that are open at the place reached, and the shapes that were found on the way.

    A name bound in a branch is known to that branch; behind it nobody knows what it stands for.
    """

    def __init__(self) -> None:
        self.frames: Final = [_Frame("")]
        self.found: Final[dict[tuple[Path, int, _Around], Shape]] = {}
        self.passes: Final[dict[Pass, None]] = {}
        self.waiting: Final[dict[tuple[Path, int], Shape]] = {}
        """The uses of values under keys that may be the elements of a loop around."""
        self._around = _NOTHING_AROUND

    def copied(self) -> Walk:
        """A walk that goes on from here by itself, and has found nothing yet."""
        other = Walk()
        other.frames[:] = [frame.copied() for frame in self.frames]
        other._around = self._around
        return other

    def take(self, pieces: tuple[Piece, ...]) -> None:
        """Go over a chunk."""
        for piece in pieces:
            if isinstance(piece, dict):
                self.use_all(piece)
            elif isinstance(piece, Later):
                self.use(piece.path, piece.shape)
            else:
                self.step(piece)

    def use_all(self, shapes: Mapping[str, Shape]) -> None:
        """Note the uses that have been summed up as the shapes of variables."""
        told = self.frames[-1].told
        for name, shape in shapes.items():
            if (name, id(shape)) not in told:  # most pieces of a file use the same names in the same ways
                told[name, id(shape)] = shape
                self.use((Step(name, shape.optional),), shape)

    def forget(self) -> None:
        """Note everything anew from here on; names stand for what they stood for."""
        self.found.clear()
        for frame in self.frames:
            frame.told.clear()

    def use(self, path: Path, shape: Shape) -> None:
        """Note a use, where it is one of an outer value."""
        way = self.resolved(path)
        if way and not is_macro(way[0].key):
            if is_looked_up(way):
                for question in self._around.asked:
                    way = under_question(way, question)
                self.waiting[way, id(shape)] = shape
            for place, told in in_place(way, shape):
                self.found[place, id(told), self._around] = told

    def hand(self, handed: Pass) -> None:
        """Note what a call hands on, where what is called may be a macro."""
        callee = self.resolved(handed.callee)
        if callee:
            path = self.resolved(handed.path) if handed.path else ()
            asked = (*self._all_resolved(handed.asked), *self._around.asked)
            self.passes[Pass(path, callee, handed.argument, handed.block, asked)] = None

    def resolved(self, path: Path) -> Path:
        """The path from a variable that nothing here binds; empty where there is none."""
        for frame in reversed(self.frames):
            bound = frame.names.get(str(path[0].key))
            if bound is not None:
                path = _joined(bound, path) if bound else ()
                break
        return self._looked_up(path[:_MOST_STEPS])

    def _looked_up(self, path: Path) -> Path:
        """The path where a key that goes through a mapping's keys stands for any of them."""
        for index, step in enumerate(path):
            if isinstance(step.key, View) and step.key.kind == "looked up":
                key = self._bound_to(step.key.by[0])
                if key == (Step(NUMBERS_ROOT),):
                    return self._looked_up((*path[:index], Step(Each.INDEX), *path[index + 1 :]))
                if key != (*path[:index], Step(Each.ELEMENT)):
                    return path
                return self._looked_up((*path[:index], Step(Each.VALUE), *path[index + 1 :]))
        return path

    def _bound_to(self, name: str) -> Path:
        """What a name stands for; empty where that is nothing that is known."""
        return next((frame.names[name] for frame in reversed(self.frames) if name in frame.names), ())

    def step(self, event: Pass | Bind | Rebind | Open | Middle | Close) -> None:
        """Go into a block, or out of it, or past a name that is bound."""
        if isinstance(event, Pass):
            self.hand(event)
            return
        if isinstance(event, Bind):
            self._bind((event,))
        elif isinstance(event, Rebind):
            self._bind(event.binds)
        elif isinstance(event, Open):
            frame = _Frame(
                event.keyword,
                self._all_resolved(event.asked),
                self._all_resolved(event.asked_else),
                self._resolved_types(event.typed),
                self._resolved_types(event.typed_else),
            )
            frame.names = {bind.name: self.resolved(bind.path) if bind.path else () for bind in event.bound}
            self.frames.append(frame)
        elif isinstance(event, Middle):
            self._middle(event)
        elif any(frame.keyword == event.keyword for frame in self.frames[1:]):
            while self._leave(self.frames.pop()) != event.keyword:
                pass
        asked: list[Path] = []
        typed: list[Narrowed] = []
        for frame in self.frames:
            asked += frame.asked
            typed += frame.typed
        self._around = _Around(tuple(asked), tuple(typed)) if asked or typed else _NOTHING_AROUND

    def _bind(self, binds: tuple[Bind, ...]) -> None:
        ways = {bind.name: self.resolved(bind.path) if bind.path else () for bind in binds}
        self.frames[-1].names.update(ways)
        self.frames[-1].told.clear()

    def _middle(self, event: Middle) -> None:
        frame = self.frames[-1]
        frame.told.clear()
        if frame.keyword == "for":  # behind a loop's `else` its variable is gone
            frame.names.clear()
        if frame.keyword != "if":
            return
        for name in frame.names:
            frame.names[name] = ()
        frame.asked = (*frame.asked_else, *self._all_resolved(event.asked))
        frame.asked_else = (*frame.asked_else, *self._all_resolved(event.asked_else))
        if event.keyword == "else":
            for path in {each.path: None for each in frame.tested}:
                self.found[path, id(OTHERS), _NOTHING_AROUND] = OTHERS
        typed, typed_else = self._resolved_types(event.typed), self._resolved_types(event.typed_else)
        if frame.tested or typed or typed_else:
            frame.tested = (*frame.tested, *typed, *typed_else)
            frame.typed = (*frame.typed_else, *typed)
            frame.typed_else = (*frame.typed_else, *typed_else)

    def _leave(self, frame: _Frame) -> str:
        """What a branch has bound is known of no longer; the keyword of the block that ends."""
        if frame.keyword == "if":
            self.frames[-1].names.update(dict.fromkeys(frame.names, ()))
            self.frames[-1].told.clear()
        return frame.keyword

    def _all_resolved(self, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        if not paths:
            return ()
        return tuple([way for path in paths if (way := without_views(self.resolved(path)))])

    def _resolved_types(self, typed: tuple[Narrowed, ...]) -> tuple[Narrowed, ...]:
        """What is known of types, of values that are on no way through a view."""
        if not typed:
            return ()
        found = [Narrowed(self.resolved(each.path), each.kind) for each in typed]
        return tuple([each for each in found if each.path and without_views(each.path) == each.path])

    def shapes(self) -> dict[str, Shape]:
        """The shapes found, by the names of the variables."""
        made: dict[str, Shape] = {}
        for (path, _, around), shape in self.found.items():
            name = str(path[0].key)
            whole = shape_along(path, shape)
            for question in around.asked:
                if question[0].key == name:
                    whole = guarded(whole, question[1:])
            for each in around.typed:
                if each.path[0].key == name:
                    whole = narrowed(whole, each.path[1:], each.kind)
            made[name] = merged(made[name], whole) if name in made else whole
        return {name: interned(shape) for name, shape in made.items()}


def _joined(bound: Path, path: Path) -> Path:
    """The path from what the first name of `path` stands for."""
    end = bound[-1]._replace(optional=bound[-1].optional or path[0].optional)
    return along((*bound[:-1], end), *path[1:])[:_MOST_STEPS]


def shape_along(path: Path, shape: Shape) -> Shape:
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


def guarded(shape: Shape, path: Path) -> Shape:
    """The shape of a value where the one at the end of `path` has been asked for."""
    if not path:
        return _optional(shape)
    if shape.kind == "union":
        inside = [guarded(each, path) for each in shape.alternatives]
        return replace(shape, alternatives=tuple(inside))
    if isinstance(path[0].key, str):
        keys = tuple(
            (name, guarded(below, path[1:]) if name == path[0].key else below) for name, below in shape.keys
        )
        return replace(shape, keys=keys)
    return shape if shape.element is None else replace(shape, element=guarded(shape.element, path[1:]))
