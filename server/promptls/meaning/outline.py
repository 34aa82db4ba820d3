"""What a piece of a file reads from around it and binds for others, so that a file's names cost what changed.

An outline is a row of zones with, between them, the block tags whose partner is outside of
the piece. Blocks inside the piece leave nothing but what they read and bind. The outline of
a group is that of its children's outlines in a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from promptls.meaning.name_events import NameEvent, chunk_events
from promptls.meaning.scopes import Binding, Held, Resolver
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Piece, united
from promptls.text.span import NOWHERE


class Zone(NamedTuple):
    """A stretch without loose block tags.

    `reads` are the names read in it that nothing in it certainly binds before. `binds` are the
    names that it binds for what follows, each with its last binding. Offsets count from the
    start of the piece.
    """

    reads: frozenset[str]
    binds: tuple[Held, ...]


Outline = tuple[Zone | NameEvent, ...]


def outline(piece: Piece) -> Outline:
    """The outline of a piece, kept with it."""
    known = piece.kept.get(outline)
    if known is None:
        steps = _chunk_steps(piece) if isinstance(piece, Chunk) else _group_steps(piece)
        known = piece.kept[outline] = _reduced(list(steps))
    return known  # type: ignore[return-value]  # put there above


def pass_outline(resolver: Resolver, piece: Piece, start: int) -> None:
    """Let `resolver` go over a piece that begins at offset `start`."""
    for step in outline(piece):
        if isinstance(step, NameEvent):
            resolver.pass_event(step, start)
        else:
            for binding, certain, offset in step.binds:
                resolver.bind((binding, certain, offset + start))


def free_names(resolver: Resolver, steps: Outline) -> set[str]:
    """Let `resolver` go over some steps; the names they read that may come from around."""
    free: set[str] = set()
    for step in steps:
        if isinstance(step, NameEvent):
            resolver.pass_event(step)
            continue
        free.update([name for name in step.reads if not resolver.is_bound(name)])
        for held in step.binds:
            resolver.bind(held)
    return free


def _bare_of_chunk(chunk: Chunk) -> Outline:
    return tuple([_bare(step) for step in outline(chunk)])


def _bare(step: Zone | NameEvent) -> Zone | NameEvent:
    if isinstance(step, NameEvent):
        return step._replace(span=NOWHERE, bound=tuple((name, NOWHERE, kind) for name, _, kind in step.bound))
    binds = tuple([(binding._replace(span=NOWHERE), certain, 0) for binding, certain, _ in step.binds])
    return Zone(step.reads, binds)


def _bare_of_group(children: list[Outline]) -> Outline:
    return _reduced([step for each in children for step in each])


bare_outline: Final = united(_bare_of_chunk, _bare_of_group, of_tags=True)
"""The outline of a piece without the places, which is the same where an edit only moves tags."""


def _chunk_steps(chunk: Chunk) -> Iterator[Zone | NameEvent]:
    for event in chunk_events(chunk):
        if event.action == "read":
            yield Zone(frozenset((event.name,)), ())
        elif event.action == "bind":
            yield Zone(frozenset(), ((Binding(event.name, event.span, event.detail), True, 0),))
        else:
            yield event


def _group_steps(piece: Piece) -> Iterator[Zone | NameEvent]:
    assert not isinstance(piece, Chunk)
    for start, child in zip(piece.starts, piece.children, strict=False):
        for step in outline(child):
            yield _shifted(step, start) if start else step


def _shifted(step: Zone | NameEvent, by: int) -> Zone | NameEvent:
    if isinstance(step, NameEvent):
        bound = tuple((name, span.shifted(by), kind) for name, span, kind in step.bound)
        return step._replace(span=step.span.shifted(by), bound=bound)
    if not step.binds:
        return step
    binds = tuple([(binding, certain, offset + by) for binding, certain, offset in step.binds])
    return Zone(step.reads, binds)


def _reduced(steps: list[Zone | NameEvent]) -> Outline:
    """The steps with every block that begins and ends among them taken into the zone around it."""
    loose = _loose(steps)
    reduced: list[Zone | NameEvent] = []
    resolver, reads = Resolver(), set[str]()

    def end_zone() -> None:
        bound = resolver.scopes[0].bound
        if reads or bound:
            reduced.append(Zone(frozenset(reads), tuple(bound.values())))

    for index, step in enumerate(steps):
        if index in loose:
            end_zone()
            reduced.append(step)
            resolver, reads = Resolver(), set()
        else:
            reads |= free_names(resolver, (step,))
    end_zone()
    return tuple(reduced)


def _loose(steps: Iterable[Zone | NameEvent]) -> frozenset[int]:
    """The indexes of the block tags whose partner is not among the steps."""
    loose: list[int] = []
    stack: list[tuple[str, list[int]]] = []
    for index, step in enumerate(steps):
        if not isinstance(step, NameEvent):
            continue
        if step.action == "open":
            stack.append((step.name, [index]))
        elif step.action == "middle" and stack and stack[-1][0] in {"if", "for"}:
            stack[-1][1].append(index)
        elif step.action == "close" and stack and stack[-1][0] == step.name:
            stack.pop()
        else:
            loose += [number for _, numbers in stack for number in numbers]
            stack.clear()
            loose.append(index)
    return frozenset([*loose, *(number for _, numbers in stack for number in numbers)])
