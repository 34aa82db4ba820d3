"""Uses of a value that do not fit its type, or one another.

# mismatched-operands

Operator between a text and a number.

Reports `+`, `<`, `<=`, `>` and `>=` between a text and a number, and `==` or `!=` between a text and a number that is computed.
Only values whose types are known count: constants, attributes of `loop`, filters such as `length`, and variables that
the file sets to one of these.

## Why is this bad?

Python neither adds a number to a text nor orders them: rendering fails with a `TypeError`. `~` joins any two values
as text. A number never equals a text, so the condition always has the same result.

## Example

```yaml
{% for message in messages %}
- name: "{{ 'message ' + loop.index }}"
            ^^^^^^^^^^^^^^^^^^^^^^^ mismatched-operands: `+` cannot add a number to a text; did you mean `~`?
  content: |
    {{ escape_special_characters(message) }}
{% endfor %}
```

Use instead:

```yaml
{% for message in messages %}
- name: "{{ 'message ' ~ loop.index }}"
  content: |
    {{ escape_special_characters(message) }}
{% endfor %}
```

# contradicting-uses

Input used with incompatible types.

Compares the uses of each input, and of the values under its keys, if one use is never reached without
the other: a method of texts together with arithmetic, a call, or a method of mappings or lists. Uses in
branches that exclude each other, and inputs whose type the template itself tests, are not reported. A
mapping or a loop together with arithmetic is a hint: no JSON value supports both, but objects of some
libraries do.

## Why is this bad?

Rendering fails for every value of the input.

## Example

```yaml
- name: ticket
  content: |
    {{ count.strip() }} of {{ count + 1 }}
                              ^^^^^ contradicting-uses: `count` is used as a number here, and as a text (`.strip`) elsewhere: no value is both
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ count }} of {{ count + 1 }}
```

# partial-filter

Filter of the last operand only.

Reports `round` after a product, quotient, sum or difference, and a filter of numbers or texts after a constant
that is the last operand of an operator, such as `join` after a list that is added. In parentheses, nothing is reported.

## Why is this bad?

A filter binds more tightly than an operator: it changes the last operand, and not the result.

## Example

```yaml
- name: progress
  content: |
    {{ done / total * 100 | round }} % are done.
                            ^^^^^ partial-filter: a filter binds more tightly than `*`: this one applies to `100` only
```

Use instead:

```yaml
- name: progress
  content: |
    {{ (done / total * 100) | round }} % are done.
```

# iterated-text

Loop or list filter over a text or a number.

Reports loops, and filters of lists such as `sort`, after a filter that returns a text, such as `join`. It is a hint
for an input that is declared as a string, and for a variable that is set to a text with commas. As
an error, reports loops and filters of lists or texts, such as `length`, of a number.

## Why is this bad?

A text is a sequence of characters: the loop runs once for each letter, and `sort` sorts letters.
A number has neither elements nor a length: rendering fails with a `TypeError`.

## Example

```yaml
- name: names
  content: |
    {{ names | join(", ") | sort }}
                            ^^^^ iterated-text: `join` returns a text: `sort` works on its characters
```

Use instead:

```yaml
- name: names
  content: |
    {{ names | sort | join(", ") }}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from markupsafe import Markup

from promptls.lint.analysis.declared_types import path_text
from promptls.lint.analysis.literal_types import NUMBERS, type_of, types_of_variables
from promptls.lint.rule import (
    JINJA_KINDS,
    PARTS_KINDS,
    Edit,
    File,
    Finding,
    Fix,
    RelatedInformation,
    each_chunk,
    each_chunk_given,
    rule,
)
from promptls.semantic.flow.shapes import CertainUse, certain_uses, used_shapes
from promptls.semantic.flow.uses import TEXT_FILTERS
from promptls.semantic.names.template_names import statement_at
from promptls.semantic.types.shape import Shape
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Attribute, Collection, Constant, Expression, Filter, Name, Operation
from promptls.syntax.jinja.problems import expressions_in, loops_in
from promptls.text.positions import Span

_ORDERS: Final = frozenset({"<", "<=", ">", ">="})


@rule(severity="error", kinds=JINJA_KINDS)
@each_chunk_given(types_of_variables)
def mismatched_operands(chunk: Chunk, variables: Mapping[str, type]) -> Iterator[Finding]:
    """Yield the additions and comparisons of a text and a number."""
    for start, node in expressions_in(chunk):
        if not isinstance(node, Operation):
            continue
        known = [type_of(each, variables.get) for each in node.operands]
        for operator, (left, right), pair in zip(
            node.operators, pairwise(node.operands), pairwise(known), strict=False
        ):
            if Markup not in pair or NUMBERS.isdisjoint(pair):
                continue
            text, number = (left, right) if pair[0] is Markup else (right, left)
            if operator == "+":
                # The span of the whole operation includes the parentheses around its operands.
                begin = node.span.start if left is node.operands[0] else left.span.start
                end = node.span.end if right is node.operands[-1] else right.span.end
                between = Span(left.span.end, right.span.start).shifted(start)
                yield _sum(chunk, Span(begin, end).shifted(start), between)
            elif operator in _ORDERS or (operator in {"==", "!="} and not isinstance(number, Constant)):
                yield _comparison(text, number, operator).shifted(start)


_OF_CONSTANTS: Final = frozenset(
    {"abs", "capitalize", "count", "float", "int", "length", "lower", "round", "title", "trim", "upper"}
)
"""The filters that nobody applies to a constant."""


@rule(severity="warning", kinds=JINJA_KINDS)
@each_chunk
def partial_filter(chunk: Chunk) -> Iterator[Finding]:
    """Yield the filters of last operands that are meant for the result of an operator."""
    for start, node in expressions_in(chunk):
        if not isinstance(node, Operation) or not {"*", "/", "//", "+", "-", "~"}.issuperset(node.operators):
            continue
        *others, last = node.operands
        if not others or not isinstance(last, Filter) or last.target is None:
            continue
        is_rounded = last.name == "round" and "~" not in node.operators
        is_constant = isinstance(last.target, Constant) and last.name in _OF_CONSTANTS
        between = Span(others[-1].span.end, last.target.span.start).shifted(start)
        is_list = isinstance(last.target, Collection) and last.name in _OF_LISTS | {"join"}
        if not (is_rounded or is_constant or (is_list and {*node.operators} == {"+"})) or "(" in chunk.slice(
            between
        ):
            continue
        if any(isinstance(each, Filter) and each.name in _OF_CONSTANTS for each in others):
            continue  # each operand has its filter
        target = last.target.span.shifted(start)
        edits = (Edit.insert(node.span.start + start, "("), Edit.insert(target.end, ")"))
        operator, written = node.operators[-1], chunk.slice(target)
        message = f"a filter binds more tightly than `{operator}`: this one applies to `{written}` only"
        yield Finding(last.name_span.shifted(start), message, (Fix("Filter the result", edits),))


def _sum(chunk: Chunk, span: Span, between: Span) -> Finding:
    place = chunk.text.find("+", between.start, between.end)
    fixes = (Fix.change_to(Span(place, place + 1), "~"),) if place >= 0 else ()
    return Finding(span, "`+` cannot add a number to a text; did you mean `~`?", fixes)


def _comparison(text: Expression, number: Expression, operator: str) -> Finding:
    value = str(text.value) if isinstance(text, Constant) else ""
    fix = Fix.change_to(text.span, value)
    what = "a number of the loop" if isinstance(number, Attribute) else "a number"
    message = f"{what} never equals a text"
    if operator in _ORDERS:
        message = f"`{operator}` cannot compare a number with a text"
    return Finding(text.span, message, (fix,) if value.isdigit() else ())


_KINDS: Final = {"text": "text", "number": "number", "mapping": "mapping", "called": "function",
                 "iterated": "list"}  # fmt: skip
"""The kinds that a use requires of a value, by `Use.need`."""
_METHODS: Final = {
    "mapping": frozenset({"items", "keys", "values"}),
    "list": frozenset({"append", "extend"}),
    "text": frozenset(
        {"capitalize", "endswith", "isdigit", "lower", "lstrip", "removeprefix", "removesuffix", "rstrip",
         "splitlines", "startswith", "strip", "title", "upper", "zfill"}
    ),
}  # fmt: skip
"""Methods that only values of one kind have."""
_NEVER_BOTH: Final = {
    frozenset({"text", "number"}): "",
    frozenset({"text", "mapping"}): "",
    frozenset({"text", "function"}): "",
    frozenset({"text", "list"}): "",
    frozenset({"number", "mapping"}): "JSON ",
    frozenset({"number", "list"}): "JSON ",
}
"""The pairs of kinds that no value has at once; with "JSON ", a data frame or similar object may."""


@rule(severity="warning", kinds=PARTS_KINDS)
def contradicting_uses(file: File) -> Iterator[Finding]:
    """Yield the uses that contradict an earlier one, at most one for each value."""
    declared = {key.name for key in file.template.declarations.inputs if "type" in key.schema}
    shapes = used_shapes(file.template)
    suspicious = {name for name, shape in shapes.items() if name not in declared and _is_suspicious(shape)}
    if not suspicious:
        return
    known: dict[tuple[object, ...], list[CertainUse]] = {}
    reported = set()
    for each in certain_uses(file.template):
        path_keys = each.use.keys
        if (
            path_keys[0] not in suspicious
            or path_keys in reported
            or _is_tested(shapes[str(path_keys[0])], path_keys[1:])
        ):
            continue
        earlier = known.setdefault(path_keys, [])
        found = next((finding for other in earlier for finding in _contradiction(file, each, other)), None)
        if found is not None:
            reported.add(path_keys)
            yield found
        earlier.append(each)


def _is_suspicious(shape: Shape) -> bool:
    """Return whether the uses of a value, or of something in it, match no single kind."""
    if shape.kind == "union":
        return True
    return any(_is_suspicious(below) for _, below in shape.keys)


def _is_tested(shape: Shape, keys: tuple[object, ...]) -> bool:
    """Return whether the template tests the type of a value or its container, or their types are unknown."""
    below: Shape | None = shape
    for key in (*keys, None):
        if below is None or below.tested or below.kind == "any":
            return True
        below = below.key(str(key)) if key is not None else below
    return False


def _contradiction(file: File, use: CertainUse, other: CertainUse) -> Iterator[Finding]:
    """Yield the conflict of two uses of a value if neither is reached without the other."""
    kinds = [_kind(use.use.need), _kind(other.use.need)]
    shared = min(len(use.blocks), len(other.blocks))
    library = _NEVER_BOTH.get(frozenset(filter(None, kinds)))
    if library is None or None in kinds or use.blocks[:shared] != other.blocks[:shared]:
        return
    if "list" in kinds and not library and "iterated" in {use.use.need, other.use.need}:
        return  # a text can be iterated over
    starts = [each.use.span.start for each in (use, other)]
    before = {file.template.source.slice(Span(max(0, each - len("range(")), each)) for each in starts}
    if "list" in kinds and "range(" in before:
        return  # `wrong-arguments` reports it
    here, there = (
        f"a {kind}{_method(each.use.need)}" for kind, each in zip(kinds, (use, other), strict=True)
    )
    name = path_text(use.use.path)
    message = f"`{name}` is used as {here} here, and as {there} elsewhere: no {library}value is both"
    related = RelatedInformation(file.path, other.use.span, f"here it is used as {there}")
    yield Finding(use.use.span, message, related=(related,), severity="hint" if library else None)


def _kind(need: str) -> str | None:
    if not need.startswith("."):
        return _KINDS.get(need)
    return next((kind for kind, methods in _METHODS.items() if need[1:] in methods), None)


def _method(need: str) -> str:
    return f" (`{need}`)" if need.startswith(".") else ""


_OF_LISTS: Final = frozenset(
    {
        "batch", "groupby", "map", "max", "min", "reject", "rejectattr", "select", "selectattr",
        "slice", "sort", "sum",
    }
)  # fmt: skip
"""The filters of lists, which take a text for a list of characters."""


_OF_SEQUENCES: Final = _OF_LISTS | {
    "count",
    "first",
    "join",
    "last",
    "length",
    "list",
    "random",
    "reverse",
    "unique",
}
"""The filters that fail on a number."""


def _types_and_texts(file: File) -> tuple[dict[str, type], frozenset[str]]:
    """Return the types of variables that the file sets, and the inputs and variables that are texts.

    A text that the file sets has a comma: others may be meant as a list of characters.
    """
    inputs, names = file.template.declarations.inputs, file.template.names
    texts = {key.name for key in inputs if key.schema.get("type") == "string"} - names.all_bound_names
    types = types_of_variables(file)
    for binding in names.bindings_of("set") if Markup in types.values() else ():
        statement = statement_at(file.template, binding.span.start)
        match statement.expressions if statement is not None else ():
            case (Constant(value=str() as text),) if "," in text and types.get(binding.name) is Markup:
                texts.add(binding.name)
    return types, frozenset(texts)


@rule(severity="warning", kinds=JINJA_KINDS)
@each_chunk_given(_types_and_texts)
def iterated_text(chunk: Chunk, known: tuple[dict[str, type], frozenset[str]]) -> Iterator[Finding]:
    """Yield the filters of lists and the loops whose value is a text, by its filter or declaration, or a number."""
    variables, texts = known
    for start, node in expressions_in(chunk):
        match node:
            case Filter(name=name, target=Name(name=text) as target) if (
                text in texts and name in _OF_LISTS | {"join"}
            ):
                message = f"`{text}` is a text: `{name}` works on its characters"
                yield Finding(target.span.shifted(start), message, severity="hint")
            case Filter(name=name, target=Filter(name=inner)) if name in _OF_LISTS and inner in TEXT_FILTERS:
                message = f"`{inner}` returns a text: `{name}` works on its characters"
                yield Finding(node.name_span.shifted(start), message)
            case Filter(name=name, target=target) if name in _OF_SEQUENCES and target is not None:
                if type_of(target, variables.get) in NUMBERS:
                    message = f"`{name}` takes a list or a text, and this is a number"
                    yield Finding(target.span.shifted(start), message, severity="error")
    for start, loop in loops_in(chunk):
        source = loop.expressions[0]
        if isinstance(source, Filter) and source.name in TEXT_FILTERS:
            message = f"`{source.name}` returns a text: the loop is over its characters"
            yield Finding(source.name_span.shifted(start), message)
        elif isinstance(source, Name) and source.name in texts:
            message = f"`{source.name}` is a text: the loop is over its characters"
            yield Finding(source.span.shifted(start), message, severity="hint")
        elif type_of(source, variables.get) in NUMBERS:
            yield _counting(source.span.shifted(start))


def _counting(span: Span) -> Finding:
    """Return the finding for a loop over a number."""
    edits = (Edit.insert(span.start, "range("), Edit.insert(span.end, ")"))
    fix = Fix("Count with `range`", edits, preferred=True)
    message = "a loop needs a list, and this is a number; did you mean `range(…)`?"
    return Finding(span, message, (fix,), severity="error")
