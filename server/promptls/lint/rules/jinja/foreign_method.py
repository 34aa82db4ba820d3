"""Method or attribute of another language.

Reports calls of methods such as `size()`, `toUpperCase()` or `includes(…)`, which texts, lists and
mappings do not have in Jinja, and `.length` of a value that the file uses as a list or a text; `.count` is a hint. Reports attributes
of the elements of `range()`, `items()`, `groupby` and literals, which do not have them, and a loop with one
variable over a group of `groupby`. Reports calls of
methods that a literal, the result of a filter or a variable of these does not have, and misspellings of common
methods such as `strip`; those are hints if the type of the value is unknown.

## Why is this bad?

The call of such a method fails, and such an attribute prints nothing. Jinja has filters and operators
instead.

## Example

```yaml
{% if documents.size() > 3 %}
                ^^^^ foreign-method: Jinja has no method `size`; did you mean the filter `length`?
- name: note
  content: There are many documents.
{% endif %}
```

Use instead:

```yaml
{% if documents | length > 3 %}
- name: note
  content: There are many documents.
{% endif %}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import GeneratorType
from typing import Final

from markupsafe import Markup

from promptls.lint.analysis.literal_types import Group, LiteralTypes
from promptls.lint.analysis.loop_names import listed_names, looped_paths
from promptls.lint.analysis.unmatched_names import declared_names
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, each_chunk_given, rule
from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.names.template_names import statement_at
from promptls.semantic.types.shape import Shape, alternatives_of
from promptls.syntax.chunk import Chunk, Located, chunk_fact
from promptls.syntax.facts import items_in
from promptls.syntax.jinja.builtins import FILTERS
from promptls.syntax.jinja.nodes import Attribute, Call, Collection, Constant, Expression, Item, Name
from promptls.syntax.jinja.problems import expressions_in, loops_in
from promptls.text.positions import Span
from promptls.text.suggest import is_typo
from promptls.workspace.contract import calls_to

_METHODS: Final = {
    "charAt": "",
    "contains": "",
    "forEach": "",
    "includes": "",
    "has_key": "",
    "indexOf": "",
    "isEmpty": "",
    "iteritems": "",
    "iterkeys": "",
    "itervalues": "",
    "len": "length",
    "length": "length",
    "push": "",
    "size": "length",
    "startsWith": "",
    "endsWith": "",
    "substring": "",
    "titlecase": "title",
    "toFixed": "",
    "toLower": "lower",
    "toUpper": "upper",
    "toLowerCase": "lower",
    "toString": "string",
    "toUpperCase": "upper",
    "trim": "trim",
    "upcase": "upper",
    "downcase": "lower",
}
"""Methods of other languages that Jinja does not have, and the equivalent filters."""
_PYTHON_NAMES: Final = {
    "iteritems": "items",
    "iterkeys": "keys",
    "itervalues": "values",
    "startsWith": "startswith",
    "endsWith": "endswith",
    "push": "append",
    "indexOf": "index",
}
"""Methods of other languages, with their names in Python."""
_OTHER_NAMES: Final = {"add": "append", "lowercase": "lower", "uppercase": "upper"}
"""Other words for methods of Python."""
_MODULES: Final = frozenset({"json", "math", "os", "random", "re"})
"""Modules of Python, which a template does not have unless a caller passes them."""
_LENGTHS: Final = frozenset({"count", "length", "size"})
_FILTERS: Final = frozenset({"escape", "forceescape", "striptags", "tojson", "trim", "urlencode", "wordwrap"})
"""Filters that are no keys of data."""


@chunk_fact
def _foreign(chunk: Chunk) -> tuple[tuple[Attribute, Call | None, int], ...]:
    found: list[tuple[Attribute, Call | None, int]] = []
    called = set()
    for start, node in expressions_in(chunk):
        if isinstance(node, Call) and isinstance(node.function, Attribute):
            called.add(id(node.function))
            target = node.function.target
            if node.function.name in _METHODS or (isinstance(target, Name) and target.name in _MODULES):
                found.append((node.function, node, start))
        elif isinstance(node, Attribute) and node.name in _LENGTHS | _FILTERS and id(node) not in called:
            found.append((node, None, start))
    return tuple(found)


@rule(severity="warning", kinds=JINJA_KINDS)
def foreign_method(file: File) -> Iterator[Finding]:
    """Yield the methods and attributes of other languages, and methods that a known value does not have."""
    yield from _foreign_in(file)
    yield from _unknown_methods(file)
    yield from _unknown_attributes(file)


@chunk_fact
def _calls(chunk: Chunk) -> tuple[tuple[Call, Attribute, int], ...]:
    """Return the calls of methods that are not reported as those of another language."""
    return tuple(
        (node, node.function, start)
        for start, node in expressions_in(chunk)
        if isinstance(node, Call)
        and isinstance(node.function, Attribute)
        and node.function.name
        and node.function.name not in _METHODS
    )


_TYPES: Final[dict[type, str]] = {
    Markup: "a text",
    list: "a list",
    tuple: "a tuple",
    dict: "a mapping",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    GeneratorType: "the iterator of this filter",
    Group: "a group of `groupby`",
}


def _unknown_methods(file: File) -> Iterator[Finding]:
    """Yield the calls of methods that a value of a known type does not have, and of typos of common ones."""
    types = LiteralTypes(file)
    for located, (call, method, place) in items_in(file.chunks, _calls):
        start = located.start + place
        known = types.type_of(method.target)
        if known is None:
            yield from _of_unknown_type(file, call, method, start)
        elif not hasattr(known, method.name):
            yield from _of_known_type(file, call, method, start, known)


_HINTS_ABOUT: Final = {Group: "its elements are in `.list`", int: "this loop iterates over numbers"}
"""What the messages about attributes add for the types of elements."""


def _types_of_elements(file: File) -> dict[str, type]:
    """Return the types of the variables of loops whose attributes are known."""
    types = LiteralTypes(file)
    found = {name: types.type_of_name(name) for name in file.template.names.bound_names("for")}
    return {name: known for name, known in found.items() if known not in {None, dict}}


@each_chunk_given(_types_of_elements)
def _unknown_attributes(chunk: Chunk, types: Mapping[str, type]) -> Iterator[Finding]:
    """Yield the attributes that the elements of a loop do not have, because of what it iterates over."""
    if not types:
        return
    called = {id(node.function) for _, node in expressions_in(chunk) if isinstance(node, Call)}
    for start, node in expressions_in(chunk):
        if not isinstance(node, Attribute) or not isinstance(node.target, Name) or id(node) in called:
            continue
        known = types.get(node.target.name)
        if known is not None and not hasattr(known, node.name) and not node.name.isdecimal():
            message = f"{_TYPES[known]} has no attribute `{node.name}`"
            if known in _HINTS_ABOUT:
                message += f"; {_HINTS_ABOUT[known]}"
            yield Finding(node.name_span, message).shifted(start)
    for start, loop in loops_in(chunk):
        source = loop.expressions[0]
        if len(loop.targets) == 1 and isinstance(source, Name) and types.get(source.name) is Group:
            message = "a loop over a group of `groupby` gives its name and its list"
            yield Finding.suggest(source.span, message, f"{source.name}.list").shifted(start)


def _of_known_type(file: File, call: Call, method: Attribute, start: int, known: type) -> Iterator[Finding]:
    """Yield the finding for a method that a type does not have; of a mapping, it may be a key."""
    message = f"{_TYPES[known]} has no method `{method.name}`"
    methods = [each for each in dir(known) if not each.startswith("_")]
    meant = next((each for each in methods if is_typo(method.name, each)), None)
    other = _OTHER_NAMES.get(method.name, "")
    meant = meant or (other if hasattr(known, other) else None)
    span = method.name_span.shifted(start)
    if meant is not None:
        yield Finding.suggest(span, message, meant)
    elif known is not dict:
        meant = "trim" if _is_misspelled(method.name, "trim") else method.name
        is_filter = meant in FILTERS
        yield _as_filter(file, call, method, start, message, meant) if is_filter else Finding(span, message)


def _of_unknown_type(file: File, call: Call, method: Attribute, start: int) -> Iterator[Finding]:
    """Yield the finding for a typo of a common method, and for `join` with its text as the argument.

    A typo is only a hint: a class of the user's may have a method of that name.
    """
    span = method.name_span.shifted(start)
    argument = call.arguments[0] if len(call.arguments) == 1 else None
    if method.name == "join" and isinstance(argument, Constant) and isinstance(argument.value, str):
        yield _as_filter(file, call, method, start, "`join` joins the elements of its argument", "join")
    elif not _may_have_macros(file, method.target) and not _is_declared(file, method):
        meant = [each for each in _COMMON_METHODS if _is_misspelled(method.name, each)]
        message = f"no text, list or mapping has a method `{method.name}`"
        if len(meant) == 1:
            yield Finding.suggest(span, message, meant[0], severity="hint")
        elif _is_misspelled(method.name, "trim"):
            yield replace(_as_filter(file, call, method, start, message, "trim"), severity="hint")


def _may_have_macros(file: File, target: Expression) -> bool:
    """Return whether a value is an imported module, or one of Jinja's own."""
    owners = file.template.names.bound_names("import") | {"loop", "self", "super"}
    return isinstance(target, Name) and target.name in owners


def _is_declared(file: File, method: Attribute) -> bool:
    """Return whether a method is called of an input with a declared type, where other rules report it."""
    target = method.target
    while isinstance(target, Attribute | Item):
        target = target.target
    typed = {key.name for key in file.template.declarations.inputs if key.schema.get("type")}
    is_looped = (
        isinstance(target, Name) and target.name in file.template.names.bound_names("for") and bool(typed)
    )
    return isinstance(target, Name) and (target.name in typed or is_looped)


def _as_filter(file: File, call: Call, method: Attribute, start: int, message: str, name: str) -> Finding:
    """Return the finding for a method where the filter `name` is meant."""
    arguments = file.template.source.slice(Span(method.span.end, call.span.end).shifted(start))
    written = f" | {name}{arguments if call.arguments else ''}"
    edit = Edit(Span(_dot(method), call.span.end).shifted(start), written)
    fix = Fix(f"Change to `{written.strip()}`", (edit,))
    message += f"; did you mean the filter `{name}`?"
    return Finding(method.name_span.shifted(start), message, (fix,))


_COMMON_METHODS: Final = (
    "append", "capitalize", "endswith", "isalpha", "isdigit", "islower", "isnumeric", "isupper", "items", "lower", "lstrip", "replace", "rstrip", "split", "splitlines",
    "startswith", "strip", "upper", "values",
)  # fmt: skip
"""Methods of Python that templates often call."""
_LONG: Final = 7
"""The minimum length of a method for any name with one other letter to be a typo of it."""


def _is_misspelled(name: str, known: str) -> bool:
    """Return whether a name is a known one with two letters swapped, or one missing or doubled inside of it."""
    if name == known or name[:1] != known[:1]:
        return False
    if len(known) >= _LONG:
        return is_typo(name, known)
    if name[-1:] != known[-1:]:
        return False
    return is_typo(name, known) and (len(name) != len(known) or sorted(name) == sorted(known))


def _foreign_in(file: File) -> Iterator[Finding]:
    for located, (node, call, start) in items_in(file.chunks, _foreign):
        target = node.target
        if isinstance(target, Name) and target.name in _MODULES and call is not None:
            yield from _of_module(file, target, call, start, located)
            continue
        if isinstance(target, Name) and (target.name in {"loop", "self"} or _is_module(file, target.name)):
            continue
        if call is None and node.name in _FILTERS:
            yield _filter(node).shifted(start + located.start)
            continue
        is_sequence = isinstance(target, Name) and _is_sequence(file, target.name)
        if call is None and not is_sequence and not _is_looped_path(file, located, target, start):
            continue
        yield _finding(located.chunk, node, call, start).shifted(located.start)


def _dot(node: Attribute) -> int:
    """Return the offset of the dot, which is after the parentheses around the target."""
    return node.name_span.start - 1


def _filter(node: Attribute) -> Finding:
    """Return the finding for a filter after a dot."""
    edit = Edit(Span(_dot(node), node.span.end), f" | {node.name}")
    message = f"a filter is applied with `|`; did you mean `| {node.name}`?"
    return Finding(node.name_span, message, (Fix(f"Change to `| {node.name}`", (edit,)),))


def _of_module(file: File, target: Name, call: Call, start: int, located: Located) -> Iterator[Finding]:
    """Yield the finding for a call of a function in a module of Python."""
    if (
        target.name in file.template.names.all_bound_names
        or target.name in (declared_names(file) or ())
        or any(target.name in each.keys for each in calls_to(file.snapshot, file.path))
    ):
        return
    span = target.span.shifted(start)
    message = f"Jinja has no module `{target.name}`"
    function = call.function.name if isinstance(call.function, Attribute) else ""
    argument = call.arguments[0] if len(call.arguments) == 1 else None
    if (target.name, function) == ("json", "dumps") and isinstance(argument, Name | Attribute | Item):
        text = located.chunk.text[argument.span.start + start : argument.span.end + start]
        fix = Fix(f"Change to `{text} | tojson`", (Edit(call.span.shifted(start), f"{text} | tojson"),))
        message += "; did you mean the filter `tojson`?"
        yield Finding(span, message, (fix,)).shifted(located.start)
    else:
        yield Finding(span, message).shifted(located.start)


def _is_module(file: File, name: str) -> bool:
    """Return whether a name may be an imported module or a namespace: it is not only set to lists."""
    names = file.template.names
    if name not in names.bound_names("set"):
        return name in names.bound_names("import")
    statements = [
        statement_at(file.template, binding.span.start)
        for binding in names.bindings_of("set")
        if binding.name == name
    ]
    return not all(
        statement is not None
        and any(
            isinstance(value, Collection) or (isinstance(value, Call) and _is_looped(file, value, name))
            for value in statement.expressions
        )
        for statement in statements
    )


def _is_looped(file: File, value: Call, name: str) -> bool:
    """Return whether a variable that is set to the result of a call is no namespace, but iterated over."""
    is_namespace = isinstance(value.function, Name) and value.function.name == "namespace"
    return not is_namespace and name in listed_names(file.chunks)


def _is_sequence(file: File, name: str) -> bool:
    """Return whether the file uses a value as a list or text, and apart from that only reads its length."""
    if name in file.template.names.bound_names("set"):
        return name in listed_names(file.chunks)
    shape = used_shapes(file.template).get(name)
    if shape is None or not all(map(_has_only_length, alternatives_of(shape))):
        return False
    return any(each.kind in {"list", "text"} for each in alternatives_of(shape)) or name in listed_names(
        file.chunks
    )


def _is_looped_path(file: File, located: Located, target: Expression, start: int) -> bool:
    """Return whether a loop with one variable iterates over the same attribute of a variable."""
    if not isinstance(target, Attribute):
        return False
    text = located.chunk.text[start + target.span.start : start + target.span.end]
    return text in looped_paths(file.chunks)


def _has_only_length(shape: Shape) -> bool:
    return shape.kind in {"list", "text"} or all(name in _LENGTHS for name, _ in shape.keys)


def _finding(chunk: Chunk, node: Attribute, call: Call | None, start: int) -> Finding:
    span = node.name_span.shifted(start)
    what = "method" if call is not None else "attribute"
    name = _METHODS.get(node.name, "length")
    message = f"Jinja has no {what} `{node.name}`"
    if node.name == "count":
        message = "if this is a list, this is its method"
    if name and (call is None or not call.arguments):
        whole = (call or node).span
        edit = Edit(Span(_dot(node), whole.end).shifted(start), f" | {name}")
        fix = Fix(f"Change to `| {name}`", (edit,))
        message += f"; did you mean the filter `{name}`?"
        return Finding(span, message, (fix,), severity="hint" if node.name == "count" else None)
    if node.name in _PYTHON_NAMES:
        return Finding.suggest(span, message, _PYTHON_NAMES[node.name])
    if node.name in {"includes", "contains", "has_key"}:
        message += "; `x in y` says whether `y` contains `x`"
    return Finding(span, message)
