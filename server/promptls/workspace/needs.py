"""Which variables a file takes from whoever renders or includes it, with those of the files it includes.

An included file sees what is bound at the place of its include; an imported one sees data
only `with context`. What the including file binds there for certain is no need of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from promptls.meaning.leading import leading_references
from promptls.meaning.macro_flow import shapes_of_inputs
from promptls.meaning.name_events import chunk_events
from promptls.meaning.paths import Step
from promptls.meaning.references import TemplateReference, template_references
from promptls.meaning.schema_shape import declared_over, shape_of_schema
from promptls.meaning.scopes import Resolver
from promptls.meaning.settled_shapes import settled, settled_shapes
from promptls.meaning.shape import SOMETIMES, Shape, conditional, merged
from promptls.meaning.shape_along import shape_along
from promptls.meaning.shapes import flow_of, shapes_at, summed_uses
from promptls.meaning.template import Template
from promptls.meaning.template_names import tag_start
from promptls.syntax.group import united
from promptls.text.span import Span
from promptls.workspace.macro_calls import imported_macros
from promptls.workspace.snapshot import Snapshot

_NOT_PASSED_ON = frozenset({"loop"})
"""What Jinja makes in a block and does not hand to included files."""


class Need(NamedTuple):
    """A file that reads a variable: the file itself, or one that `reference` in it leads to.

    `is_free` says that no file on the way binds the name, not even in a branch.
    """

    path: str
    reference: TemplateReference | None
    is_free: bool = True


class Needs(NamedTuple):
    """The variables that may come from outside of a file, each with the files that read it.

    `is_whole` is False where some cannot be known: an include whose name an expression gives, or
    one that leads to no file.
    """

    by_name: Mapping[str, tuple[Need, ...]]
    is_whole: bool


def needs_of(snapshot: Snapshot, path: str) -> Needs:
    """What rendering the file at `path` reads from outside of it, includes and all."""
    known = snapshot.derived.get((needs_of, path))
    if known is None:
        known = snapshot.derived[needs_of, path] = _Search(snapshot).needs(path)
    return known  # type: ignore[return-value]  # put there above


def certain_place(snapshot: Snapshot, name: str, needs: Iterable[Need]) -> Span | None:
    """Where a file certainly reads a name from outside, or includes what does; None where it may bind it."""
    for need in needs:
        template = snapshot.template(need.path)
        if not need.is_free or template is None:
            continue
        for reading in template.names.readings_of(name):
            if reading.binding is None:
                return reading.span if need.reference is None else need.reference.span
    return None


def passes_data(reference: TemplateReference) -> bool:
    """Whether the file that a reference leads to sees the variables of the one that it stands in."""
    return reference.with_context or reference.keyword == "extends"


def targets(snapshot: Snapshot, path: str) -> Iterator[tuple[TemplateReference, str | None]]:
    """The references of a file, each with the path that it leads to."""
    template = snapshot.template(path)
    for reference in leading_references(template) if template else ():
        yield reference, snapshot.resolve(path, reference) if reference.name is not None else None


def scopes_before(template: Template, reference: TemplateReference) -> Resolver:
    """The scopes at the place of a reference; of `extends`, those at the end of the file."""
    offset = _offset(template, reference)
    resolver, located = template.names.scopes_at(offset)
    for event in chunk_events(located.chunk):
        if event.span.start + located.start >= offset:
            break
        if event.action != "read":
            resolver.pass_event(event, located.start)
    return resolver


def _offset(template: Template, reference: TemplateReference) -> int:
    return len(template.source) if reference.keyword == "extends" else reference.span.start


_has_references: Final = united(lambda chunk: bool(template_references(chunk)), any, of_tags=True)


def _scopes_at_references(template: Template) -> Iterator[tuple[TemplateReference, Resolver]]:
    """The references of a file, each with the scopes at its place, in one walk.

    A resolver holds for its reference only until the next one is asked for.
    """
    for located, resolver in template.names.scopes_where(_has_references):
        waiting = [
            reference._replace(span=reference.span.shifted(located.start))
            for reference in reversed(template_references(located.chunk))
            if reference.keyword != "extends"
        ]
        for event in chunk_events(located.chunk):
            while waiting and waiting[-1].span.start <= event.span.start + located.start:
                yield waiting.pop(), resolver
            if event.action != "read":
                resolver.pass_event(event, located.start)
        while waiting:
            yield waiting.pop(), resolver
    for reference in template.references:
        if reference.keyword == "extends":
            yield reference, scopes_before(template, reference)


class _Search:
    """Goes through includes, each file once; a file that includes itself adds nothing to itself."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[str, Needs] = {}
        self._around: list[str] = []

    def needs(self, path: str) -> Needs:
        """The needs of the file at `path`."""
        known = self._known.get(path)
        if known is not None:
            return known
        template = self._snapshot.template(path)
        if template is None:
            return Needs({}, is_whole=False)
        found: dict[str, dict[Need, None]] = {
            name: {Need(path, None): None} for name in template.names.input_names - _NOT_PASSED_ON
        }
        self._around.append(path)
        is_whole = self._through_references(path, template, found)
        self._around.pop()
        needs = Needs({name: tuple(each) for name, each in sorted(found.items())}, is_whole)
        if not self._around:
            self._known.clear()  # what was found inside of a cycle holds for the outermost file only
        self._known[path] = needs
        return needs

    def _through_references(self, path: str, template: Template, found: dict[str, dict[Need, None]]) -> bool:
        """Add what the files need that this one names; whether all of them are known."""
        is_whole = True
        all_below: dict[TemplateReference, Needs] = {}
        for reference, target in targets(self._snapshot, path):
            if target is None and not reference.is_unfinished:
                is_whole = is_whole and reference.ignore_missing and reference.name is not None
            if target is None or target in self._around or not passes_data(reference):
                continue
            below = self.needs(target)
            is_whole = is_whole and below.is_whole
            if below.by_name:
                all_below[reference] = below
        _hand_on(template, all_below, found)
        return is_whole


def _hand_on(
    template: Template, below: Mapping[TemplateReference, Needs], found: dict[str, dict[Need, None]]
) -> None:
    """Add the needs of included files that the template does not certainly bind at their include."""
    bound = template.names.all_bound_names
    if all(bound.isdisjoint(needs.by_name) for needs in below.values()):
        for reference, needs in below.items():
            for name, each in needs.by_name.items():
                own = found.setdefault(name, {})
                own.update((Need(need.path, reference, need.is_free), None) for need in each)
        return
    for place, resolver in _scopes_at_references(template):
        for reference in [each for each in below if each.span == place.span]:
            for name, each in below[reference].by_name.items():
                binding, is_certain = resolver.meaning(name)
                if binding is None or not is_certain:
                    own = found.setdefault(name, {})
                    for need in each:
                        own[Need(need.path, reference, need.is_free and binding is None)] = None


def needed_shapes(snapshot: Snapshot, path: str) -> Mapping[str, Shape]:
    """The shapes of the variables that the file at `path` and its includes use, by their uses.

    What an included file declares goes before its uses. Variables that the file binds itself
    pass their uses in included files on to what they stand for.
    """
    return settled_shapes(_summed_uses(snapshot, path, ()))


def _summed_uses(snapshot: Snapshot, path: str, around: tuple[str, ...]) -> dict[str, Shape]:
    template = snapshot.template(path)
    if template is None:
        return {}
    imported = imported_macros(snapshot, path)
    found = dict(shapes_of_inputs(flow_of(template), imported) if imported else summed_uses(template))
    chosen: dict[int, list[Mapping[str, Shape]]] = {}
    for reference, target in targets(snapshot, path):
        is_followed = target is not None and target not in (*around, path) and passes_data(reference)
        below: Mapping[str, Shape] = {}
        if target is not None and is_followed:
            below = _declared(snapshot, target, _summed_uses(snapshot, target, (*around, path)))
        if reference.is_choice:
            chosen.setdefault(tag_start(template, reference.span), []).append(below)
            below = {name: _chosen(name, shape, reference) for name, shape in below.items()}
        for name, shape in shapes_at(template, reference.span.start, below).items() if below else ():
            found[name] = merged(found[name], shape) if name in found else shape
    for start, each in chosen.items():
        always = {name: shape for name, shape in each[0].items() if _is_needed_in_all(name, each)}
        for name, shape in shapes_at(template, start, always).items() if always else ():
            found[name] = merged(found[name], shape) if name in found else shape
    return found


def _chosen(name: str, shape: Shape, reference: TemplateReference) -> Shape:
    """The shape of a variable that a file reads which is included where its name is chosen."""
    if not reference.where or SOMETIMES in reference.where:
        return shape_along((Step(name, optional=True, keeps_null=True),), shape)
    for need in reference.where:
        shape = conditional(shape, need)
    return shape


def _is_needed_in_all(name: str, files: list[Mapping[str, Shape]]) -> bool:
    return all(name in each and not each[name].optional for each in files)


def _declared(snapshot: Snapshot, path: str, used: Mapping[str, Shape]) -> dict[str, Shape]:
    template = snapshot.template(path)
    keys = template.declarations.inputs if template is not None else None
    declared = {key.name: shape_of_schema(key.schema) for key in keys or ()}
    return {
        name: declared_over(declared[name], settled(shape)) if name in declared else shape
        for name, shape in used.items()
    }
