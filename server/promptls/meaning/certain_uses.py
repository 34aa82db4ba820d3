"""Uses of inputs with the blocks that they stand in, so that it is known which others come with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.meaning.template import Template
from promptls.meaning.use import Close, Event, Middle, Open, Use
from promptls.meaning.uses import chunk_uses
from promptls.meaning.walk import Walk
from promptls.syntax.group import chunks_from

_ALWAYS: Final = frozenset({"with", "filter", "set", "block"})
"""Blocks whose inside is rendered whenever they are."""


class CertainUse(NamedTuple):
    """A use, and the numbers of the branches, loops and macros around it, the outermost first.

    Wherever a use is reached, so is each one whose blocks are the first of its own.
    """

    use: Use
    blocks: tuple[int, ...]


def certain_uses(template: Template) -> Iterator[CertainUse]:
    """The uses of the inputs, or of what is under their keys, that fail for values of some types.

    Left out are uses inside an expression that need not be worked out. Goes over the whole file; spans
    count from its start.
    """
    walk = Walk()
    blocks = _Blocks()
    for located in chunks_from(template.source.root, 0):
        for tag in chunk_uses(located.chunk):
            for event in tag.events:
                if not isinstance(event, Use):
                    walk.step(event)
                    blocks.pass_event(event)
                elif event.need and not event.is_branched:
                    way = walk.resolved(event.path)
                    if way and all(isinstance(step.key, str) and not step.optional for step in way):
                        span = event.span.shifted(located.start)
                        yield CertainUse(event._replace(path=way, span=span, compared=()), blocks.numbers)


class _Blocks:
    """The blocks that are open, each branch of them with a number of its own."""

    def __init__(self) -> None:
        self._open: list[tuple[str, int]] = []
        self._last = 0

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple([number for keyword, number in self._open if keyword not in _ALWAYS])

    def pass_event(self, event: Event) -> None:
        """Go into a block or branch, or out of it."""
        if isinstance(event, Open):
            self._last += 1
            self._open.append((event.keyword, self._last))
        elif isinstance(event, Middle) and self._open:
            self._last += 1
            self._open[-1] = (self._open[-1][0], self._last)
        elif isinstance(event, Close) and any(keyword == event.keyword for keyword, _ in self._open):
            while self._open.pop()[0] != event.keyword:
                pass
