"""What rules for whole files look at, so that a change to something else leaves their findings as they are.

An aspect gives, for a file as it is now, something that is the same object (or a tuple of the
same objects) for as long as the aspect is the same. Places are no part of it: findings move
along with the text.
"""

from __future__ import annotations

from typing import Final

from promptls.meaning.names import name_steps
from promptls.meaning.references import template_references
from promptls.meaning.shapes import stretches
from promptls.meaning.uses import unplaced_events
from promptls.rules.facts.suppression import suppressions
from promptls.rules.rule import FileContext
from promptls.syntax.group import united
from promptls.text.span import NOWHERE


def declarations(context: FileContext) -> object:
    """What the file declares."""
    return context.template.declarations


def names(context: FileContext) -> object:
    """Which names the file binds and reads, how, in which order, and in which blocks."""
    return name_steps(context.template.source.root)


def uses(context: FileContext) -> object:
    """How the values that come from outside are used."""
    return stretches(context.template.source.root)


def each_use(context: FileContext) -> object:
    """Each use of a value, for what is said at every place; of two alike, `uses` is as it was without one."""
    return _each_use(context.template.source.root)


def references(context: FileContext) -> object:
    """Which templates the file names."""
    return _references(context.template.source.root)


def problems(context: FileContext) -> object:
    """Whether the file has syntax errors; where it has, another object for each text: all of it may matter."""
    return context.template.source.identity if context.template.syntax_problems else None


def silenced(context: FileContext) -> object:
    """Which rules the file silences anywhere."""
    return suppressions(context.template.source)


def files(context: FileContext) -> object:
    """The other files: what is known of the disk and of the includes, and the texts that are open."""
    snapshot = context.snapshot
    others = [opened.template for path, opened in snapshot.open_files.items() if path != context.path]
    return (snapshot.known, snapshot.graph, snapshot.projects, *others)


def same(before: object, now: object) -> bool:
    """Whether an aspect is as it was."""
    if before is now:
        return True
    if not (isinstance(before, tuple) and isinstance(now, tuple)) or len(before) != len(now):
        return False
    return all(one is other for one, other in zip(before, now, strict=True))


_each_use: Final = united(lambda chunk: tuple(unplaced_events(chunk)), tuple[object, ...], of_tags=True)
_references: Final = united(
    lambda chunk: tuple(reference._replace(span=NOWHERE) for reference in template_references(chunk)),
    tuple[object, ...],
    of_tags=True,
)
