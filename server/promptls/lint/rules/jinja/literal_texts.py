"""Texts in tags that lack quotes, or a comma between them.

# unquoted-text

Variable where a text is probably meant.

Reports an unquoted word where a text is probably meant:

- a role next to `==` or `!=`, as in `message.role == user`;
- a word that is compared with a value such as a `type` or `status`, or that is a value in a sample or a declared `enum`;
- a key in brackets, as in `message[role]`, if the file has that key elsewhere, if the same value has other
  keys and this is a usual key of a message, or if the value is a loop's variable and a label such as `role:`
  is in front of the tag;
- the attribute that a filter reads, as in `sort(attribute=time)` and `selectattr(enabled)`;
- a role in a conditional whose other branch is a role, as in `"user" if is_first else assistant`;
- a word with a capital as the other choice of a value, as in `language or English` and `language | default(English)`.

A word with a capital, one that is compared with the result of a function, any other key of a loop's variable, and a key in
braces, as in `{id: x}`, is a hint. Also reports `== defined`. In a file that others include, only roles and
compared values are reported. Nothing is reported for a variable that the file binds, declares or uses in any
other way, or that a Python call passes.

## Why is this bad?

Jinja reads the word as a variable. It is undefined, so the comparison is never true, or the key is never
found, and the prompt loses text.

## Example

```yaml
{% for message in messages if message.role == user %}
                                              ^^^^ unquoted-text: Jinja reads `user` as a variable; did you mean `'user'`?
- name: message
  role: user
  content: |
    {{ message.text | string | indent(4) }}
{% endfor %}
```

Use instead:

```yaml
{% for message in messages if message.role == 'user' %}
- name: message
  role: user
  content: |
    {{ message.text | string | indent(4) }}
{% endfor %}
```

# missing-comma

Two texts without a comma between them.

Reports texts that follow each other in a list or mapping without a comma; on one line, also elsewhere, as a
hint.

## Why is this bad?

Jinja joins them, as Python does: the list has one option less, and one that nobody meant.

## Example

```yaml
{% if tone in ["formal" "casual"] %}
                        ^^^^^^^^ missing-comma: expected a comma: Jinja joins this text with the one before it, to `"formalcasual"`
- name: tone
  content: Write in a {{ tone }} tone.
{% endif %}
```

Use instead:

```yaml
{% if tone in ["formal", "casual"] %}
- name: tone
  content: Write in a {{ tone }} tone.
{% endif %}
```
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from promptls.dialects.prompt_poet.vocabulary import ROLES
from promptls.lint.analysis.unmatched_names import samples_of, without_source
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, Severity, each_chunk, rule
from promptls.semantic.names.file_names import FileNames
from promptls.syntax.chunk import Chunk, Located, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Conditional,
    Constant,
    Expression,
    Filter,
    Item,
    Keyword,
    Missing,
    Name,
    Operation,
    children,
)
from promptls.syntax.jinja.problems import expressions_in
from promptls.syntax.jinja.tag_tokens import tokenize
from promptls.text.positions import Span
from promptls.text.suggest import is_typo
from promptls.workspace.contract import calls_to, include_chains

_Use: TypeAlias = Literal[
    "role", "value", "result", "compared", "test", "key", "inner key", "dict key", "attribute", "choice"
]


class _Ambiguous(NamedTuple):
    """A name, where it is read, and what for; for a key, the name in front of the bracket."""

    name: str
    span: Span
    use: _Use
    owner: str = ""


_ENUMERATIONS: Final = frozenset(
    {
        "category", "channel", "format", "gender", "kind", "lang", "language", "level", "locale", "modality",
        "mode", "priority", "sentiment", "severity", "stage", "state", "status", "style", "tone", "type",
    }
)  # fmt: skip
"""Names of values that are one of a few words."""
_CHAT_KEYS: Final = frozenset({"author", "content", "name", "role", "sender", "text"})
"""The usual keys of a message."""
_CONSTANTS: Final = ("true", "false", "none")
_EQUAL: Final = frozenset({("==",), ("!=",)})
_TEST: Final = "defined"


@chunk_fact
def _ambiguous(chunk: Chunk) -> tuple[_Ambiguous, ...]:
    """Return the names that are compared with another value, or used as a key."""
    found: list[_Ambiguous] = []
    for start, node in expressions_in(chunk):
        if isinstance(node, Operation) and node.operators in _EQUAL:
            for one, other in (node.operands, node.operands[::-1]):
                if isinstance(one, Name) and _is_role(other):
                    found.append(_Ambiguous(one.name, one.span.shifted(start), "role"))
            other, one = node.operands
            if isinstance(one, Name) and not _is_role(other) and _last_name(other) in _ENUMERATIONS:
                found.append(_Ambiguous(one.name, one.span.shifted(start), "value"))
            elif isinstance(one, Name) and one.name == _TEST:
                sign = Span(other.span.end, one.span.end).shifted(start)
                found.append(_Ambiguous(one.name, sign, "test", node.operators[0]))
            elif isinstance(one, Name) and isinstance(other, Call):
                found.append(_Ambiguous(one.name, one.span.shifted(start), "result"))
            elif isinstance(one, Name) and isinstance(other, Name | Attribute | Item):
                found.append(_Ambiguous(one.name, one.span.shifted(start), "compared"))
        elif isinstance(node, Collection) and node.kind == "dict":
            pairs = zip(node.items[::2], node.items[1::2], strict=False)
            keys = [key for key, value in pairs if isinstance(key, Name) and not isinstance(value, Missing)]
            found += [_Ambiguous(key.name, key.span.shifted(start), "dict key") for key in keys]
        elif isinstance(node, Item) and isinstance(node.key, Name):
            found.append(_as_key(start, node, node.key))
        else:
            found += _beside_texts(start, node)
    return tuple(found)


def _as_key(start: int, node: Item, key: Name) -> _Ambiguous:
    span = key.span.shifted(start)
    if isinstance(node.target, Attribute):
        return _Ambiguous(key.name, span, "inner key", node.target.name)
    return _Ambiguous(key.name, span, "key", node.target.name if isinstance(node.target, Name) else "")


def _beside_texts(start: int, node: Expression) -> Iterator[_Ambiguous]:
    """Yield the name that a filter takes as an attribute, or one that a conditional has beside a role."""
    attribute = _attribute_of(node) if isinstance(node, Filter) else None
    if attribute is not None:
        yield _Ambiguous(attribute.name, attribute.span.shifted(start), "attribute")
    other = _other_choice(node)
    if isinstance(other, Name) and _CAPITALIZED.fullmatch(other.name):
        yield _Ambiguous(other.name, other.span.shifted(start), "choice")
    branches = (node.then, node.otherwise) if isinstance(node, Conditional) else ()
    if any(isinstance(each, Constant) and each.value in ROLES for each in branches):
        for each in branches:
            if isinstance(each, Name):
                yield _Ambiguous(each.name, each.span.shifted(start), "role")


_CAPITALIZED: Final = re.compile(r"[A-Z][a-z]+")


def _other_choice(node: Expression) -> Expression | None:
    """Return the value that an expression has in place of an empty or undefined one."""
    match node:
        case Operation(operators=("or", *_), operands=(Name() | Attribute() | Item(), *_, other)):
            return other
        case Filter(name="default" | "d", arguments=(other, *_)):
            return other
    return None


_BY_ATTRIBUTE: Final = frozenset({"groupby", "max", "map", "min", "sort", "sum", "unique"})
"""The filters that take the name of an attribute as `attribute`."""


def _attribute_of(node: Filter) -> Name | None:
    """Return the variable that a filter takes as the name of an attribute."""
    placed = node.name in {"groupby", "rejectattr", "selectattr"} and node.arguments
    if placed and isinstance(node.arguments[0], Name):
        return node.arguments[0]
    given = (each.value for each in node.arguments if isinstance(each, Keyword) and each.name == "attribute")
    value = next(given, None) if node.name in _BY_ATTRIBUTE else None
    return value if isinstance(value, Name) else None


def _last_name(node: object) -> str | None:
    """Return the last name of a path, such as `type` of `message.type`."""
    if isinstance(node, Name | Attribute):
        return node.name.rpartition("_")[2]
    if isinstance(node, Item) and isinstance(node.key, Constant):
        return str(node.key.value)
    return None


def _is_role(node: object) -> bool:
    if isinstance(node, Attribute):
        return node.name == "role"
    if isinstance(node, Item):
        return isinstance(node.key, Constant) and node.key.value == "role"
    return isinstance(node, Name) and node.name == "role"


_names: Final = summary(lambda chunk: frozenset(each.name for each in _ambiguous(chunk)), union)


def _keys(chunk: Chunk) -> Iterator[str]:
    """Yield the attributes and literal keys that the chunk's tags read."""
    for _, node in expressions_in(chunk):
        if isinstance(node, Attribute):
            yield node.name
        elif isinstance(node, Item) and isinstance(node.key, Constant):
            yield str(node.key.value)


_attributes: Final = summary(lambda chunk: frozenset(_keys(chunk)), union)
_owners: Final = summary(
    lambda chunk: frozenset(
        node.target.name
        for _, node in expressions_in(chunk)
        if isinstance(node, Attribute) and isinstance(node.target, Name) and not hasattr(dict, node.name)
    ),
    union,
)
"""The names whose attributes are read."""


def _pairs(chunk: Chunk) -> Iterator[str]:
    """Yield the attributes and literal keys of the chunk's tags after the attribute in front of each: `a.b`."""
    for _, node in expressions_in(chunk):
        if isinstance(node, Attribute | Item) and isinstance(node.target, Attribute):
            if isinstance(node, Attribute):
                yield f"{node.target.name}.{node.name}"
            elif isinstance(node.key, Constant):
                yield f"{node.target.name}.{node.key.value}"


_pairs_of: Final = summary(lambda chunk: frozenset(_pairs(chunk)), union)


@rule(severity="warning", kinds=JINJA_KINDS)
def unquoted_text(file: File) -> Iterator[Finding]:
    """Yield the variables in the place of a role or key."""
    names = file.template.names
    suspicious = _names(file.chunks) & names.input_names - names.all_bound_names
    is_included = bool(file.snapshot.includers(file.path))
    if is_included:
        chains = include_chains(file.snapshot, file.path)
        suspicious -= {
            key for each in chains for call in calls_to(file.snapshot, each.entry) for key in call.keys
        }
    suspicious = without_source(file, suspicious)
    for located in file.chunks.where(_names) if suspicious else ():
        for each in _ambiguous(located.chunk):
            if each.name not in suspicious:
                continue
            if each.use == "test":
                yield _as_test(each.span, each.owner).shifted(located.start)
            elif each.use in {"role", "value"} or not is_included:
                yield from _as_text(file, located, each)


def _as_text(file: File, located: Located, each: _Ambiguous) -> Iterator[Finding]:
    """Yield the finding for a variable that is probably meant as a text."""
    is_likely = _is_likely(file, located.chunk, each)
    is_possible = (
        is_likely or each.use in {"attribute", "choice", "dict key"} or _is_key_of_element(file, each)
    )
    if is_possible and _has_no_other_use(file, file.template.names, each.name):
        constant = next((known for known in _CONSTANTS if is_typo(each.name, known)), None)
        message = f"Jinja reads `{each.name}` as a variable"
        severity: Severity | None = "hint" if each.use == "result" or not is_likely else None
        finding = Finding.suggest(each.span, message, constant or f"'{each.name}'", severity=severity)
        yield finding.shifted(located.start)


def _is_likely(file: File, chunk: Chunk, each: _Ambiguous) -> bool:
    """Return whether the text is one that its place is likely to have."""
    match each.use:
        case "value" | "result":
            return True
        case "compared":
            data = [
                *(sample.data for sample in samples_of(file)),
                *_enums(file.template.declarations.schemas),
            ]
            return any(each.name in _texts(value) for value in data)
        case "inner key":
            return f"{each.owner}.{each.name}" in _pairs_of(file.chunks)
        case "dict key" | "attribute":
            return each.name in _attributes(file.chunks)
        case "key":
            return (
                each.name in _attributes(file.chunks)
                or (each.name in _CHAT_KEYS and each.owner in _owners(file.chunks))
                or (_is_key_of_element(file, each) and _is_labeled(chunk.text, each.name, each.span))
            )
    return each.name in file.project.roles


def _is_key_of_element(file: File, each: _Ambiguous) -> bool:
    """Return whether the variable is a key of an element that a loop iterates over."""
    return each.use == "key" and each.owner in file.template.names.bound_names("for")


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in the data of a sample."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _enums(schema: object) -> Iterator[object]:
    for key, value in schema.items() if isinstance(schema, Mapping) else ():
        if key == "enum":
            yield value
        else:
            yield from _enums(value)


def _as_test(span: Span, operator: str) -> Finding:
    """Return the finding for `== defined`, which is true of what is not defined."""
    meant = "is defined" if operator == "==" else "is not defined"
    fix = Fix(f"Change to `{meant}`", (Edit(span, f" {meant}"),))
    return Finding(span, f"`defined` is a test; did you mean `{meant}`?", (fix,))


def _is_labeled(text: str, name: str, span: Span) -> bool:
    """Return whether the text of the line before a tag ends with a label of the same name: `tokens: `."""
    line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    label = line.rpartition("{{")[0].rstrip().rstrip("\"'").rstrip()
    words = label.removesuffix(":").removesuffix("=").split()
    return label != "" and label[-1] in ":=" and words[-1:] != [] and words[-1].casefold() == name.casefold()


def _has_no_other_use(file: File, names: FileNames, name: str) -> bool:
    places = {
        span.shifted(located.start)
        for located in file.chunks.where(_names)
        for other, span, *_ in _ambiguous(located.chunk)
        if other == name
    }
    return all(reference.span in places for reference in names.references_of(name))


@rule(severity="warning", kinds=JINJA_KINDS)
@each_chunk
def missing_comma(chunk: Chunk) -> Iterator[Finding]:
    """Yield the places between texts that Jinja joins."""
    in_collections: set[Span] = set()
    arguments: set[Span] = set()
    for start, node in expressions_in(chunk):
        if isinstance(node, Collection):
            in_collections |= {each.span.shifted(start) for each in children(node)}
        if isinstance(node, Call | Filter):
            arguments |= {each.span.shifted(start) for each in node.arguments}
        if not isinstance(node, Constant) or not isinstance(node.value, str):
            continue
        span = node.span.shifted(start)
        tokens = tokenize(chunk.text, span.start, span.end)[:-1]
        for first, second in pairwise(tokens):
            is_item = span in in_collections
            if not is_item and "\n" in chunk.text[first.end : second.start]:
                continue
            joined = json.dumps(node.value, ensure_ascii=False)
            message = f"expected a comma: Jinja joins this text with the one before it, to `{joined}`"
            at = Span(second.start, second.end)
            fix = Fix("Insert a comma", (Edit.insert(first.end, ","),))
            if is_item:
                yield Finding(at, message, (fix,))
            else:
                yield Finding(at, message, (fix,) if span in arguments else (), severity="hint")
