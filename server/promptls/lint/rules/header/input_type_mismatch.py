"""Input used in a way that its declared type does not allow.

Compares the JSON Schemas of `input_keys` with how the file uses the inputs, their parts, and the
elements of lists: a loop over a number, an attribute that a text does not have, a call of something that
is not a function, arithmetic with a text, or `escape_special_characters` of anything but a text. Also
reports comparisons with a value that is not in the input's `enum` or has a different type, and, as a hint, keys
that are not among the declared `properties`, unless `additionalProperties` is there. Inputs
without a `type` or an `enum`, and inputs whose type the template itself tests, are not checked. An
included file is checked against the declarations of the templates that include it, and the macros of a file that
one other file imports against what that file passes to them.

## Why is this bad?

Rendering fails, or a missing attribute prints nothing. A comparison that is never true removes its
branch from every prompt.

## Example

```yaml
{#---
input_keys:
  user: {type: string}
---#}
- name: ticket
  content: |
    Written by {{ user.name | tojson }}.
                  ^^^^^^^^^ input-type-mismatch: `user` is declared as a string, which has no `name`
```

Use instead:

```yaml
{#---
input_keys:
  user: {type: object, properties: {name: {type: string}}}
---#}
- name: ticket
  content: |
    Written by {{ user.name | tojson }}.
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from promptls.lint.analysis.declared_types import (
    is_undeclared,
    lacks_property,
    may_differ,
    meant_key,
    never_equal,
    schema_at,
    wrong_use,
)
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, RelatedInformation, Severity, rule
from promptls.semantic.flow.paths import MacroParameter, Step, callee_name, is_no_input, parameter_of
from promptls.semantic.flow.shapes import flow_of, resolved_uses, used_shapes
from promptls.semantic.flow.use import Use
from promptls.semantic.header import DeclaredInput
from promptls.semantic.names.template_names import statement_at
from promptls.semantic.types.schemas import shape_of_schema
from promptls.semantic.types.shape import Shape
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import Filter, Name
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.positions import Span
from promptls.text.suggest import is_close
from promptls.workspace.contract import include_chains

_RESTRICTING: Final = frozenset({"type", "enum"})
"""The keywords of a schema that restrict its values."""


@rule(severity="warning", kinds=JINJA_KINDS)
def input_type_mismatch(file: File) -> Iterator[Finding]:
    """Yield the uses that contradict a declared type."""
    found: dict[tuple[int, str], _Mismatch] = {}
    for path, typed, where in _declarations(file):
        template = file.snapshot.template(path)
        inputs = template.declarations.inputs if template is not None else ()
        declared = {each.span: each.name for each in inputs}
        for each in _mismatches(file, typed):
            span, message = each.finding.span, each.finding.message
            # If both a value and its filtered value mismatch, the value is reported.
            known = found.get((span.start, message))
            if known is None or span.end < known.finding.span.end:
                related = RelatedInformation(
                    path, each.key.span, f"`{declared[each.key.span]}` is declared here"
                )
                finding = replace(each.finding, message=f"{message}{where}", related=(related,))
                found[span.start, message] = each._replace(finding=finding)
    seen: set[Span | str] = set()
    for _, finding, is_of_keys in found.values():
        # A loop over the keys of a mapping is reported once, although each use of its variable is wrong.
        about = finding.message if is_of_keys else finding.span
        if about not in seen:
            seen.add(about)
            yield finding


def _declarations(file: File) -> Iterator[tuple[str, Mapping[str, DeclaredInput], str]]:
    """Yield the typed inputs of the files whose declarations apply, each with a description of the file.

    A file without declared inputs is checked against the declarations of the templates that include it.
    """
    own = file.template.declarations
    if own.declares_inputs:
        typed = _typed(own.inputs, frozenset())
        macros = file.template.names.bound_names("macro")
        is_alone = bool(macros) and not file.snapshot.includers(file.path)
        parameters = _typed_parameters(file, file.path, ("",)) if is_alone else {}
        yield file.path, {**typed, **parameters}, ""
        return
    yield from _imported_macros(file)
    entries: set[str] = set()
    for chain in include_chains(file.snapshot, file.path):
        template = file.snapshot.template(chain.entry)
        if chain.reference is None or template is None or chain.entry in entries:
            continue
        entries.add(chain.entry)
        typed = _typed(template.declarations.inputs, chain.bound)
        yield chain.entry, typed, f" (in `{PurePath(chain.entry).name}`, which this file is included from)"


def _typed(inputs: tuple[DeclaredInput, ...], bound: frozenset[str]) -> dict[str, DeclaredInput]:
    return {
        key.name: key for key in inputs if not _RESTRICTING.isdisjoint(key.schema) and key.name not in bound
    }


_joined: Final = summary(
    lambda chunk: frozenset(
        node.target.name
        for _, node in expressions_in(chunk)
        if isinstance(node, Filter) and node.name == "join" and isinstance(node.target, Name)
    ),
    union,
)
"""The variables whose elements `join` prints, which their other uses may hide."""


class _Mismatch(NamedTuple):
    """A use of an input or parameter that contradicts its type; `is_of_keys` as in `UseProblem`."""

    key: DeclaredInput
    finding: Finding
    is_of_keys: bool = False


def _mismatches(file: File, typed: Mapping[str, DeclaredInput]) -> Iterator[_Mismatch]:
    """Yield the uses of inputs and parameters that contradict their types."""
    if not typed:
        return
    used = used_shapes(file.template)
    if any(map(is_no_input, typed)):
        used = {**flow_of(file.template).shapes, **used}
    compared = may_differ(file, typed)
    joined = _joined(file.template.source.root)
    suspicious = {
        name
        for name, key in typed.items()
        if name in used
        and (compared or (name in joined and _holds_structures(key)) or _is_suspicious(key, used[name]))
    }
    if not suspicious:
        return
    uses = [use for use in resolved_uses(file.template) if use.path[0].key in suspicious]
    tested = {use.keys for use in uses if use.shape.kind == "any" or use.shape.tested}
    optional = {use.keys for use in uses if any(step.optional for step in use.path)}
    for use in uses:
        if any(use.keys[: len(other)] == other for other in tested):
            continue
        key = typed[str(use.path[0].key)]
        named = use._replace(path=(use.path[0]._replace(key=key.name), *use.path[1:]))
        if use.compared:
            yield from (_Mismatch(key, found) for found in never_equal(key.schema, named))
        elif (wrong := wrong_use(key.schema, named)) is not None and not (
            wrong.may_be_there and use.keys in optional
        ):
            severity: Severity | None = "hint" if wrong.may_be_there else None
            finding = Finding(use.span, wrong.message, _fixes(file, key.schema, named), severity=severity)
            yield _Mismatch(key, finding, wrong.is_of_keys)


def _fixes(file: File, schema: Any, use: Use) -> tuple[Fix, ...]:
    """Return the fix that replaces a typo with the declared key, if the use ends with that key."""
    found = meant_key(schema, use)
    text = file.template.source.slice(use.span)
    if found is None or not text.endswith(f".{found[0]}"):
        return ()
    end = use.span.end
    edit = Edit(Span(end - len(found[0]), end), found[1])
    return (Fix(f"Change to `{found[1]}`", (edit,), is_close(*found)),)


def _holds_structures(key: DeclaredInput) -> bool:
    """Return whether the elements of an input are mappings or lists."""
    element = shape_of_schema(key.schema).element
    return element is not None and element.kind in {"list", "mapping"}


def _is_suspicious(key: DeclaredInput, used: Shape) -> bool:
    """Return whether a use of an input may contradict its type; an input without a type allows anything."""
    return "type" in key.schema and _may_differ(shape_of_schema(key.schema), used, key.schema)


def _may_differ(declared: Shape, used: Shape, schema: Any) -> bool:
    """Return whether a use may contradict the declaration, without analyzing the file."""
    if used.kind == "unknown" or (used.kind == "scalar" and declared.kind not in {"list", "mapping"}):
        return False
    if used.kind != declared.kind or not isinstance(schema, Mapping):
        return True
    for name, below in used.keys:
        own = declared.key(name)
        if own is None and (lacks_property(schema, name) or is_undeclared(schema, name)):
            return True
        properties = schema.get("properties")
        inner = properties.get(name) if isinstance(properties, Mapping) else None
        if own is not None and own.kind != "unknown" and _may_differ(own, below, inner):
            return True
    if used.element is None or declared.element is None or declared.element.kind == "unknown":
        return False
    return _may_differ(declared.element, used.element, schema.get("items"))


def _imported_macros(file: File) -> Iterator[tuple[str, Mapping[str, DeclaredInput], str]]:
    """Yield the typed parameters of the file's macros if only one file imports it, with all calls of them."""
    importers = file.snapshot.includers(file.path) if file.template.names.bound_names("macro") else ()
    if len(importers) != 1:
        return
    (importer,) = importers
    template = file.snapshot.template(importer)
    if template is None:
        return
    found = [statement_at(template, each.span.start) for each in template.names.bindings_of("import")]
    statements = [each for each in found if each is not None]
    modules = [each.name for each in statements if each.keyword == "import"]
    if all(name.alias == name.name for each in statements for name in each.imported):
        typed = _typed_parameters(file, importer, ("", *(f"{name}." for name in modules)))
        yield importer, typed, f" (in `{PurePath(importer).name}`, which imports this file)"


def _typed_parameters(file: File, caller: str, owners: tuple[str, ...]) -> dict[str, DeclaredInput]:
    """Return the parameters of the file's macros to which all calls in a file pass a value of one declared type.

    The keys are the roots of the parameters' paths. `owners` are what may be before the name of a macro.
    """
    template = file.snapshot.template(caller)
    inputs = template.declarations.inputs if template is not None else ()
    typed = _typed(inputs, frozenset())
    macros = file.template.names.bound_names("macro") if typed else frozenset()
    if not macros or template is None:
        return {}
    flow = flow_of(template)
    parameters = {
        (f"{owner}{each.owner}", argument): each
        for root in flow_of(file.template).shapes
        if (each := parameter_of((Step(root),))) is not None and each.owner in macros
        for argument in (each.number, each.name)
        for owner in owners
    }
    passed: dict[MacroParameter, list[tuple[DeclaredInput, Any] | None]] = {}
    for handed in flow.passes if parameters else ():
        parameter = parameters.get((callee_name(handed.callee), handed.argument))
        if parameter is not None:
            key = typed.get(str(handed.path[0].key)) if handed.path else None
            schema = schema_at(key.schema, handed.path) if key is not None else None
            found = (key, schema) if key is not None and isinstance(schema, dict) else None
            passed.setdefault(parameter, []).append(found)
    return {
        parameter.root: DeclaredInput(parameter.name, first[0].span, first[1])
        for parameter, values in passed.items()
        if (first := values[0]) is not None
        and all(each is not None and each[1] == first[1] for each in values)
    }
