"""Example outputs with different structures.

## What it does

Reports an example whose output has a different type than that of the first example, or is a mapping with
different keys. Inside of outputs, and for outputs that are JSON, reports a single number in quotes among
numbers without; any other text among three or more numbers is a hint, and so is a text where other outputs
have a list. There, it also reports a key that is a typo of one that all others have.

## Why is this bad?

The model cannot tell which form of output is expected.

## Example

```yaml
{#---
input_keys: [text]
output_key: response
examples:
  - {text: Where is my order?, response: {label: Shipping}}
  - {text: My card was charged twice., response: {labels: [Billing]}}
                                                 ^^^^^^^^^^^^^^^^^^^ inconsistent-example-outputs: the output of example 2 has the keys `labels`; that of example 1 has the keys `label`
---#}
- name: ticket
  content: |
    {{ text }}
```

Use instead:

```yaml
{#---
input_keys: [text]
output_key: response
examples:
  - {text: Where is my order?, response: {label: Shipping}}
  - {text: My card was charged twice., response: {label: Billing}}
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from promptls.dialects.ragas.odd_keys import Keys, keys_in, odd_keys
from promptls.lint.rule import DECLARING_KINDS, File, Finding, Rule
from promptls.semantic.header import Example, example_fact
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, key_text, node_at
from promptls.text.errors import parse_json
from promptls.text.positions import Span


def check(file: File) -> Iterator[Finding]:
    """Yield the outputs whose form differs from that of the first output."""
    data = file.template.declarations.data
    output = data.get("output_key")
    if not isinstance(output, str):
        return
    is_json = str(data.get("output_type", "")).lower() == "json"
    schema = data.get("output_schema")
    has_schema = (
        isinstance(schema, dict) and "properties" in schema
    )  # `invalid-example-output` checks the keys
    first, first_number = None, 0
    for example in file.template.declarations.examples:
        form = _output_form(example, output, is_json)
        if form is None or (is_json and form == "text"):
            continue  # `invalid-example-output` reports invalid JSON
        if first is None:
            first, first_number = form, example.number
        elif form != first and not (has_schema and {form[:8], first[:8]} == {"the keys"}):
            entry = next(entry for entry in example.entries if key_text(entry) == output)
            message = f"the output of example {example.number} has {form}; that of example {first_number} has {first}"
            yield Finding(entry.value.span, message)
    if not has_schema:
        yield from _odd_texts(file, output, is_json=is_json)
        yield from _odd_keys(file, output)


_MIN_OTHERS: Final = 3
"""The minimum number of values in the same place that make a different one an exception."""
_MIN_NUMBERS: Final = 2
"""The minimum number of numbers in the same place that make a number in quotes an exception."""
_MAX_DEPTH: Final = 10


class _Leaf(NamedTuple):
    """A text, number or list in an output: its path, and the same path with None for each index."""

    path: tuple[str | int, ...]
    place: tuple[str | None, ...]
    value: str | float | None
    """None for a list."""


def _odd_texts(file: File, output: str, *, is_json: bool) -> Iterator[Finding]:
    """Yield the only text in a place of the outputs where all others are numbers, or lists."""
    found: dict[tuple[str | None, ...], list[tuple[Example, _Leaf]]] = {}
    for example in file.template.declarations.examples:
        for leaf in _leaves_of_output(example, output, is_json):
            found.setdefault(leaf.place, []).append((example, leaf))
    for leaves in found.values():
        texts = [(example, leaf) for example, leaf in leaves if isinstance(leaf.value, str)]
        lists = sum(leaf.value is None for _, leaf in leaves)
        others = len(leaves) - 1
        if len(texts) != 1 or not others or lists not in {0, others}:
            continue
        example, leaf = texts[0]
        is_number = not lists and isinstance(leaf.value, str) and leaf.value.strip().isdecimal()
        if not lists and others < (_MIN_NUMBERS if is_number else _MIN_OTHERS):
            continue
        entry = next(entry for entry in example.entries if key_text(entry) == output)
        named = next((key for key in reversed(leaf.path) if isinstance(key, str)), output)
        message = f"`{named}` is a text here, and a {'list' if lists else 'number'} in all other outputs"
        is_sure = is_number or lists >= _MIN_OTHERS
        yield Finding(_node_in(entry.value, leaf.path).span, message, severity=None if is_sure else "hint")


def _node_in(node: Node, path: tuple[str | int, ...]) -> Node:
    """Return the node at a path; the whole text if the output is JSON in a text."""
    return node if isinstance(node, Scalar) else node_at(node, path)


def _odd_keys(file: File, output: str) -> Iterator[Finding]:
    """Yield the keys of a mapping inside of the outputs that are typos of a key of all others in its place."""
    examples = file.template.declarations.examples
    found = [(example, keys) for example in examples for keys in _keys_of_output(example, output)]
    for example, keys, name, meant in odd_keys(found):
        entry = next(entry for entry in example.entries if key_text(entry) == output)
        node = node_at(entry.value, keys.path)
        key = node.entry(name) if isinstance(node, Mapping) else None
        if key is not None and isinstance(key.key, Scalar):
            quote = int(key.key.style in {"'", '"'})
            place = Span(key.key.span.start + quote, key.key.span.end - quote)
            yield Finding.suggest(place, f"no other output has `{name}` here", meant)


@example_fact
def _keys_of_output(example: Example, output: str) -> tuple[Keys, ...]:
    """Return the keys of the mappings below the top of the output; none if it contains Jinja or is JSON."""
    found = () if example.is_printed(output) else keys_in(example.data.get(output))
    return tuple(keys for keys in found if keys.path)


@example_fact
def _leaves_of_output(example: Example, output: str, is_json: bool) -> tuple[_Leaf, ...]:
    """Return the texts, numbers and lists inside of the example's output; none if it contains Jinja.

    Of an output that is JSON in a text, those of the JSON are returned; a number is returned as the text.
    """
    value = example.data.get(output)
    if example.is_printed(output):
        return ()
    if is_json and isinstance(value, str):
        try:
            parsed = parse_json(value)
        except ValueError:
            return ()
        value = value if isinstance(parsed, int | float) else parsed
    if isinstance(value, dict | list):
        return tuple(each for each in _leaves(value, (), ()) if each.path)
    return tuple(_leaves(value, (), ())) if is_json else ()


def _leaves(value: Any, path: tuple[str | int, ...], place: tuple[str | None, ...]) -> Iterator[_Leaf]:
    if len(path) > _MAX_DEPTH or isinstance(value, bool):
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)), (*place, str(key)))
    elif isinstance(value, list):
        yield _Leaf(path, place, None)
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, index), (*place, None))
    elif isinstance(value, str | int | float):
        yield _Leaf(path, place, value)


@example_fact
def _output_form(example: Example, output: str, is_json: bool) -> str | None:
    """Return the form of the example's output; None if there is none or it contains Jinja."""
    if all(key_text(entry) != output for entry in example.entries) or example.is_printed(output):
        return None
    return _form(example.data.get(output), is_json=is_json)


def _form(value: Any, *, is_json: bool) -> str:
    """Return a description of the form of an output."""
    if is_json and isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            return "text"
    if isinstance(value, dict):
        if not value:
            return "no keys"
        return f"the keys {', '.join(f'`{key}`' for key in sorted(map(str, value)))}"
    return (
        "a list"
        if isinstance(value, list)
        else "text"
        if isinstance(value, str)
        else "a value that is not a text"
    )


RULE = Rule(check, severity="warning", kinds=DECLARING_KINDS)
