"""Infer what a template needs from its caller: the shape of each input, by its uses.

An argument of a macro is used as its parameter is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from promptls.semantic.flow.analysis import FlowAnalysis, Later, Piece
from promptls.semantic.flow.conditions import under
from promptls.semantic.flow.paths import (
    Path,
    Step,
    callee_name,
    caller_root,
    guarded_shape,
    in_place,
    is_no_input,
    parameter_of,
    shape_along,
    without_views,
)
from promptls.semantic.flow.tag_flow import TagText, chunk_uses, events_of, tag_texts
from promptls.semantic.flow.use import Bind, Close, Event, Middle, Open, Pass, Rebind, Use
from promptls.semantic.template import Template
from promptls.semantic.types.shape import (
    UNKNOWN,
    Shape,
    element_of,
    intern_shape,
    merge_shapes,
    normalize,
    normalize_shapes,
    unconditional,
)
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import file_fact, summary
from promptls.syntax.jinja.blocks import BlockTag, match_tags
from promptls.text.positions import NOWHERE

_MAX_ROUNDS: Final = 6
"""How many macros may pass a value on to each other before it is no longer followed."""


class Flow(NamedTuple):
    """The shapes of inputs and parameters by their own uses, and the arguments of calls."""

    shapes: Mapping[str, Shape]
    passes: tuple[Pass, ...]


class Given(NamedTuple):
    """A value that a macro passes to its call block: a path from the parameter with this index."""

    number: int
    path: Path
    argument: int | str


class MacroUses(NamedTuple):
    """How a macro, or a call block, uses its parameters, and what the macro passes to its call block."""

    parameters: Mapping[int, tuple[str, Shape]]
    given: tuple[Given, ...]

    def number(self, argument: int | str) -> int | None:
        """Return the index of the parameter that an argument is for, if the parameter is used."""
        if isinstance(argument, int):
            return argument
        return next((number for number, each in self.parameters.items() if each[0] == argument), None)

    def shape(self, argument: int | str) -> Shape:
        """Return the shape of the parameter that an argument is for."""
        number = self.number(argument)
        return self.parameters[number][1] if number is not None and number in self.parameters else UNKNOWN


Macros: TypeAlias = Mapping[str, MacroUses]
"""Macros by the names that call them: `show`, `tools.show`."""


def shapes_of_inputs(flow: Flow, imported: Macros) -> Mapping[str, Shape]:
    """Return the shapes of the inputs, including their uses in macros."""
    if not flow.passes and not any(map(is_no_input, flow.shapes)):
        return flow.shapes
    return {name: each for name, each in _complete(flow, imported).items() if not is_no_input(name)}


def macros_of(flow: Flow, imported: Macros) -> dict[str, MacroUses]:
    """Return the macros that a template defines, by name."""
    return {
        name: each for name, each in _owners(_complete(flow, imported), flow).items() if name.isidentifier()
    }


def _complete(flow: Flow, imported: Macros) -> dict[str, Shape]:
    """Return the shapes of inputs and parameters, including their uses in the macros that receive them."""
    shapes = dict(flow.shapes)
    for _ in range(_MAX_ROUNDS):
        before = dict(shapes)
        macros = {**imported, **_owners(before, flow)}
        for each in flow.passes:
            name = callee_name(each.callee)
            owner = parameter_of(each.path)
            macro = macros.get(name) if each.path and (owner is None or owner.owner != name) else None
            if macro is not None:
                _add_uses(shapes, each, macro, macros.get(each.block))
        if shapes == before:
            break
    return shapes


def _owners(shapes: Mapping[str, Shape], flow: Flow) -> dict[str, MacroUses]:
    """Return the macros and call blocks by name, by what is known of their parameters."""
    parameters: dict[str, dict[int, tuple[str, Shape]]] = {}
    for root, shape in shapes.items():
        if (found := parameter_of((Step(root),))) is not None:
            parameters.setdefault(found.owner, {})[found.number] = (found.name, shape)
    passed: dict[str, list[Given]] = {}
    for each in flow.passes:
        parameter = parameter_of(each.path)
        if parameter is not None and each.callee[0].key == caller_root(parameter.owner):
            passed.setdefault(parameter.owner, []).append(Given(parameter.number, each.path, each.argument))
    return {name: MacroUses(uses, tuple(passed.get(name, ()))) for name, uses in parameters.items()}


def _add_uses(shapes: dict[str, Shape], handed: Pass, macro: MacroUses, block: MacroUses | None) -> None:
    """Add the uses of a parameter in a macro, and its call block, to the shape of the argument."""
    shape = unconditional(macro.shape(handed.argument))
    number = macro.number(handed.argument)
    for passed in macro.given if block is not None else ():
        if passed.number == number and block is not None:
            shape = merge_shapes(shape, shape_along(passed.path, block.shape(passed.argument)))
    for path, found_shape in in_place(handed.path, shape):
        name = str(path[0].key)
        whole = shape_along(path, found_shape)
        for condition in handed.where:
            whole = under(whole, name, condition)
        for question in handed.present:
            if question[0].key == name:
                whole = guarded_shape(whole, question)
        shapes[name] = intern_shape(merge_shapes(shapes[name], whole) if name in shapes else whole)


def used_shapes(template: Template) -> Mapping[str, Shape]:
    """Return the shapes of all values that come from outside the template, by their uses alone."""
    return _shapes(template.source.root)


def summed_uses(template: Template) -> Mapping[str, Shape]:
    """Return the combined uses of all values from outside the template, as in `merge_shapes`."""
    return _uses(template.source.root)


def flow_of(template: Template) -> Flow:
    """Return the shapes of inputs and parameters by their own uses, and the arguments of calls."""
    return _flow(template.source.root)


def _flow_of(pieces: tuple[Piece, ...]) -> Flow:
    analysis = FlowAnalysis()
    analysis.take(pieces)
    return Flow(analysis.shapes(), tuple(analysis.passes))


def shape_under(shapes: Mapping[str, Shape], path: Path) -> Shape | None:
    """Return the shape at the end of a path from one of the variables, or None if it is unknown."""
    shape = shapes.get(str(path[0].key)) if path else None
    for step in path[1:]:
        if shape is None:
            return None
        shape = shape.key(step.key) if isinstance(step.key, str) else element_of(shape)
    return None if shape is None else normalize(shape)


def resolved_at(template: Template, path: Path, offset: int) -> Path:
    """Return the path from an input for `path` at `offset`; empty if it does not begin at an input."""
    return _analysis_at(template, offset).resolved(path) if path else ()


def known_constants(template: Template, path: Path, offset: int) -> tuple[str, ...]:
    """Return the texts that the value at a path must be one of at `offset`, by its conditions, sorted.

    Empty if they are unknown.
    """
    if not path:
        return ()
    analysis = _analysis_at(template, offset)
    resolved = analysis.resolved(path)
    found: frozenset[object] | None = None
    for condition in analysis.where:
        if condition.is_among and condition.path == resolved:
            found = condition.values if found is None else found & condition.values
    texts = sorted(each for each in found or () if isinstance(each, str))
    return tuple(texts) if len(texts) == len(found or ()) else ()


def shapes_at(template: Template, offset: int, used: Mapping[str, Shape]) -> Mapping[str, Shape]:
    """Return the shapes of outside values if text at `offset` uses these variables."""
    analysis = _analysis_at(template, offset)
    analysis.use_all(used)
    return analysis.shapes()


def resolved_uses(template: Template) -> Iterator[Use]:
    """Yield every use of a value that comes from outside the template, in order, with its path from there.

    Processes the whole file. Spans count from the start of the file.
    """
    analysis = FlowAnalysis()
    for located in template.source.root.placed():
        for tag in chunk_uses(located.chunk):
            for event in tag.events:
                if not isinstance(event, Use):
                    analysis.step(event)
                elif (resolved := analysis.resolved(event.path)) and without_views(resolved) == resolved:
                    start = located.start
                    compared = tuple(
                        [each._replace(span=each.span.shifted(start)) for each in event.compared]
                    )
                    yield event._replace(path=resolved, span=event.span.shifted(start), compared=compared)


def _analysis_at(template: Template, offset: int) -> FlowAnalysis:
    """Return the blocks that are open at `offset`; bindings of a tag there are not included."""
    return analyzes(template)(offset)


def analyzes(template: Template) -> Callable[[int], FlowAnalysis]:
    """Return a function that returns the blocks open at an offset, in one pass: offsets must not decrease."""
    chunks = template.source.root
    analysis = FlowAnalysis()
    passed = 0

    def at(offset: int) -> FlowAnalysis:
        nonlocal passed
        located = chunks.at_offset(offset)
        for chunk in chunks.chunks[passed : located.index]:
            _pass_by(analysis, chunk)
        passed = located.index
        return _analysis_inside(located.chunk, offset - located.start, analysis.copied())

    return at


def _analysis_inside(chunk: Chunk, inside: int, analysis: FlowAnalysis) -> FlowAnalysis:
    for tag in chunk_uses(chunk):
        if tag.span.start >= inside:
            break
        for event in tag.events:
            if not isinstance(event, (Use, Pass)) and (tag.span.end <= inside or not isinstance(event, Bind)):
                analysis.step(event)
    return analysis


def _pass_by(analysis: FlowAnalysis, piece: Chunk) -> None:
    for each in _bindings(piece):
        if not isinstance(each, (dict, Later)):
            analysis.step(each)


def _of_chunk(chunk: Chunk) -> tuple[Piece, ...]:
    return _of_tags(tag_texts(chunk))


@lru_cache(maxsize=1024)
def _of_tags(tags: tuple[TagText, ...]) -> tuple[Piece, ...]:
    return _sum([event for tag in tags for event in events_of(*tag)])


def _bindings_of(chunk: Chunk) -> tuple[Piece, ...]:
    return tuple([each for each in stretches(chunk) if not isinstance(each, (dict, Later, Pass))])


def _joined_pieces(pieces: list[tuple[Piece, ...]]) -> tuple[Piece, ...]:
    return _sum([event for each in pieces for event in each])


_ACTIONS: Final = {Open: "open", Middle: "middle", Close: "close"}


def _sum(events: Sequence[Piece | Use]) -> tuple[Piece, ...]:
    """Return the uses in some events, combined between those that depend on the surrounding text.

    Uses of a name as different kinds are not combined, because the surrounding text may make the name a view
    that only some of them fit.
    """
    tags = [
        BlockTag(_ACTIONS[type(event)], event.keyword, NOWHERE, index)
        for index, event in enumerate(events)
        if isinstance(event, Open | Middle | Close)
    ]
    loose = {tag.place for tag in match_tags(tags).loose}
    found: list[Piece] = []
    analysis = FlowAnalysis()

    def end_stretch() -> None:
        if analysis.found:
            found.append(analysis.shapes())
            analysis.forget()
        found.extend(analysis.passes)
        analysis.passes.clear()
        found.extend(Later(path, shape) for (path, _), shape in analysis.waiting.items())
        analysis.waiting.clear()
        bound = analysis.frames[0].names
        if bound:
            found.append(Rebind(tuple([Bind(name, path) for name, path in bound.items()])))
            bound.clear()

    for index, event in enumerate(events):
        if isinstance(event, Use):
            analysis.use(event.path, event.shape, event.where)
        elif isinstance(event, dict):
            analysis.use_all(event)
        elif isinstance(event, Later):
            analysis.use(event.path, event.shape)
        elif index in loose:
            end_stretch()
            found.append(event)
        else:
            analysis.step(event)
    end_stretch()
    return tuple(found)


stretches: Final = summary(_of_chunk, _joined_pieces)
"""The uses of a piece of the file, combined between those that depend on the surrounding text."""
_bindings: Final = summary(_bindings_of, _joined_pieces)
"""What a piece binds for the following text, and the blocks that begin or end in it."""
_flow: Final = file_fact(lambda chunks: _flow_of(stretches(chunks)))
_uses: Final = file_fact(lambda chunks: shapes_of_inputs(_flow(chunks), {}))
_shapes: Final = file_fact(lambda chunks: normalize_shapes(_uses(chunks)))


_ALWAYS: Final = frozenset({"with", "filter", "set", "block"})
"""Blocks whose content is rendered unconditionally."""


class CertainUse(NamedTuple):
    """A use, and the ids of the branches, loops and macros around it, outermost first.

    If a use is reached, so is every use whose blocks are a prefix of its blocks.
    """

    use: Use
    blocks: tuple[int, ...]


def certain_uses(template: Template) -> Iterator[CertainUse]:
    """Yield the uses of inputs, or of values under their keys, that fail for values of some types.

    Uses inside an expression that may not be evaluated are left out. Processes the whole file; spans
    count from its start.
    """
    analysis = FlowAnalysis()
    blocks = _Blocks()
    for located in template.source.root.placed():
        for tag in chunk_uses(located.chunk):
            for event in tag.events:
                if not isinstance(event, Use):
                    analysis.step(event)
                    blocks.pass_event(event)
                elif event.need and not event.is_branched:
                    resolved = analysis.resolved(event.path)
                    if resolved and all(isinstance(step.key, str) and not step.optional for step in resolved):
                        span = event.span.shifted(located.start)
                        yield CertainUse(
                            event._replace(path=resolved, span=span, compared=()), blocks.numbers
                        )


class _Blocks:
    """The blocks that are open; each of their branches has a unique id."""

    def __init__(self) -> None:
        self._open: list[tuple[str, int]] = []
        self._last = 0

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple([number for keyword, number in self._open if keyword not in _ALWAYS])

    def pass_event(self, event: Event) -> None:
        """Enter or leave a block or branch."""
        if isinstance(event, Open):
            self._last += 1
            self._open.append((event.keyword, self._last))
        elif isinstance(event, Middle) and self._open:
            self._last += 1
            self._open[-1] = (self._open[-1][0], self._last)
        elif isinstance(event, Close) and any(keyword == event.keyword for keyword, _ in self._open):
            while self._open.pop()[0] != event.keyword:
                pass
