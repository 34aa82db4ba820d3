"""Attribute assignment on a non-namespace.

Reports `{% set x.y = … %}` where the file sets `x` to a text, a number, a list or a mapping, or
to `namespace` without `()`.

## Why is this bad?

In Jinja, only the attributes of a `namespace` can be set: rendering fails with "cannot assign attribute
on non-namespace object".

## Example

```yaml
{% set user = {"name": "Ada"} %}
{% set user.name = "Grace" %}
       ^^^^^^^^^ assigned-attribute: `user` is not a `namespace`, so its attributes cannot be set: rendering fails
- name: ticket
  content: "{{ user.name }}"
```

Use instead:

```yaml
{% set user = namespace(name="Ada") %}
{% set user.name = "Grace" %}
- name: ticket
  content: "{{ user.name }}"
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, rule
from promptls.semantic.names.scopes import BINDING_KINDS, Binding
from promptls.semantic.names.template_names import statement_at
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import items_in, summary, union
from promptls.syntax.jinja.nodes import Attribute, Call, Collection, Constant, Expression, Name, Operation
from promptls.syntax.jinja.problems import keyword_of, statement_of, tag_tree
from promptls.text.positions import Span


@rule(severity="error", kinds=JINJA_KINDS)
def assigned_attribute(file: File) -> Iterator[Finding]:
    """Yield the attributes that are set on something that is certainly not a namespace."""
    root = file.template.source.root
    for name in sorted(_assigned_names(root)):
        values = _values(file, name)
        if values is None and not _is_of_data(file, name):
            continue
        message = f"`{name}` is not a `namespace`, so its attributes cannot be set: rendering fails"
        fixes = tuple(_as_namespace(file, values or ()))
        for located in root.where(_assigned_names):
            for each, span in _assigned(located.chunk):
                if each == name:
                    yield Finding(span.shifted(located.start), message, fixes)
    yield from _uncalled(file, _assigned_names(root))


@chunk_fact
def _set_to_namespace(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the variables that are set to `namespace` without `()`, and the place of the value."""
    found = []
    for tag in chunk.tags:
        statement = statement_of(tag)
        if statement is None or statement.keyword != "set" or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], next(iter(statement.expressions), None)
        if isinstance(target, Name) and isinstance(value, Name) and value.name == "namespace":
            found.append((target.name, value.span.shifted(tag.span.start)))
    return tuple(found)


def _uncalled(file: File, assigned: frozenset[str]) -> Iterator[Finding]:
    """Yield the uncalled `namespace` of variables whose attributes only other files may set."""
    if "namespace" in file.template.names.all_bound_names:
        return
    for located, (name, place) in items_in(file.chunks, _set_to_namespace):
        if name not in assigned:
            span = place.shifted(located.start)
            fix = Fix("Insert `()`", (Edit.insert(span.end, "()"),), preferred=True)
            yield Finding(span, f"`{name}` is not a `namespace`, which must be called: `namespace()`", (fix,))


def _values(file: File, name: str) -> tuple[tuple[Expression, int], ...] | None:
    """Return the values of a name in the file, with their tags' offsets; None if one may be a namespace."""
    file_names = file.template.names
    if name in file_names.bound_otherwise("set"):
        return None
    if name not in file_names.bound_names("set"):
        return None  # a file that includes this one may pass it a namespace
    found = []
    for binding in file_names.bindings_of("set"):
        if binding.name == name:
            value = _value(file, binding)
            if value is None:
                return None
            found.append(value)
    return tuple(found)


def _is_of_data(file: File, name: str) -> bool:
    """Return whether a name is an input that is declared as JSON data, or an item of one."""
    names = file.template.names
    kinds = [kind for kind in BINDING_KINDS if name in names.bound_names(kind)]
    if not kinds:
        return name in _declared_as_data(file) & names.input_names
    if kinds != ["for"]:
        return False
    return all(
        _is_loop_over_data(file, binding) for binding in names.bindings_of("for") if binding.name == name
    )


def _declared_as_data(file: File) -> frozenset[str]:
    """Return the inputs with a declared type, which are never namespaces."""
    return frozenset(key.name for key in file.template.declarations.inputs if key.schema.get("type"))


def _is_loop_over_data(file: File, binding: Binding) -> bool:
    statement = statement_at(file.template, binding.span.start)
    value = statement.first if statement is not None else None
    while isinstance(value, Attribute):
        value = value.target
    bound = file.template.names.all_bound_names
    return isinstance(value, Name) and value.name in _declared_as_data(file) - bound


def _value(file: File, binding: Binding) -> tuple[Expression, int] | None:
    statement = statement_at(file.template, binding.span.start)
    if statement is None or len(statement.targets) != 1 or len(statement.expressions) != 1:
        return None
    value = statement.expressions[0]
    if isinstance(value, Name) and value.name == "namespace":
        return value, binding.span.start - statement.targets[0].span.start
    is_dict = isinstance(value, Call) and isinstance(value.function, Name) and value.function.name == "dict"
    if statement.opens_block or not (is_dict or isinstance(value, (Constant, Collection, Operation))):
        return None
    return value, binding.span.start - statement.targets[0].span.start


def _as_namespace(file: File, values: tuple[tuple[Expression, int], ...]) -> Iterator[Fix]:
    """Yield the fix that turns a mapping into a namespace."""
    for value, start in values:
        span = value.span.shifted(start)
        if len(values) == 1 and isinstance(value, Collection) and value.kind == "dict":
            text = file.template.source.slice(span)
            title = "Make it a `namespace`"
            yield Fix(title, (Edit(span, f"namespace({text if value.items else ''})"),))
        elif len(values) == 1 and isinstance(value, Name):
            yield Fix("Insert `()`", (Edit.insert(span.end, "()"),), preferred=True)
        elif len(values) == 1 and isinstance(value, Call):
            yield Fix("Make it a `namespace`", (Edit(value.function.span.shifted(start), "namespace"),))


@chunk_fact
def _assigned(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the names whose attributes the chunk sets, with the span from the name to the attribute."""
    statements = [(tag_tree(tag).statement, tag.span.start) for tag in chunk.tags if keyword_of(tag) == "set"]
    return tuple(
        (target.target.name, target.span.shifted(start))
        for statement, start in statements
        for target in statement.targets
        if isinstance(target, Attribute) and isinstance(target.target, Name)
    )


_assigned_names: Final = summary(lambda chunk: frozenset(name for name, _ in _assigned(chunk)), union)
