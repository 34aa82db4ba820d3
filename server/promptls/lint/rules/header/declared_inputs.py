"""The declared inputs, compared with those that the prompt uses.

# undeclared-input

Variable that is read but not declared.

## What it does

In a file that declares `input_keys`, reports every variable that is not provided by `input_keys`, the
file itself, its `functions` file, or Prompt Poet. A name that is similar to one of those is reported by
`undefined-variable`, a call by `unknown-function`. In a file without declarations, every free variable
is an input and nothing is reported.

An included file is checked against the templates that include it: it can use their inputs, and the
variables in scope at the include. In a template that declares its inputs, the undeclared variables of an
included file are reported at the include.

## Why is this bad?

Jinja prints nothing for an undefined variable. A caller who relies on `input_keys` does not know that
this one is needed, and gets a shorter prompt without any error.

## Example

```yaml
{#---
input_keys: [text]
---#}
- name: ticket
  content: |
    {{ text }} {{ locale }}
                  ^^^^^^ undeclared-input: `locale` is not in `input_keys`
```

Use instead:

```yaml
{#---
input_keys: [text, locale]
---#}
- name: ticket
  content: |
    {{ text }} {{ locale }}
```

# unused-input

Input that is declared but never read.

## What it does

Reports names in `input_keys` that neither the file nor anything it includes reads. Nothing is reported
if an include cannot be resolved, because the included file could read them.

## Why is this bad?

The caller passes a value that never reaches the model. Often the template misspells the name.

## Example

```yaml
{#---
input_keys: [text, locale]
                   ^^^^^^ unused-input: nothing reads the input `locale`
---#}
- name: ticket
  content: |
    {{ text }}
```

Use instead:

```yaml
{#---
input_keys: [text]
---#}
- name: ticket
  content: |
    {{ text }}
```

# reserved-input

Input name reserved by Prompt Poet.

## What it does

Reports `token_limit` and `escape_special_characters` among `input_keys`, and among the inputs of an
example or sample. Only Prompt Poet reserves these names: prompt objects and evaluation prompts may use
them.

## Why is this bad?

Prompt Poet adds both to the data itself, and refuses data that contains them: "`token_limit` is a
reserved key in the template data".

## Example

```yaml
{#---
input_keys: [text, token_limit]
                   ^^^^^^^^^^^ reserved-input: Prompt Poet adds `token_limit` itself and refuses it in the data
---#}
- name: ticket
  content: |
    {{ text }} {{ token_limit }}
```

Use instead:

```yaml
{#---
input_keys: [text]
---#}
- name: ticket
  content: |
    {{ text }} {{ token_limit }}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.analysis.call_problems import expected_keys
from promptls.lint.analysis.loop_names import typos_of_loop_variables
from promptls.lint.analysis.unmatched_names import (
    declared_names,
    describe_entries,
    include_places,
    may_be_read_in_broken_text,
    samples_of,
    undeclared_in_includes,
    undeclared_references,
    unprovided_references,
)
from promptls.lint.fixes.yaml_edits import added_input, removed_input
from promptls.lint.rule import JINJA_KINDS, File, Finding, Fix, rule
from promptls.lint.rules.jinja.literal_texts import unquoted_text
from promptls.semantic.kind import Kind
from promptls.semantic.names.scopes import INJECTED
from promptls.syntax.yaml.nodes import key_text
from promptls.workspace.contract import contract_of


@rule(severity="warning", kinds=JINJA_KINDS)
def undeclared_input(file: File) -> Iterator[Finding]:
    """Yield the references of undeclared variables that are not similar to a known name.

    If `input_keys` itself has a problem, the variables are its consequence.
    """
    declared = file.template.declarations.value_span("input_keys")
    problems = file.template.declarations.problems
    if declared is not None and any(declared.contains(each.span.start) for each in problems):
        return
    texts = {found.span for found in unquoted_text.check(file)}
    texts |= {each.reference.span for each in typos_of_loop_variables(file)}
    undeclared = [
        reference
        for reference, meant, elsewhere in undeclared_references(file)
        if meant is None and elsewhere is None and reference.span not in texts
    ]
    unread = (declared_names(file) or frozenset()) - file.template.names.read_names
    for reference in undeclared:
        name = reference.name
        fixes = added_input(file, name)
        if len({each.name for each in undeclared}) == len(unread) == 1:
            (meant,) = unread
            fixes = (Fix.change_to(reference.span, meant), *fixes)
        yield Finding(reference.span, f"`{name}` is not in `input_keys`", fixes)
    yield from undeclared_in_includes(file)
    for found in unprovided_references(file):
        if found.meant is None:
            others = "; others provide it" if found.is_provided_elsewhere else ""
            message = (
                f"`{found.reference.name}` is not in `input_keys` of {describe_entries(found)}, "
                f"which this file is included from{others}"
            )
            yield Finding(found.reference.span, message, related=include_places(found))


@rule(severity="warning", kinds=frozenset({Kind.PARTS}))
def unused_input(file: File) -> Iterator[Finding]:
    """Yield the input keys that are never read."""
    inputs = file.template.declarations.inputs
    if not inputs:
        return
    contract = contract_of(file.snapshot, file.path)
    if not contract.is_whole:
        return
    unread = [key for key in inputs if key.name not in contract.names and key.name not in INJECTED]
    if not unread:
        return
    expected = expected_keys(file.template)
    # A misspelled name is reported once, where it is used.
    expected |= {meant for _, meant, _ in undeclared_references(file) if meant is not None}
    for key in unread:
        header = file.template.declarations.span
        if key.name not in expected and not may_be_read_in_broken_text(file, key.name, header):
            message = f"nothing reads the input `{key.name}`"
            yield Finding(key.span, message, removed_input(file, key), unnecessary=True)


@rule(severity="error", kinds=JINJA_KINDS)
def reserved_input(file: File) -> Iterator[Finding]:
    """Yield the inputs, declared or in examples and samples, that have a reserved name."""
    declarations = file.template.declarations
    for key in declarations.inputs or ():
        if key.name in INJECTED:
            yield Finding(key.span, _message(key.name), removed_input(file, key, preferred=True))
    known = [declarations.data.get("output_key"), *(key.name for key in declarations.inputs or ())]
    for example in declarations.examples:
        for entry in example.entries:
            name = key_text(entry)
            if name in INJECTED and name not in known:
                yield Finding(entry.key.span, _message(name))
    yield from _in_samples(file)


def _in_samples(file: File) -> Iterator[Finding]:
    """Yield the samples with a reserved name, at the place where the header names their file."""
    span = file.template.declarations.value_span("samples")
    if span is None:
        return
    for sample in samples_of(file):
        for name in sorted(INJECTED.intersection(sample.data)):
            yield Finding(span, f"the sample `{sample.name}` has `{name}`: {_message(name)}")


def _message(name: str) -> str:
    return f"Prompt Poet adds `{name}` itself and refuses it in the data"
