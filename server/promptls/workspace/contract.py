"""The data that a file and all that it includes need from the caller, and the Python calls that load it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.facts import question
from promptls.semantic.flow.paths import Step, shape_along
from promptls.semantic.flow.shapes import flow_of, shapes_at, shapes_of_inputs, summed_uses
from promptls.semantic.names.file_names import FileNames
from promptls.semantic.names.mentions import TemplateReference, template_references
from promptls.semantic.names.scopes import Resolver, chunk_events
from promptls.semantic.names.template_names import leading_references, tag_start
from promptls.semantic.names.variables import has_references
from promptls.semantic.template import Template
from promptls.semantic.types.schemas import declared_over, shape_of_schema
from promptls.semantic.types.shape import (
    SOMETIMES,
    UNKNOWN,
    Shape,
    conditional,
    merge_shapes,
    normalize,
    normalize_shapes,
)
from promptls.syntax.chunk import ChunkList
from promptls.syntax.facts import placed_fact
from promptls.text.positions import Span
from promptls.workspace.include_graph import ancestors
from promptls.workspace.macro_calls import imported_macros
from promptls.workspace.python_calls import TemplateCall
from promptls.workspace.python_functions import functions_in
from promptls.workspace.snapshot import Snapshot


def included_part_names(snapshot: Snapshot, path: str) -> frozenset[str]:
    """Return the literal names of the parts in every file that the file at `path` includes."""
    return frozenset(
        name
        for included in snapshot.included(path)[1:]
        if (template := snapshot.template(included))
        for placed in template.parts
        if (name := placed.part.name) is not None
    )


_NOT_PASSED_ON = frozenset({"loop"})
"""Names that Jinja defines in a block and does not pass to included files."""


class NeededBy(NamedTuple):
    """A file that reads a variable: the file itself, or one that `reference` in it leads to.

    `is_free` is True if no file in between binds the name, not even in a branch.
    """

    path: str
    reference: TemplateReference | None
    is_free: bool = True


class Needs(NamedTuple):
    """The variables that may come from outside of a file, each with the files that read it.

    `is_whole` is False if some cannot be known: an include's name is an expression, or leads to no file.
    """

    by_name: Mapping[str, tuple[NeededBy, ...]]
    is_whole: bool


def needs_of(snapshot: Snapshot, path: str) -> Needs:
    """Return what rendering the file at `path` reads from outside of it, including its includes."""
    return snapshot.once(_found_needs, path)


def _found_needs(snapshot: Snapshot, path: str) -> Needs:
    return _Search(snapshot).needs(path)


def certain_place(snapshot: Snapshot, name: str, needs: Iterable[NeededBy]) -> Span | None:
    """Return where a file certainly reads a name from outside, or includes a file that does.

    None if the file may bind it.
    """
    for need in needs:
        template = snapshot.template(need.path)
        if not need.is_free or template is None:
            continue
        for reference in template.names.references_by_name.get(name, ()):
            if reference.binding is None:
                return reference.span if need.reference is None else need.reference.span
    return None


def passes_data(reference: TemplateReference) -> bool:
    """Return whether the file that a reference leads to sees the variables of the referring file."""
    return reference.with_context or reference.keyword == "extends"


def targets(snapshot: Snapshot, path: str) -> Iterator[tuple[TemplateReference, str | None]]:
    """Yield the references of a file, each with the path that it resolves to."""
    template = snapshot.template(path)
    for reference in leading_references(template) if template else ():
        yield reference, snapshot.resolve(path, reference) if reference.name is not None else None


def scopes_before(template: Template, reference: TemplateReference) -> Resolver:
    """Return the scopes at a reference; for `extends`, those at the end of the file."""
    return _scopes_before(template.names, len(template.source), reference)


def _scopes_before(names: FileNames, end: int, reference: TemplateReference) -> Resolver:
    return names.scopes_before(end if reference.keyword == "extends" else reference.span.start)


def _scopes_at_references(template: Template) -> Iterator[tuple[TemplateReference, Resolver]]:
    """Yield the references of a file, each with the scopes at its position, in one pass.

    A resolver is only valid for its reference until the next one is requested.
    """
    for located, resolver in template.names.scopes_where(has_references):
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
    """Follows includes, visiting each file once; a file that includes itself adds nothing to itself."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[str, Needs] = {}
        self._around: list[str] = []

    def needs(self, path: str) -> Needs:
        """Return the needs of the file at `path`."""
        known = self._known.get(path)
        if known is not None:
            return known
        template = self._snapshot.template(path)
        if template is None:
            return Needs({}, is_whole=False)
        found: dict[str, dict[NeededBy, None]] = {
            name: {NeededBy(path, None): None} for name in template.names.input_names - _NOT_PASSED_ON
        }
        self._around.append(path)
        is_whole = self._through_references(path, template, found)
        self._around.pop()
        needs = Needs({name: tuple(each) for name, each in sorted(found.items())}, is_whole)
        if not self._around:
            self._known.clear()  # results inside a cycle are only valid for the outermost file
        self._known[path] = needs
        return needs

    def _through_references(
        self, path: str, template: Template, found: dict[str, dict[NeededBy, None]]
    ) -> bool:
        """Add the needs of the files that this one names; return whether all of them are known."""
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
        _add_included_needs(template, all_below, found)
        return is_whole


def _add_included_needs(
    template: Template, below: Mapping[TemplateReference, Needs], found: dict[str, dict[NeededBy, None]]
) -> None:
    """Add the needs of included files that the template does not certainly bind at the include."""
    bound = template.names.all_bound_names
    if all(bound.isdisjoint(needs.by_name) for needs in below.values()):
        for reference, needs in below.items():
            for name, each in needs.by_name.items():
                own = found.setdefault(name, {})
                own.update((NeededBy(need.path, reference, need.is_free), None) for need in each)
        return
    for place, resolver in _scopes_at_references(template):
        for reference in [each for each in below if each.span == place.span]:
            for name, each in below[reference].by_name.items():
                binding, is_certain = resolver.meaning(name)
                if binding is None or not is_certain:
                    own = found.setdefault(name, {})
                    for need in each:
                        own[NeededBy(need.path, reference, need.is_free and binding is None)] = None


def needed_shapes(snapshot: Snapshot, path: str) -> Mapping[str, Shape]:
    """Return the shapes of the variables that the file at `path` and its includes use, by their uses.

    The declarations of an included file take precedence over its uses. If the file binds a variable itself,
    uses in included files apply to the variable's value.
    """
    return normalize_shapes(_summed_uses(snapshot, path, ()))


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
            below = {name: _conditional_shape(name, shape, reference) for name, shape in below.items()}
        for name, shape in shapes_at(template, reference.span.start, below).items() if below else ():
            found[name] = merge_shapes(found[name], shape) if name in found else shape
    for start, each in chosen.items():
        always = {
            name: shape
            for name, shape in each[0].items()
            if all(name in other and not other[name].optional for other in each)
        }
        for name, shape in shapes_at(template, start, always).items() if always else ():
            found[name] = merge_shapes(found[name], shape) if name in found else shape
    return found


def _conditional_shape(name: str, shape: Shape, reference: TemplateReference) -> Shape:
    """Return the shape of a variable that is read in a file whose include is one of several choices."""
    if not reference.where or SOMETIMES in reference.where:
        return shape_along((Step(name, optional=True, keeps_null=True),), shape)
    for need in reference.where:
        shape = conditional(shape, need)
    return shape


def _declared(snapshot: Snapshot, path: str, used: Mapping[str, Shape]) -> dict[str, Shape]:
    template = snapshot.template(path)
    keys = template.declarations.inputs if template is not None else ()
    declared = {key.name: shape_of_schema(key.schema) for key in keys}
    return {
        name: declared_over(declared[name], normalize(shape)) if name in declared else shape
        for name, shape in used.items()
    }


class InputPlace(NamedTuple):
    """A position at which an input is read, in the file at `path`."""

    path: str
    span: Span


@dataclass(frozen=True, slots=True)
class NeededInput:
    """An input of a template, including its includes.

    `shape` is its declared shape, completed by what its uses suggest. `schema` is its declared JSON Schema,
    empty if there is none; `declared` is the position of the declaration. `places` are where it is read,
    empty if it is unused.
    """

    name: str
    shape: Shape
    schema: Mapping[str, Any]
    declared: InputPlace | None
    places: tuple[InputPlace, ...]


def names_handed_on(snapshot: Snapshot, path: str) -> frozenset[str]:
    """Return the names that included files read from the context of their include in the file at `path`."""
    return frozenset(
        name
        for reference, target in targets(snapshot, path)
        if target is not None and target != path and passes_data(reference)
        for name in needs_of(snapshot, target).by_name
    )


def inputs_of(snapshot: Snapshot, path: str) -> tuple[NeededInput, ...]:
    """Return the inputs that the caller of the file at `path` must pass, including includes, sorted by name.

    Names that the file's functions provide are left out.
    """
    template = snapshot.template(path)
    if template is None:
        return ()
    needs = needs_of(snapshot, path).by_name
    shapes = needed_shapes(snapshot, path)
    keys = {key.name: key for key in template.declarations.inputs}
    functions = function_names(snapshot, path) or frozenset()
    found = []
    for name in sorted({*needs, *keys} - functions):
        key = keys.get(name)
        shape = shapes.get(name, _shape_unused(snapshot, name, needs.get(name)))
        found.append(
            NeededInput(
                name,
                declared_over(shape_of_schema(key.schema), shape) if key else shape,
                key.schema if key else {},
                InputPlace(path, key.span) if key else None,
                tuple(_places(snapshot, name, dict.fromkeys(need.path for need in needs.get(name, ())))),
            )
        )
    return tuple(found)


def _shape_unused(snapshot: Snapshot, name: str, needs: tuple[NeededBy, ...] | None) -> Shape:
    """Return the shape of a variable with uninformative uses: optional if a file may bind it earlier."""
    is_bound = needs is not None and certain_place(snapshot, name, needs) is None
    return Shape(optional=True) if is_bound else UNKNOWN


def _places(snapshot: Snapshot, name: str, paths: Mapping[str, None]) -> list[InputPlace]:
    return [
        InputPlace(path, reference.span)
        for path in paths
        if (template := snapshot.template(path)) is not None
        for reference in template.names.references_by_name.get(name, ())
        if reference.is_input
    ]


def functions_path(snapshot: Snapshot, path: str) -> str | None:
    """Return the absolute path of the file whose functions the template at `path` may call.

    It is set by the template's header or the project.
    """
    template = snapshot.template(path)
    named = template.declarations.settings.functions if template else None
    if named:
        return str(Path(path).parent / named)
    project = snapshot.project(path)
    return str(project.root / project.settings.functions) if project.settings.functions else None


def function_names(snapshot: Snapshot, path: str) -> frozenset[str] | None:
    """Return the names that the functions file provides, or None if the file cannot be read."""
    file = functions_path(snapshot, path)
    if file is None:
        return frozenset()
    functions = functions_in(file)
    return None if functions is None else frozenset(function.name for function in functions)


_MAX_CHAINS: Final = 40
"""How many include chains are examined; a file that is included more often is judged by these."""


class IncludeChain(NamedTuple):
    """An include chain from an entry template to a file.

    `provided` are the names that are bound or declared along the chain, or functions of a file in it.
    `bound` are those of them that a file in the chain binds. `declares` is True if the entry declares its
    inputs, so that every other name is missing there.
    `includer` and `reference` are where the file itself is included; None if it is the entry.
    """

    entry: str
    provided: frozenset[str]
    declares: bool
    bound: frozenset[str] = frozenset()
    includer: str | None = None
    reference: TemplateReference | None = None


def include_chains(snapshot: Snapshot, path: str) -> tuple[IncludeChain, ...]:
    """Return the include chains that pass data to the file at `path`, at most 40, those of open files first.

    One whose functions file cannot be read declares nothing, because that file may provide any name.
    """
    return snapshot.once(_found_chains, path)


def _found_chains(snapshot: Snapshot, path: str) -> tuple[IncludeChain, ...]:
    return tuple(islice(_chains(snapshot, path, (path,)), _MAX_CHAINS))


def _chains(snapshot: Snapshot, path: str, below: tuple[str, ...]) -> Iterator[IncludeChain]:
    template = snapshot.template(path)
    if template is None:
        return
    declarations = template.declarations
    functions = function_names(snapshot, path)
    own = frozenset(declarations.schemas) | (functions or frozenset())
    is_included = False
    for includer, reference in _including_references(snapshot, path, below):
        above = snapshot.template(includer)
        if above is None:
            continue
        bound = names_bound_at(above, reference)
        for chain in _chains(snapshot, includer, (*below, includer)):
            is_included = True
            provided = chain.provided | bound | own
            judges = chain.declares and functions is not None
            yield IncludeChain(chain.entry, provided, judges, chain.bound | bound, includer, reference)
    if not is_included:
        yield IncludeChain(path, own, declarations.declares_inputs and functions is not None)


def _including_references(
    snapshot: Snapshot, path: str, below: tuple[str, ...]
) -> Iterator[tuple[str, TemplateReference]]:
    """Yield the includes that lead to a file and pass data on, those in open files first."""
    includers = snapshot.includers(path) - {*below}
    opened = snapshot.open_paths()
    for includer in sorted(includers, key=lambda each: (each not in opened, each)):
        template = snapshot.template(includer)
        for reference in leading_references(template) if template else ():
            if passes_data(reference) and snapshot.resolve(includer, reference) == path:
                yield includer, reference


def names_bound_at(template: Template, reference: TemplateReference) -> frozenset[str]:
    """Return the names that the file binds, always or only in some branches, before a reference."""
    return _bound_at(template.source.root, reference)


@placed_fact
def _bound_at(chunks: ChunkList, reference: TemplateReference) -> frozenset[str]:
    scopes = _scopes_before(FileNames(chunks), chunks.length, reference).scopes
    return frozenset({name for scope in scopes for name in scope.bound} - {"loop"})


_NONE = ""
"""A key that marks the cache of callers as filled, even if there are no calls; no path is empty."""


@question
def calls_to(snapshot: Snapshot, path: str) -> tuple[TemplateCall, ...]:
    """Return the calls in Python files of the workspace that load the template at `path`.

    A path is relative to the working directory of the program, which is unknown: it is resolved against
    the folders around the Python file, and must lead to exactly one existing file. A call whose path is
    ambiguous is left out.
    """
    if not snapshot.calls:
        return ()
    known = snapshot.known.callers
    if _NONE not in known:
        found: dict[str, list[TemplateCall]] = {}
        for calls in snapshot.calls.values():
            for call in calls:
                target = template_of(snapshot, call)
                if target is not None:
                    found.setdefault(target, []).append(call)
        known.update({target: tuple(each) for target, each in found.items()})
        known[_NONE] = ()
    return known.get(path, ())


def template_of(snapshot: Snapshot, call: TemplateCall) -> str | None:
    """Return the template that a call loads, or None if its path leads to no file or is ambiguous."""
    candidates = (
        os.path.normpath(Path(folder) / call.template) for folder in ancestors(call.file, snapshot.roots)
    )
    targets = {candidate for candidate in candidates if snapshot.exists(candidate)}
    return targets.pop() if len(targets) == 1 else None
