"""A key of an input's value in every file that shares the input.

An included file sees a value under the name that its includer has for it, which may be a loop's
variable: `message.content` in the one is `history[…].content` in the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from promptls.features.symbols.shared_data import inputs_beside
from promptls.features.symbols.shared_variable import has_context
from promptls.meaning.key_ways import Way, path_along, way_of
from promptls.meaning.parameter_roots import is_no_input, parameter_of
from promptls.meaning.paths import Step, along
from promptls.meaning.references import TemplateReference
from promptls.meaning.shapes import flow_of, resolved_at
from promptls.meaning.template import Template
from promptls.text.steps import Steps
from promptls.workspace.macro_calls import above, below
from promptls.workspace.snapshot import Snapshot


class WayIn(NamedTuple):
    """A way from an input of the file at `path`."""

    path: str
    way: Way


class SharedKey(NamedTuple):
    """Every way to one key, and the files that hand the value on in a way that nobody can follow."""

    ways: tuple[WayIn, ...]
    lost_in: tuple[str, ...]


def shared_key_steps(snapshot: Snapshot, path: str, way: Way) -> Steps[SharedKey]:
    """The ways that lead to what `way` leads to in the file at `path`, which comes first."""
    found: dict[WayIn, None] = {}
    lost: dict[str, None] = {}
    waiting = [WayIn(path, way)]
    while waiting:
        yield
        current = waiting.pop(0)
        template = snapshot.template(current.path)
        if current in found or template is None:
            continue
        found[current] = None
        waiting += _below(snapshot, template, *current)
        for outer in _above(snapshot, *current):
            yield
            if outer.way:
                waiting.append(outer)
            else:
                lost[outer.path] = None
        for macro_way in _through_macros(snapshot, template, *current):
            if macro_way.way:
                waiting.append(macro_way)
            else:
                lost[macro_way.path] = None
        root = str(current.way[0])
        if is_no_input(root):
            continue
        beside = yield from inputs_beside(snapshot, current.path, root)
        waiting += [WayIn(other, current.way) for other, _ in beside]
    return SharedKey(tuple(found), tuple(lost))


def _above(snapshot: Snapshot, path: str, way: Way) -> Iterator[WayIn]:
    """What the value is in the files that include this one."""
    for includer in sorted(snapshot.includers(path)):
        template = snapshot.template(includer)
        for reference in template.references if template is not None else ():
            if (
                template is not None
                and has_context(reference)
                and snapshot.resolve(includer, reference) == path
            ):
                seen = resolved_at(template, path_along(way), _place(template, reference))
                yield WayIn(includer, way_of(seen))


def _below(snapshot: Snapshot, template: Template, path: str, way: Way) -> Iterator[WayIn]:
    """What the value is in the files that this one includes."""
    for reference in template.references:
        target = snapshot.resolve(path, reference) if has_context(reference) else None
        if target is None or target == path:
            continue
        names: set[str] = set()
        for included in snapshot.included(target):
            other = snapshot.template(included)
            names |= other.names.input_names if other is not None else frozenset()
        for name in sorted(names):
            seen = way_of(resolved_at(template, (Step(name),), _place(template, reference)))
            if seen and len(seen) < len(way) and way[: len(seen)] == seen:
                yield WayIn(target, (name, *way[len(seen) :]))


def _place(template: Template, reference: TemplateReference) -> int:
    """Where a reference hands variables on: `extends` does at the end of the file."""
    return len(template.source) if reference.keyword == "extends" else reference.span.start


def _through_macros(snapshot: Snapshot, template: Template, path: str, way: Way) -> Iterator[WayIn]:
    """What the value is in the macros and call blocks that it is handed to, or where they are called."""
    for handed in flow_of(template).passes:
        seen = way_of(handed.path)
        if seen and len(seen) < len(way) and way[: len(seen)] == seen:
            for each in below(snapshot, path, handed):
                yield WayIn(each.path, (*way_of(each.way), *way[len(seen) :]))
    parameter = parameter_of(path_along(way[:1]))
    for each in above(snapshot, path, parameter) if parameter is not None else ():
        yield WayIn(each.path, way_of(along(each.way, *path_along(way[1:]))))
