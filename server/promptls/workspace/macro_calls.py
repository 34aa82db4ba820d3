"""Find which macros a file calls, of its own and of imported files, and what it passes to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from promptls.semantic.flow import paths
from promptls.semantic.flow.shapes import Macros, flow_of, macros_of
from promptls.semantic.flow.use import Pass
from promptls.semantic.names.mentions import TemplateReference
from promptls.semantic.template import Template
from promptls.syntax.jinja.nodes import Statement
from promptls.syntax.jinja.problems import tag_tree
from promptls.workspace.snapshot import Snapshot


class NamedMacro(NamedTuple):
    """A macro of the file at `path`."""

    path: str
    name: str


class PathIn(NamedTuple):
    """A path in the file at `path`; `access_path` is empty if the value cannot be followed."""

    path: str
    access_path: paths.Path


def imported_macros(snapshot: Snapshot, path: str, around: tuple[str, ...] = ()) -> Macros:
    """Return the macros of other files, by the names that call them in the file at `path`."""
    template = snapshot.template(path)
    if template is None or not flow_of(template).passes:
        return {}
    found = {}
    for statement, target in _imports(snapshot, path, template):
        other = snapshot.template(target) if target not in (*around, path) else None
        if other is None:
            continue
        macros = macros_of(flow_of(other), imported_macros(snapshot, target, (*around, path)))
        if statement.keyword == "import":
            found.update({f"{statement.name}.{name}": macro for name, macro in macros.items()})
        for imported in statement.imported:
            if imported.name in macros:
                found[imported.alias] = macros[imported.name]
    return found


def macro_called(snapshot: Snapshot, path: str, callee: paths.Path) -> NamedMacro | None:
    """Return the macro that a call in the file at `path` calls, or None if it is unknown."""
    template = snapshot.template(path)
    names = paths.callee_name(callee)
    if template is None or not names:
        return None
    module, _, name = names.rpartition(".")
    for statement, target in _imports(snapshot, path, template):
        if module and statement.keyword == "import" and statement.name == module:
            return NamedMacro(target, name)
        for imported in () if module else statement.imported:
            if imported.alias == name:
                return NamedMacro(target, imported.name)
    is_own = not module and name in template.names.bound_names("macro")
    return NamedMacro(path, name) if is_own else None


def calls_of(snapshot: Snapshot, macro: NamedMacro) -> Iterator[tuple[str, Pass]]:
    """Yield the arguments of a macro's calls, in its own file and in importing files, with the caller."""
    for path in (macro.path, *sorted(snapshot.includers(macro.path) - {macro.path})):
        template = snapshot.template(path)
        for each in flow_of(template).passes if template is not None else ():
            if macro_called(snapshot, path, each.callee) == macro:
                yield path, each


def above(snapshot: Snapshot, path: str, parameter: paths.MacroParameter) -> Iterator[PathIn]:
    """Yield the arguments for a parameter of a macro or call block of the file at `path`."""
    names = (parameter.number, parameter.name, "*", "**")
    if parameter.owner.isidentifier():
        for caller, each in calls_of(snapshot, NamedMacro(path, parameter.owner)):
            if each.argument in names:
                yield PathIn(caller, each.path)
        return
    template = snapshot.template(path)
    for each in flow_of(template).passes if template is not None else ():
        macro = macro_called(snapshot, path, each.callee) if each.block == parameter.owner else None
        other = snapshot.template(macro.path) if macro is not None else None
        for passed in flow_of(other).passes if other is not None else ():
            if (
                macro is not None
                and passed.callee == (paths.Step(paths.caller_root(macro.name)),)
                and passed.argument in names
            ):
                yield PathIn(macro.path, passed.path)


def below(snapshot: Snapshot, path: str, handed: Pass) -> Iterator[PathIn]:
    """Yield the parameters that receive what a call in the file at `path` passes."""
    owner = paths.parameter_of(handed.path)
    if owner is not None and handed.callee == (paths.Step(paths.caller_root(owner.owner)),):
        macro = NamedMacro(path, owner.owner)
        blocks = {(caller, each.block) for caller, each in calls_of(snapshot, macro) if each.block}
        for caller, block in sorted(blocks):
            yield from _parameter(snapshot, caller, block, handed.argument)
    elif (called := macro_called(snapshot, path, handed.callee)) is not None:
        yield from _parameter(snapshot, called.path, called.name, handed.argument)


def paths_from_inputs(snapshot: Snapshot, path: str, access: paths.Path) -> tuple[PathIn, ...]:
    """Return the paths from inputs that a path means if it begins at a parameter."""
    found: dict[PathIn, None] = {}
    seen: set[PathIn] = set()
    waiting = [PathIn(path, access)]
    while waiting:
        current = waiting.pop(0)
        if current in seen or not current.access_path:
            continue
        seen.add(current)
        parameter = paths.parameter_of(current.access_path)
        if parameter is None:
            found[current] = None
            continue
        waiting += [
            PathIn(each.path, paths.along(each.access_path, *current.access_path[1:]))
            for each in above(snapshot, current.path, parameter)
        ]
    return tuple(found)


def _parameter(snapshot: Snapshot, path: str, owner: str, argument: int | str) -> Iterator[PathIn]:
    """Yield the parameter of a macro or call block that an argument is for, if it is used."""
    template = snapshot.template(path)
    for root in flow_of(template).shapes if template is not None else ():
        parameter = paths.parameter_of((paths.Step(root),))
        if parameter is not None and parameter.owner == owner and argument in parameter[1:]:
            yield PathIn(path, (paths.Step(root),))


def _imports(snapshot: Snapshot, path: str, template: Template) -> Iterator[tuple[Statement, str]]:
    """Yield the import statements, each with the file that it resolves to."""
    for reference in template.references:
        if reference.keyword in {"import", "from"}:
            target = snapshot.resolve(path, reference)
            statement = _statement(template, reference)
            if target is not None and statement is not None:
                yield statement, target


def _statement(template: Template, reference: TemplateReference) -> Statement | None:
    located = template.source.located(reference.span.start)
    tag = located.tag_at(reference.span.start)
    return tag_tree(tag).statement if tag is not None else None
