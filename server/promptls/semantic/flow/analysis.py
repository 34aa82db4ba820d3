"""Process the uses of a template in order, resolving names at each position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from promptls.semantic.flow.conditions import is_about_one, under
from promptls.semantic.flow.paths import (
    NUMBERS_ROOT,
    Each,
    Path,
    Step,
    View,
    along,
    guarded_shape,
    in_place,
    is_looked_up,
    is_macro,
    is_no_input,
    shape_along,
    under_question,
    without_views,
)
from promptls.semantic.flow.use import (
    NOTHING_TESTED,
    Bind,
    Close,
    Condition,
    Conditions,
    Middle,
    Narrowed,
    Open,
    Pass,
    Rebind,
    Tested,
    narrow_shape,
)
from promptls.semantic.types.shape import OTHERS, Shape, intern_shape, merged_all, unconditional


class Frame:
    """An open block: the values of its names, and what its conditions test.

    `holds` is known in the current branch, `fails` if all conditions up to here fail; `tested` are the type
    tests of all branches, and `around` is what this block and the enclosing ones know. `recorded_uses` are
    the variables whose use has been recorded in it since a name was last rebound, each with the identity of
    its shape.
    """

    __slots__ = ("around", "fails", "holds", "keyword", "names", "recorded_uses", "tested")

    def __init__(self, keyword: str, holds: Tested = NOTHING_TESTED, fails: Tested = NOTHING_TESTED) -> None:
        self.keyword = keyword
        self.names: dict[str, Path] = {}
        self.holds = holds
        self.fails = fails
        self.tested = holds.typed + fails.typed
        self.around = NOTHING_TESTED
        self.recorded_uses: dict[tuple[str, int], Shape] = {}

    def copied(self) -> Frame:
        """Return a block with the same names and no recorded uses."""
        other = Frame(self.keyword, self.holds, self.fails)
        other.names = self.names.copy()
        other.tested = self.tested
        other.around = self.around
        return other


_MAX_STEPS: Final = 20
"""The maximum depth of shapes; loops over their own elements would nest without limit."""

Stretch: TypeAlias = dict[str, Shape]
"""The shapes of the variables that a range of text uses and does not bind itself."""


class Later(NamedTuple):
    """A use of a value whose path can only be resolved with the enclosing blocks."""

    path: Path
    shape: Shape


Piece: TypeAlias = Stretch | Later | Pass | Bind | Rebind | Open | Middle | Close


class FlowAnalysis:
    """The blocks that are open at the current position, and the shapes found so far.

    A name bound in a branch is known in that branch; its value is unknown after it.
    """

    def __init__(self) -> None:
        self.frames: Final = [Frame("")]
        self.found: Final[dict[tuple[Path, int, Tested], Shape]] = {}
        self.passes: Final[dict[Pass, None]] = {}
        self.waiting: Final[dict[tuple[Path, int], Shape]] = {}
        """The uses of values under keys that may be the elements of an enclosing loop."""

    @property
    def where(self) -> Conditions:
        """What the enclosing conditions reveal about values at the current position."""
        return self._around.where

    @property
    def _around(self) -> Tested:
        return self.frames[-1].around

    def copied(self) -> FlowAnalysis:
        """Return an independent walk from the current position, without any shapes."""
        other = FlowAnalysis()
        other.frames[:] = [frame.copied() for frame in self.frames]
        return other

    def take(self, pieces: tuple[Piece, ...]) -> None:
        """Process a chunk."""
        for piece in pieces:
            if isinstance(piece, dict):
                self.use_all(piece)
            elif isinstance(piece, Later):
                self.use(piece.path, piece.shape)
            else:
                self.step(piece)

    def use_all(self, shapes: Mapping[str, Shape]) -> None:
        """Record uses that have been combined into shapes of variables."""
        recorded = self.frames[-1].recorded_uses
        for name, shape in shapes.items():
            if (name, id(shape)) not in recorded:  # most pieces of a file use the same names in the same ways
                recorded[name, id(shape)] = shape
                if shape.needed:
                    self._use_needed(name, shape)
                else:
                    self.use((Step(name, shape.optional, shape.optional),), shape)

    def _use_needed(self, name: str, shape: Shape) -> None:
        """Record the combined uses of a variable, once for each clause under which it is needed."""
        plain = intern_shape(unconditional(shape))
        for clause in shape.needed:
            where = [
                Condition(
                    tuple([Step(word) for word in each.path]), each.values, each.is_among, each.is_partial
                )
                for each in clause
            ]
            self.use((Step(name),), plain, tuple(where))

    def forget(self) -> None:
        """Discard all recorded uses; the values of names are retained."""
        self.found.clear()
        for frame in self.frames:
            frame.recorded_uses.clear()

    def use(self, path: Path, shape: Shape, where: Conditions = ()) -> None:
        """Record a use if it is one of an outer value; `where` are conditions beside those of the blocks."""
        resolved = self.resolved(path)
        if resolved and not is_macro(resolved[0].key):
            if is_looked_up(resolved):
                for tested in self._around.present:
                    resolved = under_question(resolved, tested)
                self.waiting[resolved, id(shape)] = shape
            around = self._around
            if where and (known := self._all_about(where)):
                around = around._replace(where=(*around.where, *known))
            for place, implied in in_place(resolved, shape):
                self.found[place, id(implied), around] = implied

    def hand(self, handed: Pass) -> None:
        """Record an argument of a call, if the callee may be a macro."""
        callee = self.resolved(handed.callee)
        if callee:
            path = self.resolved(handed.path) if handed.path else ()
            tested = (*self._all_resolved(handed.present), *self._around.present)
            where = (*self._all_about(handed.where), *self._around.where)
            self.passes[Pass(path, callee, handed.argument, handed.block, tested, where)] = None

    def resolved(self, path: Path) -> Path:
        """Return the path from an outer variable; empty if there is none."""
        for frame in reversed(self.frames):
            bound = frame.names.get(str(path[0].key))
            if bound is not None:
                path = _join(bound, path) if bound else ()
                break
        return self._looked_up(path[:_MAX_STEPS])

    def _looked_up(self, path: Path) -> Path:
        """Return the path; keys that iterate over a mapping's keys become steps to any value."""
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
        """Return the value of a name; empty if it is unknown."""
        return next((frame.names[name] for frame in reversed(self.frames) if name in frame.names), ())

    def step(self, event: Pass | Bind | Rebind | Open | Middle | Close) -> None:
        """Enter or leave a block, or bind a name."""
        if isinstance(event, Pass):
            self.hand(event)
            return
        if isinstance(event, Bind):
            self._bind((event,))
        elif isinstance(event, Rebind):
            self._bind(event.binds)
        elif isinstance(event, Open):
            frame = Frame(event.keyword)
            frame.names = {bind.name: self.resolved(bind.path) if bind.path else () for bind in event.bound}
            self.frames.append(frame)
            frame.holds, frame.fails = self._resolved(event.holds), self._resolved(event.fails)
            frame.tested = frame.holds.typed + frame.fails.typed
        elif isinstance(event, Middle):
            self._middle(event)
        elif any(frame.keyword == event.keyword for frame in self.frames[1:]):
            while self._leave(self.frames.pop()) != event.keyword:
                pass
        outer = self.frames[-2].around if len(self.frames) > 1 else NOTHING_TESTED
        self.frames[-1].around = outer.joined(self.frames[-1].holds)

    def _bind(self, binds: tuple[Bind, ...]) -> None:
        paths = {bind.name: self.resolved(bind.path) if bind.path else () for bind in binds}
        self.frames[-1].names.update(paths)
        self.frames[-1].recorded_uses.clear()

    def _middle(self, event: Middle) -> None:
        frame = self.frames[-1]
        frame.recorded_uses.clear()
        if frame.keyword == "for":  # a loop's variable is not defined in its `else`
            frame.names.clear()
            frame.holds = NOTHING_TESTED
        if frame.keyword != "if":
            return
        for name in frame.names:
            frame.names[name] = ()
        if event.keyword == "else":
            for path in {each.path: None for each in frame.tested}:
                self.found[path, id(OTHERS), NOTHING_TESTED] = OTHERS
        holds, fails = self._resolved(event.holds), self._resolved(event.fails)
        frame.holds, frame.fails = frame.fails.joined(holds), frame.fails.joined(fails)
        frame.tested += holds.typed + fails.typed

    def _leave(self, frame: Frame) -> str:
        """Forget what a branch has bound, and return the keyword of the block that ends."""
        if frame.keyword == "if":
            self.frames[-1].names.update(dict.fromkeys(frame.names, ()))
            self.frames[-1].recorded_uses.clear()
        return frame.keyword

    def _resolved(self, tested: Tested) -> Tested:
        """Return what is tested of outer values."""
        if not any(tested):
            return NOTHING_TESTED
        present, typed, where = tested
        return Tested(self._all_resolved(present), self._resolved_types(typed), self._all_about(where))

    def _all_resolved(self, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        if not paths:
            return ()
        return tuple([resolved for path in paths if (resolved := without_views(self.resolved(path)))])

    def _all_about(self, conditions: Conditions) -> Conditions:
        """Return the conditions on values that are not reached through a view or from a macro."""
        if not conditions:
            return ()
        found = [each._replace(path=self.resolved(each.path)) for each in conditions]
        return tuple([each for each in found if is_about_one(each.path) and not is_macro(each.path[0].key)])

    def _resolved_types(self, typed: tuple[Narrowed, ...]) -> tuple[Narrowed, ...]:
        """Return the type tests of values that are not reached through a view."""
        if not typed:
            return ()
        found = [Narrowed(self.resolved(each.path), each.kind) for each in typed]
        return tuple([each for each in found if each.path and without_views(each.path) == each.path])

    def shapes(self) -> dict[str, Shape]:
        """Return the shapes found, by the names of the variables."""
        made: dict[str, list[Shape]] = {}
        for (path, _, around), shape in self.found.items():
            name = str(path[0].key)
            whole = shape_along(path, shape)
            for condition in around.where:
                if condition.path[0].key == name or not is_no_input(condition.path[0].key):
                    whole = under(whole, name, condition)
            for tested in around.present:
                if tested[0].key == name:
                    whole = guarded_shape(whole, tested)
            for each in around.typed:
                if each.path[0].key == name:
                    whole = narrow_shape(whole, each.path[1:], each.kind)
            made.setdefault(name, []).append(whole)
        return {name: intern_shape(merged_all(shapes)) for name, shapes in made.items()}


def _join(bound: Path, path: Path) -> Path:
    """Return the path with its first name replaced by the value that it is bound to."""
    own, first = bound[-1], path[0]
    if own.optional and first.optional:
        keeps_null = own.keeps_null and first.keeps_null
    else:
        keeps_null = own.keeps_null or first.keeps_null
    end = Step(own.key, own.optional or first.optional, keeps_null)
    return along((*bound[:-1], end), *path[1:])[:_MAX_STEPS]
