"""Expected outputs that contradict one another.

# conflicting-expected-keys

Expected keys of a part contradict the declared or read inputs.

Compares the `expected_template_data_keys` of a part with the file's inputs and with what the part reads.
Reports

- a key that `input_keys` does not declare, in a file that declares its inputs,
- in other files, a key that neither the file nor anything that it includes reads,
- a variable that the part reads but the list does not contain, unless the template handles it as
  optional wherever it reads it.

## Why is this bad?

Prompt Poet refuses data that lacks an expected key: "Missing replacement values for keys". An unneeded
key makes callers fail for no reason; a variable that is not in the list can be missing without an error.

## Example

```yaml
{#---
input_keys: [character]
---#}
- name: intro
  expected_template_data_keys: [charcter]
                                ^^^^^^^^ conflicting-expected-keys: Prompt Poet refuses data without `charcter`, and `input_keys` does not have it; did you mean `character`?
  content: You are {{ escape_special_characters(character) }}.
```

Use instead:

```yaml
{#---
input_keys: [character]
---#}
- name: intro
  expected_template_data_keys: [character]
  content: "You are {{ escape_special_characters(character) }}."
```

# inconsistent-example-outputs

Example outputs with different structures.

Reports an example whose output has a different type than that of the first example, or is a mapping with
different keys. Inside of outputs, and for outputs that are JSON, reports a single number in quotes among
numbers without; any other text among three or more numbers is a hint, and so is a text where other outputs
have a list. A boolean among numbers is reported. A `yes` or `no` that YAML reads as a boolean, and a value after `#` that it reads as a comment, are
reported if other outputs have a text in that place. There, it also reports a key that is a typo of one that all others have.

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

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from promptls.dialects.prompt_poet.vocabulary import EXPECTED_KEYS
from promptls.dialects.ragas.saved_prompt_checks import Keys, keys_in, odd_inner_keys
from promptls.lint.analysis.unmatched_names import declared_names
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import DECLARING_KINDS, PARTS_KINDS, Edit, File, Finding, Fix, rule
from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.header import Example, example_fact
from promptls.semantic.names.scopes import GLOBALS, INJECTED, chunk_events
from promptls.semantic.parts import chunk_items
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import has_any, items_in
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, key_text, nearest_node_at, scalar_text
from promptls.text.errors import parse_json
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import nearest
from promptls.workspace.contract import function_names, needs_of


class _Expecting(NamedTuple):
    """The keys that a part lists, the list's span and insertion point, and the names that the part reads."""

    listed: tuple[tuple[str, Span], ...]
    place: Span
    end: int | None
    read: frozenset[str]


@rule(severity="warning", kinds=PARTS_KINDS)
def conflicting_expected_keys(file: File) -> Iterator[Finding]:
    """Yield the expected keys of parts that conflict with the file.

    Yield nothing if the functions file, which may provide any of the names, cannot be read.
    """
    functions = function_names(file.snapshot, file.path)
    if functions is None or not has_any(_expecting)(file.chunks):
        return
    declared = declared_names(file)  # `undeclared-input` reports the other names
    optional = {name for name, shape in used_shapes(file.template).items() if shape.optional}
    needed = file.template.names.input_names - functions - optional
    needed = needed if declared is None else needed & declared
    for located, part in items_in(file.chunks, _expecting):
        for finding in _conflicts(file, part, needed, functions):
            yield finding.shifted(located.start)


def _conflicts(
    file: File, part: _Expecting, needed: frozenset[str], functions: frozenset[str]
) -> Iterator[Finding]:
    """Yield the expected keys of a part that conflict with the `needed` inputs of the file."""
    unlisted = {*part.read & needed}.difference(name for name, _ in part.listed)
    for name, span in part.listed:
        if name in part.read or name in INJECTED or name in functions:
            continue
        if message := _problem_of(file, name):
            meant = nearest(name, unlisted)
            yield misspelled(span, message, name, {meant} if meant else ())
            unlisted -= {meant or ""}
    if unlisted:
        written = in_code(sorted(unlisted))
        message = f"this part reads {written} too, which is not among its expected keys"
        fixes: tuple[Fix, ...] = ()
        if part.end is not None:
            added = Edit.insert(part.end, "".join(f", {name}" for name in sorted(unlisted)))
            fixes = (Fix(f"Add {written}", (added,)),)
        yield Finding(part.place, message, fixes, severity="information")


def _problem_of(file: File, name: str) -> str:
    """Return the problem of a listed key that its part does not read, or an empty text."""
    declarations = file.template.declarations
    if declarations.declares_inputs:
        if name in declarations.schemas:
            return ""
        return f"Prompt Poet refuses data without `{name}`, and `input_keys` does not have it"
    needs = needs_of(file.snapshot, file.path)
    if not needs.is_whole or name in needs.by_name:
        return ""
    return f"Prompt Poet refuses data without `{name}`, and nothing reads it"


@chunk_fact
def _expecting(chunk: Chunk) -> tuple[_Expecting, ...]:
    """Return the parts of a chunk with a literal list of expected keys."""
    if EXPECTED_KEYS not in chunk.text:
        return ()
    found = []
    parts = chunk_items(chunk).parts
    for index, part in enumerate(parts):
        entry = part.entry(EXPECTED_KEYS)
        node = entry.value if entry else None
        if entry is None or not isinstance(node, Sequence):
            continue
        items = [(text, item.span) for item in node.items if (text := scalar_text(item)) is not None]
        if len(items) < len(node.items):
            continue
        end = parts[index + 1].span.start if index + 1 < len(parts) else len(chunk.text)
        read = {
            event.name
            for event in chunk_events(chunk)
            if event.action == "read" and event.detail != "call" and part.span.start <= event.span.start < end
        }
        is_flow = chunk.text[node.span.start : node.span.start + 1] == "["
        last = node.items[-1].span.end if node.items and is_flow else None
        found.append(_Expecting(tuple(items), entry.key.span, last, frozenset(read - GLOBALS - INJECTED)))
    return tuple(found)


@rule(severity="warning", kinds=DECLARING_KINDS)
def inconsistent_example_outputs(file: File) -> Iterator[Finding]:
    """Yield the outputs whose form differs from that of the first output."""
    data = file.template.declarations.data
    output = data.get("output_key")
    if not isinstance(output, str):
        return
    is_json = str(data.get("output_type", "")).lower() == "json"
    schema = data.get("output_schema")
    # `invalid-example-output` checks the keys if there are `properties`.
    has_schema = isinstance(schema, dict) and "properties" in schema
    first, first_number = None, 0
    for example in file.template.declarations.examples:
        form = _output_form(example, output, is_json)
        if form is None or (is_json and form == "text"):
            continue  # `invalid-example-output` reports invalid JSON
        if first is None:
            first, first_number = form, example.number
        elif form != first and not (has_schema and {form[:8], first[:8]} == {"the keys"}):
            message = f"the output of example {example.number} has {form}; that of example {first_number} has {first}"
            yield Finding(_node_in(example, output, ()).span, message)
    if not has_schema:
        yield from _odd_texts(file, output, is_json=is_json)
        yield from _misread_texts(file, output, is_json=is_json)
        yield from _odd_keys(file, output)


_MIN_OTHERS: Final = 3
"""The minimum number of values in the same place that make a different one an exception."""
_MIN_NUMBERS: Final = 2
"""The minimum number of numbers in the same place that make a number in quotes an exception."""
_MAX_DEPTH: Final = 10


class _Leaf(NamedTuple):
    """A value in an output that is no mapping: its path, and the same path with None for each index."""

    path: tuple[str | int, ...]
    place: tuple[str | None, ...]
    value: str | float | list[Any] | None
    is_constant: bool
    """Whether it is a boolean or null."""


def _odd_texts(file: File, output: str, *, is_json: bool) -> Iterator[Finding]:
    """Yield the only text in a place of the outputs where all others are numbers, or lists."""
    found: dict[tuple[str | None, ...], list[tuple[Example, _Leaf]]] = {}
    for example in file.template.declarations.examples:
        for leaf in _leaves_of_output(example, output, is_json):
            if not leaf.is_constant:
                found.setdefault(leaf.place, []).append((example, leaf))
    for leaves in found.values():
        if len(leaves) == len(file.template.declarations.examples):
            yield from _odd_number(leaves, output)
        texts = [(example, leaf) for example, leaf in leaves if isinstance(leaf.value, str)]
        lists = sum(isinstance(leaf.value, list) for _, leaf in leaves)
        others = len(leaves) - 1
        if len(texts) != 1 or not others or lists not in {0, others}:
            continue
        example, leaf = texts[0]
        is_number = not lists and isinstance(leaf.value, str) and leaf.value.strip().isdecimal()
        if not lists and others < (_MIN_NUMBERS if is_number else _MIN_OTHERS):
            continue
        named = next((key for key in reversed(leaf.path) if isinstance(key, str)), output)
        message = f"`{named}` is a text here, and a {'list' if lists else 'number'} in all other outputs"
        is_sure = is_number or lists >= _MIN_OTHERS
        yield Finding(
            _node_in(example, output, leaf.path).span, message, severity=None if is_sure else "hint"
        )


_HASHTAG: Final = re.compile(r"[ \t]*(#\S.*)")


def _misread_texts(file: File, output: str, *, is_json: bool) -> Iterator[Finding]:
    """Yield what YAML takes for a boolean or a comment where other outputs have a text, and booleans beside numbers."""
    examples = file.template.declarations.examples
    leaves = [leaf for example in examples for leaf in _leaves_of_output(example, output, is_json)]
    texts = {leaf.place for leaf in leaves if isinstance(leaf.value, str)}
    numbers = {leaf.place for leaf in leaves if isinstance(leaf.value, int | float) and not leaf.is_constant}
    numbers -= texts
    for example in examples if texts or numbers else ():
        for path, place, *_ in (
            each for each in _leaves_of_output(example, output, is_json) if each.is_constant
        ):
            node = _node_in(example, output, path)
            if place in numbers and isinstance(node, Scalar) and node.tag == "bool":
                message = f"`{node.text}` is a boolean, and other outputs have a number here"
                yield Finding(node.span, message)
            if place not in texts or not isinstance(node, Scalar):
                continue
            end = file.template.source.line_span(file.template.source.line_column(node.span.end).line).end
            hashtag = _HASHTAG.match(file.template.source.slice(Span(node.span.end, end)))
            if node.tag == "bool" and node.text.lower() not in {"true", "false"}:
                fix = Fix("Quote it", (Edit(node.span, f'"{node.text}"'),), preferred=True)
                message = f"YAML reads `{node.text}` as a boolean, and other outputs have a text here"
                yield Finding(node.span, message, (fix,))
            elif node.span.is_empty() and hashtag is not None:
                span = Span(*hashtag.span(1)).shifted(node.span.end)
                message = "YAML reads this as a comment, and other outputs have a text here"
                yield Finding(span, message, (Fix("Quote it", (Edit(span, f'"{hashtag[1].rstrip()}"'),)),))


def _odd_number(leaves: list[tuple[Example, _Leaf]], output: str) -> Iterator[Finding]:
    """Yield the only number in a place where all others are numbers in quotes."""
    numbers = [(example, leaf) for example, leaf in leaves if isinstance(leaf.value, int | float)]
    texts = [
        leaf.value for _, leaf in leaves if isinstance(leaf.value, str) and _NUMBER.fullmatch(leaf.value)
    ]
    if len(numbers) == 1 and len(texts) == len(leaves) - 1 >= _MIN_NUMBERS:
        example, leaf = numbers[0]
        named = next((key for key in reversed(leaf.path) if isinstance(key, str)), output)
        message = f"`{named}` is a number here, and a text in all other outputs"
        yield Finding(_node_in(example, output, leaf.path).span, message)


_NUMBER: Final = re.compile(r"[-+]?\d+(\.\d+)?")


def _node_in(example: Example, output: str, path: tuple[str | int, ...]) -> Node:
    """Return the node at a path of the output; the whole text if the output is JSON in a text."""
    node = next(entry.value for entry in example.entries if key_text(entry) == output)
    return node if isinstance(node, Scalar) else nearest_node_at(node, path)


def _odd_keys(file: File, output: str) -> Iterator[Finding]:
    """Yield the keys of a mapping inside of the outputs that are typos of a key of all others in its place."""
    examples = file.template.declarations.examples
    found = [(example, keys) for example in examples for keys in _keys_of_output(example, output)]
    for example, keys, name, meant in odd_inner_keys(found):
        node = _node_in(example, output, keys.path)
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
    """Return the values inside of the example's output; none if it contains Jinja.

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
    return tuple(each for each in _leaves(value, (), ()) if is_json and not each.is_constant)


def _leaves(value: Any, path: tuple[str | int, ...], place: tuple[str | None, ...]) -> Iterator[_Leaf]:
    if isinstance(value, dict):
        for key, inner in value.items() if len(path) < _MAX_DEPTH else ():
            yield from _leaves(inner, (*path, str(key)), (*place, str(key)))
        return
    if value is None or isinstance(value, str | int | float | list):
        yield _Leaf(path, place, value, value is None or isinstance(value, bool))
    for index, inner in enumerate(value if isinstance(value, list) and len(path) < _MAX_DEPTH else ()):
        yield from _leaves(inner, (*path, index), (*place, None))


@example_fact
def _output_form(example: Example, output: str, is_json: bool) -> str | None:
    """Return the form of the example's output; None if it is missing or contains Jinja."""
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
