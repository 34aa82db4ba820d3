"""Keys of examples, and examples that occur twice or fail.

# failing-example

Example whose row failed in the last run of an experiment.

Reports an example in the file's header if the row with the same inputs failed in the last run of one of
its experiments, or if a metric rated the answer as not good. Nothing is reported if the prompt, or a
file that it includes, has changed since the run.

## Why is this bad?

The model does not do what the example shows, although it has seen it: the example contradicts the
instructions, or the expected answer of the dataset.

## Example

```yaml
-- tickets.csv --
text,expected
My card was charged twice.,Payment
-- last-run.csv --
text,expected,response,exact_match,error,row_number
My card was charged twice.,Payment,Billing,fail,,1
-- main.yml.j2 --
{#---
input_keys: [text]
output_key: response
examples:
  - {text: My card was charged twice., response: Billing}
     ^^^^ failing-example: in the last run of `triage`: exact_match says `fail`
experiments:
  triage: {dataset: tickets.csv, metrics: [exact_match]}
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```

Use instead:

```yaml
-- tickets.csv --
text,expected
Where is my order?,Shipping
-- last-run.csv --
text,expected,response,exact_match,error,row_number
Where is my order?,Shipping,Shipping,pass,,1
-- main.yml.j2 --
{#---
input_keys: [text]
output_key: response
examples:
  - {text: My card was charged twice., response: Billing}
experiments:
  triage: {dataset: tickets.csv, metrics: [exact_match]}
---#}
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```

# missing-example-key

Example without an input or the output.

Reports entries of `examples` without one of the `input_keys`, or without the `output_key`.

## Why is this bad?

Ragas refuses the prompt ("example 1 does not have the variable …"), and an example without its answer
teaches the model nothing.

## Example

```yaml
{#---
input_keys: [text]
output_key: response
examples:
  - text: My card was charged twice.
    ^^^^ missing-example-key: example 1 has no `response`
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
  - text: My card was charged twice.
    response: Billing
---#}
- name: ticket
  content: |
    {{ text }}
```

# unknown-example-key

Example key that is neither an input nor the output.

In a file that declares both `input_keys` and `output_key`, reports every other key in
`examples`.

## Why is this bad?

Ragas prints such a key into the prompt; most often it is a misspelled input.

## Example

```yaml
{#---
input_keys: [text]
output_key: response
examples:
  - text: My card was charged twice.
    reponse: Billing
    ^^^^^^^ unknown-example-key: `reponse` is neither an input nor the output; did you mean `response`?
    response: Billing
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
  - text: My card was charged twice.
    response: Billing
---#}
- name: ticket
  content: |
    {{ text }}
```

# duplicate-example

Two examples with the same inputs.

Reports entries of `examples` that have the same inputs as an earlier one.

## Why is this bad?

It costs tokens and teaches nothing new. With a different output, the two examples contradict each other.

## Example

```yaml
{#---
input_keys: [text]
output_key: response
examples:
  - {text: Where is my order?, response: Shipping}
  - {text: Where is my order?, response: Shipping}
     ^^^^ duplicate-example: example 2 has the inputs of example 1
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
  - {text: Where is my order?, response: Shipping}
  - {text: My card was charged twice., response: Billing}
---#}
- name: ticket
  content: |
    {{ text }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.dialects.ragas.saved_prompt import form_of
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.fixes.yaml_edits import added_entry
from promptls.lint.rule import (
    DECLARING_KINDS,
    OBJECT_KINDS,
    File,
    Finding,
    Fix,
    RelatedInformation,
    each_example,
    rule,
)
from promptls.semantic.header import Example, example_fact
from promptls.semantic.kind import Kind
from promptls.semantic.names.scopes import INJECTED
from promptls.semantic.object_data import is_printed
from promptls.semantic.types.schemas import canonical_text
from promptls.syntax.yaml.nodes import Entry, Sequence, key_text, scalar_text
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import is_close, nearest

_MIN_AGREEING: Final = 2
"""The minimum number of examples that show the declaration to be wrong."""


def declared_keys(file: File) -> tuple[str, ...] | None:
    """Return the inputs and the output; None if the file does not declare both."""
    declarations = file.template.declarations
    output = declarations.data.get("output_key")
    if not declarations.declares_inputs or not isinstance(output, str):
        return None
    return (*(key.name for key in declarations.inputs), output)


def required_keys(file: File) -> tuple[str, ...]:
    """Return the keys that every example needs, without those that no example has by the same name."""
    declarations = file.template.declarations
    required = [key.name for key in declarations.inputs if "default" not in key.schema]
    output = declarations.data.get("output_key")
    if isinstance(output, str) and output:
        required.append(output)
    misnamed = dict(misnamed_keys(file))  # `unknown-example-key` reports these at their declaration
    return tuple(dict.fromkeys(name for name in required if name not in misnamed))


def renamed_key(
    example: Example, required: tuple[str, ...], known: tuple[str, ...]
) -> tuple[Entry, str] | None:
    """Return the only undeclared key of an example, and the only one that it lacks, if no typo explains it."""
    lacking = [name for name in required if name not in example.data]
    unknown = [entry for entry in example.entries if key_text(entry) not in {*known, *INJECTED}]
    names = [str(key_text(entry)) for entry in unknown]
    if len(lacking) != 1 or len(unknown) != 1 or example.has_printed_keys or "<<" in names:
        return None
    return None if nearest(lacking[0], names) else (unknown[0], lacking[0])


def misnamed_keys(file: File) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the declared names that no example has, each with what all have instead.

    That is a similar key, or several keys between which a comma is missing.
    """
    examples = file.template.declarations.examples
    known = declared_keys(file)
    if known is None or len(examples) < _MIN_AGREEING:
        return
    unused = [name for name in known if not any(name in example.data for example in examples)]
    if not unused:
        return
    keys = frozenset.intersection(*(frozenset(map(str, example.data)) for example in examples)) - set(known)
    for name in unused:
        names = tuple(name.split())
        meant = [key for key in keys if is_close(key, name)]
        if len(names) > 1 and keys.issuperset(names):
            yield name, names
        elif len(meant) == 1:
            yield name, (meant[0],)
        elif len(unused) == len(keys) == 1:
            yield name, tuple(keys)


def undeclared_in_all(file: File) -> frozenset[str]:
    """Return the undeclared keys that every one of several examples has."""
    known = declared_keys(file)
    examples = file.template.declarations.examples
    if known is None or len(examples) < _MIN_AGREEING:
        return frozenset()
    # Usually the first example has no such key, so that the others are not read.
    found = frozenset(map(str, examples[0].data)) - {*known}
    return frozenset(name for name in found if all(name in example.data for example in examples))


def meant_by_repeated_input(file: File) -> str | None:
    """Return the only undeclared key of all examples, if a name occurs twice in the list `input_keys`."""
    declared = file.template.declarations
    listed = declared.tree.value("input_keys") if declared.tree is not None else None
    names = [scalar_text(item) for item in listed.items] if isinstance(listed, Sequence) else []
    if len({*names}) == len(names):
        return None
    known = {key.name for key in declared.inputs} | {str(declared.data.get("output_key"))}
    keys = [frozenset(map(str, example.data)) - known for example in declared.examples]
    found = frozenset.intersection(*keys) if keys else frozenset()
    return next(iter(found)) if len(found) == 1 else None


@rule(severity="information", kinds=frozenset({Kind.PARTS, Kind.OBJECT}), needs="runs")
def failing_example(file: File) -> Iterator[Finding]:
    """Yield the examples that failed in the latest runs."""
    from promptls.experiments.examples import example_result
    from promptls.experiments.verdicts import describe_failure

    template = file.template
    for experiment in dict.fromkeys(run.experiment for run in file.runs):
        own = [run for run in file.runs if run.experiment == experiment]
        for number, example in enumerate(template.declarations.examples, start=1):
            found = example_result(number, example.data, template.declarations.settings.output_key, own)
            message = describe_failure(found.run, found.cells) if found is not None else None
            if message is not None:
                yield Finding(example.first_key, f"in the last run of `{experiment}`: {message}")


@rule(severity="error", kinds=DECLARING_KINDS)
def missing_example_key(file: File) -> Iterator[Finding]:
    """Yield the required keys that an example lacks, at a key that replaces the only one, or at its first."""
    examples = file.template.declarations.examples
    required = required_keys(file) if examples else ()
    known = (declared_keys(file) or ()) if required else ()
    for example in examples:
        missing = [name for name in required if name not in example.data]
        if missing and not example.has_printed_keys:
            yield from _missing_keys(file, example, missing, required, known)


def _missing_keys(
    file: File, example: Example, missing: list[str], required: tuple[str, ...], known: tuple[str, ...]
) -> Iterator[Finding]:
    renamed = renamed_key(example, required, known) if known else None
    if renamed is not None:
        entry, name = renamed
        message = f"example {example.number} has no `{name}`, but `{key_text(entry)}`"
        yield Finding(entry.key.span, message, (Fix.change_to(entry.key.span, name),))
        return
    unknown = [str(key) for key in example.data if key not in required]
    for name in missing:
        # `unknown-example-key` reports a misspelled key.
        if nearest(name, unknown) is None:
            edit = added_entry(file.template.source.text, example.span, example.entries, f"{name}: null")
            fixes = () if edit is None else (Fix(f"Add `{name}`, to be filled in", (edit,)),)
            yield Finding(example.first_key, f"example {example.number} has no `{name}`", fixes)


@rule(severity="warning", kinds=DECLARING_KINDS)
def unknown_example_key(file: File) -> Iterator[Finding]:
    """Yield the undeclared keys of examples, or the declared name that no example has."""
    misnamed = dict(misnamed_keys(file))
    for declared, used in misnamed.items():
        span = _declaration(file, declared)
        if span is not None:
            meant = ", ".join(used)
            fix = Fix.change_to(span, meant)
            names = in_code(used, " and ")
            yield Finding(span, f"no example has `{declared}`, and all have {names}", (fix,))
    explained = {name for used in misnamed.values() for name in used}
    explained.add(meant_by_repeated_input(file) or "")  # `duplicate-key` suggests it
    span = file.template.declarations.key_span("input_keys")
    for name in sorted(undeclared_in_all(file) - explained - INJECTED) if span is not None else ():
        if any(is_close(name, known) for known in declared_keys(file) or ()):
            continue
        explained.add(name)
        # `undeclared-input` reports a name that the template reads.
        if span is not None and (file.kind in OBJECT_KINDS or name not in file.template.names.input_names):
            yield Finding(span, f"all examples have `{name}`, which is neither an input nor the output")
    read = file.template.names.input_names if file.kind not in OBJECT_KINDS else frozenset()
    for finding in _in_examples(file):
        key = file.template.source.slice(finding.span).strip("'\"")
        if key in read - explained:  # the typo may be in the declaration
            yield Finding(finding.span, f"`{key}`, which the template reads, is not declared")
        elif key not in explained:
            yield finding


def _declaration(file: File, name: str) -> Span | None:
    declarations = file.template.declarations
    if declarations.data.get("output_key") == name:
        return declarations.value_span("output_key")
    return next((key.span for key in declarations.inputs if key.name == name), None)


def _keys_to_know(file: File) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the required and the declared keys of examples; None if the file does not declare both."""
    known = declared_keys(file)
    return None if known is None else (required_keys(file), known)


@each_example(_keys_to_know)
def _in_examples(example: Example, keys: tuple[tuple[str, ...], tuple[str, ...]]) -> Iterator[Finding]:
    """Yield the undeclared keys of an example."""
    required, known = keys
    if renamed_key(example, required, known) is not None:
        return  # `missing-example-key` reports it
    lacking = [name for name in known if name not in example.data]
    for entry in example.entries:
        key = key_text(entry)
        if key is None or key in known or key == "<<" or key in INJECTED:
            continue  # `reserved-input` reports reserved names
        message = f"`{key}` is neither an input nor the output"
        typo_of_missing = next((name for name in known if name in example.data and is_close(key, name)), None)
        if typo_of_missing is None:
            yield misspelled(entry.key.span, message, key, lacking)
        else:
            yield Finding(entry.key.span, f"{message}; did you mean `{typo_of_missing}`?")


@rule(severity="warning", kinds=DECLARING_KINDS)
def duplicate_example(file: File) -> Iterator[Finding]:
    """Yield the examples with the same inputs as an earlier one."""
    data = file.template.declarations.data
    output = "output" if form_of(data) is not None else data.get("output_key")
    output = output if isinstance(output, str) else None
    seen: dict[str, Example] = {}
    for example in file.template.declarations.examples:
        if _is_printed(example):
            continue  # the text that Jinja prints may differ between the two
        inputs = _inputs(example, output)
        earlier = seen.setdefault(inputs, example)
        if inputs and earlier is not example:
            related = RelatedInformation(file.path, earlier.first_key, f"example {earlier.number}")
            message = f"example {example.number} has the inputs of example {earlier.number}"
            answer = next((each for each in example.entries if key_text(each) == output), None)
            outputs = [canonical_text(each.data.get(output or "")) for each in (earlier, example)]
            if answer is not None and outputs[0] != outputs[1]:
                yield Finding(answer.key.span, f"{message}, and another output", related=(related,))
            else:
                yield Finding(example.first_key, message, related=(related,))


@example_fact
def _is_printed(example: Example) -> bool:
    return is_printed(example.node)


@example_fact
def _inputs(example: Example, output: str | None) -> str:
    """Return the inputs of an example as a string; empty if it has none."""
    inputs = {key: value for key, value in example.data.items() if key != output}
    return canonical_text(inputs) if inputs else ""
