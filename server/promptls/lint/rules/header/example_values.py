"""Values in examples that do not fit their declarations.

# invalid-example-input

Example input that does not match `input_keys`.

Compares the inputs of each example with their JSON Schemas in `input_keys`: types, `enum`, limits and
all other keywords. Without a schema, an input of one example that is a text, a list or a mapping, and something
else in all others, is reported.

## Why is this bad?

The example shows the model, and the readers of the prompt, data that no caller passes. A preview with it
shows a prompt that is never sent, or fails.

## Example

```yaml
{#---
input_keys:
  text: {type: string}
  stars: {type: integer}
output_key: label
examples:
  - {text: Never again., stars: one, label: bad}
                                ^^^ invalid-example-input: `stars` of example 1 does not match its declaration: 'one' is not of type 'integer'
---#}
- name: review
  content: |
    {{ stars }} stars: {{ escape_special_characters(text) }}
```

Use instead:

```yaml
{#---
input_keys:
  text: {type: string}
  stars: {type: integer}
output_key: label
examples:
  - {text: Never again., stars: 1, label: bad}
---#}
- name: review
  content: |
    {{ stars }} stars: {{ escape_special_characters(text) }}
```

# invalid-example-output

Example output that does not match the declared output.

With `output_type: json`, the default of prompt objects, reports outputs that are text but not valid JSON.
With an `output_schema`, reports outputs that do not match it, expected answers in the datasets of experiments
that do not match it, and values there that a metric compares with a property of the answer and that its `enum`
does not have. In a file that Ragas saved
with a schema of the answer, values that do not match it are hints.

## Why is this bad?

Ragas refuses the prompt, and the model learns a wrong output format from the example.

## Example

```yaml
{#---
input_keys: [text]
output_key: response
output_type: json
examples:
  - text: My card was charged twice.
    response: "{labels: Billing}"
              ^^^^^^^^^^^^^^^^^^^ invalid-example-output: the output of example 1 is not valid JSON: expecting property name enclosed in double quotes at character 1
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
output_type: json
examples:
  - text: My card was charged twice.
    response: {labels: [Billing]}
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.datasets.dataset_files import MAX_BYTES_FOR_ROWS, RowPlace, all_rows, rows_by_values
from promptls.dialects.ragas.prompt_object import DEFAULT_OUTPUT_TYPE, schema_in_instruction
from promptls.dialects.ragas.saved_prompt import form_of, saved_prompt_in
from promptls.lint.analysis.declared_experiments import (
    DeclaredExperiment,
    declared_experiments,
    named_metrics,
    needed_columns,
    place_in_data,
)
from promptls.lint.analysis.declared_types import declared_types, is_of_type, plainly_fits
from promptls.lint.fixes.yaml_edits import added_entry
from promptls.lint.rule import DECLARING_KINDS, File, Finding, Fix, Severity, each_example, rule
from promptls.metrics.metric_loading import REFERENCE_NAMES
from promptls.security.files import cached_by_file
from promptls.semantic.header import Example
from promptls.semantic.kind import Kind
from promptls.semantic.object_data import holds_printed
from promptls.semantic.types.schemas import SchemaCheck, schema_fault
from promptls.syntax.yaml.nodes import Node, key_text, nearest_node_at
from promptls.text.errors import FilePlace, parse_json, trailing_comma
from promptls.text.format import lower_first
from promptls.text.positions import Span
from promptls.text.suggest import did_you_mean

_MIN_EXAMPLES: Final = 2
"""The minimum number of examples that show a declaration to be wrong."""


def _schemas(file: File) -> dict[str, dict[str, Any]] | None:
    """Return the schemas of the inputs; None if none has a schema."""
    declared = file.template.declarations
    contradicted = dict(_contradicted(file))
    schemas = {key.name: key.schema for key in declared.inputs if key.name not in contradicted}
    return {name: schema for name, schema in schemas.items() if schema} or None


def _contradicted(file: File) -> Iterator[tuple[str, Span]]:
    """Yield the inputs of whose type no example has a value, each with the span of the type."""
    declarations = file.template.declarations
    for key in declarations.inputs:
        types = declared_types(key.schema)
        span = declarations.value_span("input_keys", key.name, "type")
        if types is None or span is None:
            continue
        values = [example.data[key.name] for example in declarations.examples if key.name in example.data]
        printed = any(example.is_printed(key.name) for example in declarations.examples)
        if (
            len(values) >= _MIN_EXAMPLES
            and not printed
            and not any(is_of_type(each, types) for each in values)
        ):
            yield key.name, span


@rule(severity="warning", kinds=DECLARING_KINDS)
def invalid_example_input(file: File) -> Iterator[Finding]:
    """Yield the declared types that all examples contradict, and the inputs that do not match a schema."""
    for name, span in _contradicted(file):
        yield Finding(span, f"no example has a value of this type for `{name}`")
    yield from _inputs_of_examples(file)
    yield from _inputs_of_another_type(file)


_KINDS: Final[Mapping[type, str]] = {str: "a text", list: "a list", dict: "a mapping"}


def _inputs_of_another_type(file: File) -> Iterator[Finding]:
    """Yield the only value of an input without a schema that is a text, a list or a mapping beside others."""
    declarations = file.template.declarations
    for key in declarations.inputs:
        examples = [] if key.schema else [each for each in declarations.examples if key.name in each.data]
        kinds = [type(each.data[key.name]) for each in examples]
        usual = Counter(kinds).most_common(1)[0][0] if kinds else str
        odd = [example for example, kind in zip(examples, kinds, strict=True) if kind is not usual]
        entries = odd[0].entries if len(odd) == 1 and {*kinds} <= _KINDS.keys() else ()
        for entry in entries:
            if key_text(entry) == key.name and not holds_printed(entry.value):
                kind = _KINDS[type(odd[0].data[key.name])]
                message = f"`{key.name}` of example {odd[0].number} is {kind}, and elsewhere {_KINDS[usual]}"
                yield Finding(entry.key.span, message)


@each_example(_schemas)
def _inputs_of_examples(example: Example, schemas: Mapping[str, dict[str, Any]]) -> Iterator[Finding]:
    """Yield the inputs of an example that do not match their schemas."""
    for entry in example.entries:
        name = key_text(entry)
        if name not in schemas or name not in example.data or holds_printed(entry.value):
            continue
        value = example.data[name]
        if plainly_fits(value, schemas[name]):
            continue
        wrong, path = schema_fault(value, schemas[name])
        if wrong and isinstance(value, date):
            wrong = "YAML reads it as a date; quote it"
        if wrong:
            wrong_span = nearest_node_at(entry.value, path).span
            span = entry.key.span if wrong_span.is_empty() else wrong_span
            yield Finding(
                span, f"`{name}` of example {example.number} does not match its declaration: {wrong}"
            )


_OWN: Final = "`output_schema`"
_MAX_ROWS: Final = 5
"""How many rows of a dataset are reported."""
_SEPARATOR: Final = re.compile(r"[;,|]")
_REQUIRED: Final = "is a required property"
"""The end of jsonschema's message about a key that is missing."""


class _Requirements(NamedTuple):
    """The requirements for outputs: the key they are under, and their type and schema."""

    output: str
    is_json: bool
    schema: dict[str, Any] | None
    source: str
    """Where the schema is declared."""


def _requirements(file: File) -> _Requirements | None:
    """Return the requirements of the file; None if there is nothing to check."""
    data = file.template.declarations.data
    output = data.get("output_key")
    schema = data.get("output_schema") or schema_in_instruction(data.get("output_format_instruction"))
    is_json = _type(file).lower() == "json" and _text_without_type(file) is None
    if not isinstance(output, str) or not (is_json or isinstance(schema, dict)):
        return None
    source = _OWN if data.get("output_schema") else "the schema in `output_format_instruction`"
    return _Requirements(output, is_json, schema if isinstance(schema, dict) else None, source)


def _type(file: File) -> str:
    """Return the declared type of the output, or the default; empty if neither applies."""
    data = file.template.declarations.data
    is_object = file.kind is Kind.OBJECT and form_of(data) is None
    return str(data.get("output_type", DEFAULT_OUTPUT_TYPE if is_object else ""))


def _text_without_type(file: File) -> Node | None:
    """Return the output of the first example if it is no JSON, in an object that leaves out `output_type`."""
    declarations = file.template.declarations
    output = declarations.data.get("output_key")
    if "output_type" in declarations.data or not declarations.examples or _type(file) != "json":
        return None
    first = declarations.examples[0]
    if not isinstance(output, str):
        return None
    node, value = _value_node(first, output), first.data.get(output)
    if node is None or holds_printed(node) or not isinstance(value, str):
        return None
    try:
        parse_json(value)
    except ValueError:
        return node
    return None


@rule(severity="error", kinds=DECLARING_KINDS)
def invalid_example_output(file: File) -> Iterator[Finding]:
    """Yield the outputs of examples that are not valid JSON or do not match the schema."""
    yield from _in_saved(file)
    if (node := _text_without_type(file)) is not None:
        message = "Ragas reads outputs as JSON, and this is text: declare it with `output_type: str`"
        yield Finding(node.span, message, _adding_type(file))
    yield from _outputs_of_examples(file)
    yield from _in_rows(file)


def _adding_type(file: File) -> tuple[Fix, ...]:
    root = file.template.root
    before = root.entry("examples") if root is not None else None
    if root is None or before is None:
        return ()
    edit = added_entry(file.template.source.text, root.span, root.entries, "output_type: str", before)
    return () if edit is None else (Fix("Add `output_type: str`", (edit,), preferred=True),)


def _in_saved(file: File) -> Iterator[Finding]:
    """Yield the values in the examples of a saved file that do not match the schema of the answer beside them."""
    data, root = file.template.declarations.data, file.template.root
    saved = saved_prompt_in(data)
    if saved is None or root is None or not saved.output_schema:
        return
    # An example may leave fields out.
    schema = {key: value for key, value in saved.output_schema.items() if key != "required"}
    at = ("prompt", "examples") if isinstance(data.get("prompt"), dict) else ("examples",)
    examples = (data["prompt"] if len(at) > 1 else data).get("examples")
    for index, example in enumerate(examples if isinstance(examples, list) else ()):
        wrong, path = schema_fault(example["output"], schema)
        # `invalid-prompt-object` reports values that a metric does not allow.
        if wrong and path and path != ("value",) and _REQUIRED not in wrong:
            span = nearest_node_at(root, (*at, index, "output", *path)).span
            message = f"the output of example {index + 1} does not fit the saved schema: {wrong}"
            yield Finding(span, message, severity="hint")


@each_example(_requirements)
def _outputs_of_examples(example: Example, required: _Requirements) -> Iterator[Finding]:
    """Yield the output of an example if it is not valid JSON or does not match the schema."""
    node = _value_node(example, required.output)
    if node is None or holds_printed(node):
        return
    span = node.span
    value = example.data.get(required.output)
    if isinstance(value, str) and required.is_json:
        try:
            value = parse_json(value)
        except ValueError as error:
            message = f"the output of example {example.number} is not valid JSON: {_reason(error)}"
            yield Finding(span, message)
            return
    if required.schema is None:
        return
    wrong, path = schema_fault(value, required.schema)
    if wrong:
        wrong_span = nearest_node_at(node, path).span
        message = f"the output of example {example.number} does not fit {required.source}: {wrong}"
        # Ragas shows the schema to the model, and does not check the examples against it.
        severity: Severity | None = None if required.source == _OWN else "hint"
        yield Finding(span if wrong_span.is_empty() else wrong_span, message, severity=severity)


def _in_rows(file: File) -> Iterator[Finding]:
    """Yield the expected answers in datasets, and the values for a property of the answer, that do not fit."""
    schema = file.template.declarations.settings.output_schema or {}
    for experiment in declared_experiments(file):
        span = experiment.span(file, "dataset")
        if span is None or not schema:
            continue
        for row, what in _wrong_rows(file, experiment, schema):
            message = f"row {row.number} of `{experiment.declared.dataset}` expects {what}"
            place = place_in_data(experiment.dataset, FilePlace(experiment.dataset, row.line), "the row")
            yield Finding(span, message, severity="warning", related=(place,))


def _wrong_rows(
    file: File, experiment: DeclaredExperiment, schema: dict[str, Any]
) -> Iterator[tuple[RowPlace, str]]:
    """Yield the first rows that expect what the schema of the answer excludes, each with a description."""
    inputs = {key.name for key in file.template.declarations.inputs}
    output = file.template.declarations.settings.output_key
    names = tuple(name for name in (*REFERENCE_NAMES, output) if name and name not in inputs)
    types = declared_types(schema)
    if types is not None and types <= {"object", "array"}:
        yield from islice(
            _wrong_answers(experiment.dataset, names, json.dumps(schema, default=str)), _MAX_ROWS
        )
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    for column, name in _expected(file, experiment, properties):
        if column in inputs:
            continue
        allowed, is_list = _allowed(properties[name])
        rows = rows_by_values(experiment.dataset, (column,)) if allowed else {}
        values = {value: _SEPARATOR.split(value.strip("[]")) if is_list else [value] for (value,) in rows}
        wrong = {
            value: each.strip("\"' ")
            for value, parts in values.items()
            for each in parts
            if each.strip("\"' ") not in {*allowed, ""}
        }
        if 2 * len(wrong) > len(values):
            continue  # The column has other values than the answer.
        for value, part in islice(wrong.items(), _MAX_ROWS):
            meant = did_you_mean(part, allowed)
            yield rows[value,], f"`{part}` for `{name}`, which `output_schema` does not allow{meant}"


@cached_by_file(16)
def _wrong_answers(path: Path, names: tuple[str, ...], schema: str) -> tuple[tuple[RowPlace, str], ...]:
    """Return the rows whose expected answer, in the first known column, is not what the schema allows.

    Empty if most are not: then the column has other values than the answer.
    """
    rows = all_rows(path, MAX_BYTES_FOR_ROWS)
    column = next((name for name in names if rows and name in rows[0].values), None)
    answers = [(row, row.values[column]) for row in rows if column and row.values[column] not in (None, "")]
    check = SchemaCheck(json.loads(schema))
    wrong = [
        (RowPlace(row.number, row.line), what)
        for row, value in answers
        if (what := _wrong_answer(value, check))
    ]
    return tuple(wrong) if 2 * len(wrong) <= len(answers) else ()


def _wrong_answer(value: Any, check: SchemaCheck) -> str:
    """Return what is wrong with an expected answer; empty if nothing is."""
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError as error:
            return f"invalid JSON: {_reason(error)}"
    fault = check.fault(value)[0]
    return f"an answer that does not fit `output_schema`: {fault}" if fault else ""


def _expected(
    file: File, experiment: DeclaredExperiment, properties: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield the columns that metrics compare with a property of the answer, each with its name."""
    named = named_metrics(file)
    found: dict[str, str] = {}
    for metric in experiment.declared.metrics:
        field = named[metric].options.get("field") if metric in named else None
        for _, column in needed_columns(metric, named, Path(file.path).parent):
            name = str(field or column.removeprefix("expected_"))
            if name in properties and (field or column.startswith("expected_")):
                found |= {column: name, name: name}
    yield from found.items()


def _allowed(schema: Any) -> tuple[list[str], bool]:
    """Return the texts that a property, or each item of it, may be, and whether it has items."""
    items = schema.get("items") if isinstance(schema, dict) else None
    chosen = items if isinstance(items, dict) else schema
    texts = chosen.get("enum") if isinstance(chosen, dict) else None
    is_known = isinstance(texts, list) and all(isinstance(each, str) for each in texts)
    return (list(texts) if is_known and texts else []), chosen is not schema


def _value_node(example: Example, key: str) -> Node | None:
    return next((entry.value for entry in example.entries if key_text(entry) == key), None)


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        comma = trailing_comma(error)
        if comma is not None:
            return f"a comma after the last entry at character {comma}"
        return f"{lower_first(error.msg)} at character {error.pos}"
    return str(error)
