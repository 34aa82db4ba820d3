"""Methods of Python that are called for nothing, or not called.

# in-place-method

Result of a method that changes a list in place.

Reports loops over the result of `sort()` or `reverse()`, and filters after it.

## Why is this bad?

These methods change the list and return nothing: the loop or the filter gets `None`, and rendering fails. The filters
of the same names return a new list.

## Example

```yaml
{% for turn in turns.reverse() %}
                     ^^^^^^^ in-place-method: `reverse` of a list returns nothing; did you mean the filter `reverse`?
- name: turn
  content: |
    {{ escape_special_characters(turn) }}
{% endfor %}
```

Use instead:

```yaml
{% for turn in turns | reverse %}
- name: turn
  content: |
    {{ escape_special_characters(turn) }}
{% endfor %}
```

# uncalled-method

Method of a text without parentheses.

Reports `code.isdigit`, `line.startswith`, `name.strip` and other names of methods of texts that are not
called. Names that data often has as keys, such as `title` or `format`, are not reported. `upper` and `lower` are hints,
if they are the only attributes of a variable that the file reads.

## Why is this bad?

Without parentheses, this is the method itself. In a condition, it is always true; printed, it is
`<built-in method …>`.

## Example

```yaml
- name: code
  content: |
    {{ "Chapter" if code.isdigit else "Code" }} {{ code }}
                         ^^^^^^^ uncalled-method: this is the method itself, which is always true; `()` calls it
```

Use instead:

```yaml
- name: code
  content: |
    {{ "Chapter" if code.isdigit() else "Code" }} {{ code }}
```

# dict-method

Attribute that is a method of every mapping.

Reports `order.items`, `row.values`, `box.keys` and other names of methods of Python mappings that are
not called. If the file declares the key, or if a loop with two variables iterates over `items`, it is a
warning. A loop `for key, value in order`, without `items()`, is reported as well, and so are
`for value, key in order.items()`, and `for key in order.items()` if the pair is printed or never read. `order.values()[0]` is a warning.

## Why is this bad?

With a dot, Jinja looks for an attribute first, and finds the method: for a mapping with the key `items`,
`{{ order.items }}` prints `<built-in method items of dict object>`, and a loop over it fails. With
brackets, Jinja looks for the key first.

## Example

```yaml
- name: order
  content: |
    {% for item in order.items %}
                         ^^^^^ dict-method: on a mapping, this is the method `items`, not the value of the key
    - {{ escape_special_characters(item) }}
    {% endfor %}
```

Use instead:

```yaml
- name: order
  content: |
    {%- for item in order['items'] %}
    - {{ escape_special_characters(item) }}
    {%- endfor %}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.namespaces import namespace_names
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, each_chunk, each_chunk_given, rule
from promptls.semantic.header import Declarations
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import chunks_with, items_in, summary, union
from promptls.syntax.jinja.nodes import Attribute, Call, Collection, Expression, Filter, Item, Name
from promptls.syntax.jinja.problems import expressions_in, loops_in, uncalled_attributes
from promptls.text.positions import Span
from promptls.text.suggest import is_typo

_IN_PLACE: Final = frozenset({"reverse", "sort"})
"""The methods that change a list, whose names are also filters."""


@rule(severity="warning", kinds=JINJA_KINDS)
@each_chunk
def in_place_method(chunk: Chunk) -> Iterator[Finding]:
    """Yield the calls of methods that return nothing, if a filter or a loop takes their result."""
    used = [(start, node.target) for start, node in expressions_in(chunk) if isinstance(node, Filter)]
    used += [(start, loop.expressions[0]) for start, loop in loops_in(chunk)]
    for start, node in used:
        match node:
            case Call(function=Attribute(name=name) as method, arguments=()) if name in _IN_PLACE:
                replaced = Span(method.target.span.end, node.span.end).shifted(start)
                fix = Fix(f"Change to `| {name}`", (Edit(replaced, f" | {name}"),))
                message = f"`{name}` of a list returns nothing; did you mean the filter `{name}`?"
                yield Finding(method.name_span.shifted(start), message, (fix,))


_COMPLETE: Final = frozenset(
    {
        "capitalize", "casefold", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier",
        "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "lstrip", "rstrip",
        "splitlines", "strip", "swapcase",
    }
)  # fmt: skip
"""Methods of texts that need no argument."""
_METHODS: Final = _COMPLETE | {"endswith", "removeprefix", "removesuffix", "startswith", "zfill"}
_ABOUT_METHODS: Final = frozenset({"callable", "defined", "undefined"})
_MAYBE: Final = frozenset({"lower", "upper"})
"""Methods of texts that may be keys of data."""


@chunk_fact
def _suspicious(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the values with an uncalled method that may be a key, and the places of its name."""
    return tuple(
        (path, node.name_span.shifted(start))
        for start, node in uncalled_attributes(chunk, _MAYBE, _ABOUT_METHODS)
        if (path := _path(node.target))
    )


def _path(node: Expression) -> str:
    """Return a variable, or an attribute of one, as it is written."""
    match node:
        case Name(name=name):
            return name
        case Attribute(target=Name(name=owner), name=name):
            return f"{owner}.{name}"
    return ""


@chunk_fact
def _attributes(chunk: Chunk) -> frozenset[tuple[str, str]]:
    """Return the attributes that tags read, each with the value that has it."""
    return frozenset(
        (path, node.name)
        for _, node in expressions_in(chunk)
        if isinstance(node, Attribute) and (path := _path(node.target))
    )


_suspicious_names: Final = summary(lambda chunk: frozenset(name for name, _ in _suspicious(chunk)), union)
_with_keys: Final = summary(
    lambda chunk: frozenset(path for path, name in _attributes(chunk) if not hasattr(str, name)), union
)
"""The values that have attributes which no text has."""
_read_methods: Final = summary(
    lambda chunk: frozenset(f"{path}.{name}" for path, name in _attributes(chunk) if name in _MAYBE), union
)


@rule(severity="warning", kinds=JINJA_KINDS)
def uncalled_method(file: File) -> Iterator[Finding]:
    """Yield the methods in the file's tags that are not called."""
    yield from _certain(file)
    names = _suspicious_names(file.chunks) - _with_keys(file.chunks)
    names -= file.template.names.bound_names("set") | file.template.names.bound_names("import")
    read = _read_methods(file.chunks)
    names = frozenset(name for name in names if not {f"{name}.{each}" for each in _MAYBE} <= read)
    for located in chunks_with(file.chunks, _suspicious_names, names):
        for name, span in _suspicious(located.chunk):
            if name in names:
                fix = Fix("Insert `()`", (Edit.insert(span.end, "()"),))
                message = "if this is a text, this is the method itself; `()` calls it"
                yield Finding(span, message, (fix,), severity="hint").shifted(located.start)


@each_chunk
def _certain(chunk: Chunk) -> Iterator[Finding]:
    """Yield the methods in the chunk's tags that only texts have, and that are not called."""
    for start, node in uncalled_attributes(chunk, _METHODS, _ABOUT_METHODS):
        span = node.name_span.shifted(start)
        message = "this is the method itself, which is always true; `()` calls it"
        insertion = Fix("Insert `()`", (Edit.insert(span.end, "()"),), preferred=True)
        yield Finding(span, message, (insertion,) if node.name in _COMPLETE else ())


METHODS: Final = frozenset(name for name in dir(dict) if not name.startswith("_"))
"""The methods of all mappings."""
_NO_MAPPINGS: Final = frozenset({"loop", "self", "cycler", "joiner"})
_PAIR: Final = 2


@rule(severity="hint", kinds=JINJA_KINDS)
def dict_method(file: File) -> Iterator[Finding]:
    """Yield the attributes that name a method but are not called, and the pairs with one name."""
    namespaces = namespace_names(file.chunks)
    for finding in _methods_of_mappings(file):
        before = file.template.source.slice(Span(max(finding.span.start - _MAX_OWNER, 0), finding.span.start))
        owner = _OWNER.search(before)
        if owner is None or owner[1] not in namespaces:
            yield finding
    yield from _pairs_with_one_name(file)


_OWNER: Final = re.compile(r"(?<![\w.])(\w+)\.\Z")
_MAX_OWNER: Final = 80
"""The maximum number of characters of a variable's name that is searched."""


@each_chunk_given(lambda file: file.template.declarations)
def _methods_of_mappings(chunk: Chunk, declarations: Declarations) -> Iterator[Finding]:
    """Yield the attributes in the chunk's tags that name a method but are not called."""
    in_loops = {finding.span: finding for finding in _loops(chunk, declarations)}
    yield from in_loops.values()
    yield from (finding for finding in _calls_of_mappings(chunk) if finding.span not in in_loops)
    for start, node in uncalled_attributes(chunk, METHODS, frozenset({"callable"})):
        span = node.name_span.shifted(start)
        if span in in_loops or (isinstance(node.target, Name) and node.target.name in _NO_MAPPINGS):
            continue
        key = Edit(Span(node.target.span.end, node.span.end).shifted(start), f"['{node.name}']")
        is_declared = _is_declared(node, declarations)
        fix = Fix(f"Write `['{node.name}']`", (key,), preferred=is_declared)
        message = f"on a mapping, this is the method `{node.name}`, not the value of the key"
        if is_declared:
            message = (
                f"this is the method `{node.name}` of the mapping, not the key that `input_keys` declares"
            )
        yield Finding(span, message, (fix,), severity="warning" if is_declared else None)


_KEYS: Final = frozenset({"key", "k"})
_VALUES: Final = frozenset({"value", "val", "v"})


def _loops(chunk: Chunk, declarations: Declarations) -> Iterator[Finding]:
    """Yield the loops over pairs of a mapping that do not call `items`, and misspelled methods in loops."""
    mappings = {key.name for key in declarations.inputs if key.schema.get("type") == "object"}
    for start, statement in loops_in(chunk):
        target, source = next(iter(statement.targets), None), statement.expressions[0]
        items = target.items if isinstance(target, Collection) else ()
        names = [item for item in items if isinstance(item, Name)]
        is_pair = len(items) == len(names) == _PAIR
        if isinstance(source, Call) and isinstance(source.function, Attribute) and not source.arguments:
            place = source.function.name_span.shifted(start)
            if source.function.name == "keys" and len(items) == _PAIR:
                fix = Fix.change_to(place, "items", preferred=True)
                message = "`keys()` gives the keys alone; did you mean `items()`?"
                yield Finding(place, message, (fix,), severity="warning")
            if source.function.name == "values" and is_pair and names[0].name in _KEYS:
                fix = Fix.change_to(place, "items")
                message = "`values()` gives the values alone; did you mean `items()`?"
                yield Finding(place, message, (fix,), severity="hint")
            is_of_pairs = source.function.name == "items" and is_pair
            if is_of_pairs and names[0].name in _VALUES and names[1].name in _KEYS:
                yield _swapped(names[0], names[1], start)
        elif isinstance(source, Attribute) and source.name == "items" and len(items) == _PAIR:
            place = source.name_span.shifted(start)
            fix = Fix("Insert `()`", (Edit.insert(place.end, "()"),), preferred=True)
            message = "this loop needs the keys and values of the mapping; did you mean `items()`?"
            yield Finding(place, message, (fix,), severity="warning")
        elif isinstance(source, Name | Attribute) and source.name not in METHODS and is_pair:
            place = source.span.shifted(start)
            is_declared = isinstance(source, Name) and source.name in mappings
            if is_declared or (names[0].name in _KEYS and names[1].name in _VALUES):
                fix = Fix("Add `.items()`", (Edit.insert(place.end, ".items()"),))
                message = "a loop over a mapping gives its keys alone; `.items()` gives pairs"
                yield Finding(place, message, (fix,), severity="warning" if is_declared else None)


@chunk_fact
def _one_name(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the only variables of loops over `items()`, with their places."""
    found = []
    for start, statement in loops_in(chunk):
        match statement.targets, statement.expressions[0]:
            case (Name() as target,), Call(function=Attribute(name="items"), arguments=()):
                found.append((target.name, target.span.shifted(start)))
    return tuple(found)


def _pairs_with_one_name(file: File) -> Iterator[Finding]:
    """Yield the variables of loops over `items()` that are printed as pairs or never read."""
    source = file.template.source
    for located, (name, place) in items_in(file.chunks, _one_name):
        span = place.shifted(located.start)
        references = file.template.names.references_of(name)
        read = [each.span for each in references if each.binding and each.binding.span == span]
        is_printed = any(
            _BEGIN.search(source.slice(Span(max(each.start - 4, 0), each.start)))
            and _END.match(source.slice(Span(each.end, each.end + 4)))
            for each in read
        )
        if is_printed or (not read and not name.startswith("_")):
            message = "`items()` gives pairs of a key and a value, but this is one name"
            names = f"{name}, value" if name in _KEYS else f"key, {name}"
            yield Finding(span, message, (Fix.change_to(span, names),))


_BEGIN: Final = re.compile(r"\{\{[-+]?\s*$")
_END: Final = re.compile(r"\s*[-+]?\}\}")


def _swapped(value: Name, key: Name, start: int) -> Finding:
    """Return the finding for `for value, key in order.items()`."""
    edits = (Edit(value.span.shifted(start), key.name), Edit(key.span.shifted(start), value.name))
    message = f"`items()` gives the key first, so `{value.name}` is the key here"
    place = Span(value.span.start, key.span.end).shifted(start)
    return Finding(place, message, (Fix(f"Change to `{key.name}, {value.name}`", edits),), severity="warning")


_VIEWS: Final = ("items", "keys", "values")


def _calls_of_mappings(chunk: Chunk) -> Iterator[Finding]:
    """Yield views that are indexed, and typos of a view that the chunk reads of the same value."""
    calls = [
        (start, node.function)
        for start, node in expressions_in(chunk)
        if isinstance(node, Call) and isinstance(node.function, Attribute) and not node.arguments
    ]
    if not calls:
        return
    known = {(_path(method.target), method.name) for _, method in calls if method.name in _VIEWS}
    loops = {start for start, _ in loops_in(chunk)}
    for start, method in calls:
        meant = next((each for each in _VIEWS if is_typo(method.name, each)), "")
        if method.name not in _VIEWS and meant and (start in loops or (_path(method.target), meant) in known):
            message = f"a mapping has no method `{method.name}`"
            span = method.name_span.shifted(start)
            yield Finding.suggest(span, message, meant, preferred=True, severity="warning")
    for start, node in expressions_in(chunk):
        match node:
            case Item(target=Call(function=Attribute(name=name) as method, arguments=()) as call):
                if name in _VIEWS:
                    span = call.span.shifted(start)
                    edits = (Edit.insert(span.start, "("), Edit.insert(span.end, " | list)"))
                    message = f"of a mapping, `{name}()` is no list: this is undefined"
                    fix = Fix("Make it a list", edits)
                    yield Finding(method.name_span.shifted(start), message, (fix,), severity="warning")


def _is_declared(node: Attribute, declarations: Declarations) -> bool:
    if not isinstance(node.target, Name):
        return False
    for key in declarations.inputs:
        properties = key.schema.get("properties")
        if key.name == node.target.name and isinstance(properties, dict):
            return node.name in properties
    return False
