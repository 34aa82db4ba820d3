"""Declarations of a header, and declared inputs compared with those that the prompt uses.

# invalid-header

Invalid header or unknown header key.

Reports YAML errors in the header, unknown keys (with the most similar known key), values of the wrong
type, unknown JSON Schema types and keywords, schemas that no value fits, names in `required` that a schema does not have, unknown encodings, a `functions` file that does not exist,
and a `max_tokens` of an experiment that cuts off the output of every example.
Also reports a header in a prompt object or an evaluation prompt, which have its keys at the top level.

## Why is this bad?

A misspelled key in the header is ignored: the feature that needs it stays off.

## Example

```yaml
{#---
input_kyes: [text]
^^^^^^^^^^ invalid-header: unknown header key `input_kyes`; did you mean `input_keys`?
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

# undeclared-input

Variable that is read but not declared.

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

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from promptls.dialects.ragas.prompt_object import OUTPUT_TYPES
from promptls.lint.analysis.call_problems import expected_keys
from promptls.lint.analysis.declared_experiments import NameProblem, declared_experiments
from promptls.lint.analysis.declared_types import keywords_problems, schema_problems
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
from promptls.lint.fixes.misspellings import misspelled, near_file
from promptls.lint.fixes.yaml_edits import added_input, removed_input
from promptls.lint.rule import DECLARING_KINDS, JINJA_KINDS, Edit, File, Finding, Fix, rule
from promptls.lint.rules.jinja.literal_texts import unquoted_text
from promptls.lint.rules.jinja.single_brace import names_in_braces
from promptls.security.files import current_scope, is_file, join_path
from promptls.semantic.header import CLOSING, OPENING, HeaderProblem
from promptls.semantic.kind import Kind, top_keys
from promptls.semantic.names.scopes import INJECTED
from promptls.syntax.yaml.nodes import Mapping, Node, key_text, scalar_text
from promptls.text.format import lower_first
from promptls.text.positions import Span
from promptls.text.suggest import is_close
from promptls.workspace.contract import functions_path, needs_of


@rule(severity="error", kinds=DECLARING_KINDS)
def invalid_header(file: File) -> Iterator[Finding]:
    """Yield the problems of the header."""
    for problem in file.template.declarations.problems:
        yield Finding(problem.span, problem.message, _fixes(file, problem))
    yield from _misopened(file)
    tree = file.template.declarations.tree
    yield from schema_problems(tree.merged("input_keys") if tree else None)
    yield from keywords_problems(tree.merged("output_schema") if tree else None)
    experiments = tree.merged("experiments") if tree else None
    for entry in experiments.entries if isinstance(experiments, Mapping) else ():
        if isinstance(entry.value, Mapping):
            yield from keywords_problems(entry.value.value("json_schema"))
            yield from _hot(entry.value.value("temperature"))
    yield from _unknown_encoding(file)
    yield from _unknown_output_type(file)
    yield from _large_step(file)
    yield from _short_answers(file)
    span = file.template.declarations.value_span("functions")
    functions = file.template.declarations.settings.functions
    if span is not None and functions:
        path = functions_path(file.snapshot, file.path)
        if path is not None and not file.snapshot.exists(path):
            meant = near_file(Path(path), functions, (".py",))
            yield NameProblem(f"there is no file `{functions}` next to this template", meant).finding(
                file, span
            )


_MAX_TEMPERATURE: Final = 2
"""The highest temperature of most providers."""


def _hot(node: Node | None) -> Iterator[Finding]:
    """Yield a temperature that most providers refuse, such as 7 for 0.7."""
    try:
        is_hot = float(scalar_text(node) or 0) > _MAX_TEMPERATURE
    except ValueError:
        return
    if node is not None and is_hot:
        message = f"most providers refuse a `temperature` above {_MAX_TEMPERATURE}"
        yield Finding(node.span, message, severity="warning")


def _misopened(file: File) -> Iterator[Finding]:
    """Yield a comment at the beginning that contains keys of a header and begins with too few dashes."""
    chunk = file.template.source.first_chunk
    tag = chunk.tags[0] if chunk.tags and not chunk.text[: chunk.tags[0].span.start].strip() else None
    if tag is None or tag.kind != "comment" or tag.text.startswith(OPENING):
        return
    keys = {line.partition(":")[0] for line in tag.text.split("\n")[1:] if ":" in line}
    if keys & _TELLING_KEYS and tag.text.startswith("{#-"):
        dashes = len(tag.text[2:]) - len(tag.text[2:].lstrip("-"))
        opening = Span(tag.span.start, tag.span.start + 2 + dashes)
        fix = Fix.change_to(opening, OPENING, preferred=True)
        yield Finding(opening, f"a header begins with `{OPENING}`; this is a comment, and is ignored", (fix,))


_TELLING_KEYS: Final = frozenset({"input_keys", "examples", "experiments", "output_key", "samples"})
"""Keys that show that a comment is meant as a header."""


def _fixes(file: File, problem: HeaderProblem) -> tuple[Fix, ...]:
    """Return the fixes that correct a misspelled key, or put brackets around a value that must be a list.

    An ignored header is moved to the top level.
    """
    if problem.kind == "ignored":
        return _without_signs(file, problem.span)
    edits = [Edit(problem.span, problem.meant)] if problem.meant is not None else []
    if problem.listed is not None:
        written = file.template.source.slice(problem.listed)
        if "\n" in written or set(written) & set(",[]{}"):
            return ()
        edits.append(Edit(problem.listed, f"[{written}]"))
    if problem.meant is None:
        return (Fix("Put it into a list", tuple(edits), preferred=True),) if edits else ()
    is_sure = is_close(file.template.source.slice(problem.span).strip("'\""), problem.meant)
    return (Fix(f"Change to `{problem.meant}`", tuple(edits), preferred=is_sure),)


def _without_signs(file: File, opening: Span) -> tuple[Fix, ...]:
    """Return the fix that makes top-level keys of the lines of a header, unless the file has one of them."""
    text = file.template.source.text
    header = next(tag for tag in file.template.source.first_chunk.tags if tag.span.start == opening.start)
    closing = Span(header.span.end - len(CLOSING), header.span.end)
    lines = text[opening.end : closing.start]
    keys = {line.partition(":")[0] for line in lines.splitlines() if line[:1].isalpha()}
    if not lines.startswith(("\n", "\r\n")) or lines[-1:] != "\n" or keys & top_keys(file.template.source):
        return ()
    after = Span(closing.start, closing.end + (text[closing.end : closing.end + 1] == "\n"))
    before = Span(opening.start, opening.end + lines.index("\n") + 1)
    return (Fix("Move its keys to the top level", (Edit(before, ""), Edit(after, ""))),)


def _unknown_encoding(file: File) -> Iterator[Finding]:
    name = file.template.declarations.settings.encoding
    span = file.template.declarations.value_span("encoding")
    problem = (
        encoding_problem(name, Path(file.path).parent, "beside the prompt") if name is not None else None
    )
    if span is not None and problem is not None:
        fixes = (Fix.change_to(span, problem.meant),) if problem.meant is not None else ()
        yield Finding(span, f"tokens cannot be counted: {problem.message}", fixes)


def encoding_problem(name: str, folder: Path, where: str) -> NameProblem | None:
    """Return the problem of the name of an encoding or of a tokenizer's file in a folder; None if it is known."""
    from promptls.tokens import ENCODING_NAMES, UnknownEncodingError, encoding_name
    from promptls.tokens.tokenizer_files import is_tokenizer_file

    if name in ENCODING_NAMES:
        return None
    if is_tokenizer_file(name):
        path = join_path(folder, name)
        is_missing = current_scope().allows(path) and not is_file(path)
        return NameProblem(f"there is no file `{name}` {where}") if is_missing else None
    try:
        encoding_name(name)
    except UnknownEncodingError as error:
        return NameProblem(lower_first(str(error)), error.nearest)
    return None


def _large_step(file: File) -> Iterator[Finding]:
    settings = file.template.declarations.settings
    limit, step = settings.token_limit, settings.truncation_step
    span = file.template.declarations.value_span("truncation_step")
    if span is not None and limit is not None and step is not None and 0 < limit < step:
        message = f"each truncation removes {step} tokens or more, and only {limit} are allowed"
        yield Finding(span, message, severity="warning")


_PIECE: Final = re.compile(r"[^\W\d_]+|\d+|[^\w\s]{2,}")
"""A text that has at least one token of its own."""


def _short_answers(file: File) -> Iterator[Finding]:
    """Yield the limits of answers that cut off the output of every example."""
    experiments = declared_experiments(file)
    limits = [(each.declared.max_tokens, each.span(file, "max_tokens")) for each in experiments]
    output = file.template.declarations.settings.output_key
    if output is None or not any(limit is not None for limit, _ in limits):
        return
    examples = [each for each in file.template.declarations.examples if output in each.data]
    if any(each.is_printed(output) for each in examples):
        return
    outputs = [each.data[output] for each in examples]
    texts = [
        each if isinstance(each, str) else json.dumps(each, default=str, ensure_ascii=False)
        for each in outputs
    ]
    least = min((len(_PIECE.findall(text)) for text in texts), default=0)
    for limit, span in limits:
        if span is not None and limit is not None and limit < least:
            message = f"this cuts off the answer: the outputs of all examples have {least} tokens or more"
            yield Finding(span, message, severity="warning")


def _unknown_output_type(file: File) -> Iterator[Finding]:
    """Yield an unknown output type; `invalid-prompt-object` reports those of objects."""
    word = file.template.declarations.data.get("output_type")
    span = file.template.declarations.value_span("output_type")
    if file.kind is Kind.OBJECT or span is None or not isinstance(word, str):
        return
    if word.lower() not in OUTPUT_TYPES:
        message = "the output types are `json` and `str`"
        yield misspelled(span, message, word, OUTPUT_TYPES, severity="warning")


@rule(severity="warning", kinds=JINJA_KINDS)
def undeclared_input(file: File) -> Iterator[Finding]:
    """Yield the references of undeclared variables that are not similar to a known name.

    If `input_keys` itself has a problem, the variables are its consequence.
    """
    declared = file.template.declarations.value_span("input_keys")
    problems = file.template.declarations.problems
    if declared is not None and any(declared.touches(each.span.start) for each in problems):
        return
    texts = {found.span for found in unquoted_text.check(file)}
    texts |= {each.reference.span for each in typos_of_loop_variables(file)}
    undeclared = [
        reference
        for reference, meant, elsewhere in undeclared_references(file)
        if meant is None and elsewhere is None and reference.span not in texts
    ]
    read = needs_of(file.snapshot, file.path).by_name.keys() if undeclared else frozenset()
    unread = (declared_names(file) or frozenset()) - read if undeclared else frozenset()
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
    needs = needs_of(file.snapshot, file.path)
    if not needs.is_whole:
        return
    unread = [key for key in inputs if key.name not in needs.by_name and key.name not in INJECTED]
    if not unread:
        return
    expected = expected_keys(file.template)
    # A misspelled name is reported once, where it is used.
    expected |= {meant for _, meant, _ in undeclared_references(file) if meant is not None}
    expected |= names_in_braces(file.chunks)  # `single-brace` reports them
    for key in unread:
        header = file.template.declarations.span
        if key.name not in expected and not may_be_read_in_broken_text(file, key.name, header):
            message = f"nothing reads the input `{key.name}`"
            yield Finding(key.span, message, removed_input(file, key.name), unnecessary=True)


@rule(severity="error", kinds=JINJA_KINDS)
def reserved_input(file: File) -> Iterator[Finding]:
    """Yield the inputs, declared or in examples and samples, that have a reserved name."""
    declarations = file.template.declarations
    for key in declarations.inputs:
        if key.name in INJECTED:
            yield Finding(key.span, _message(key.name), removed_input(file, key.name, preferred=True))
    known = [declarations.data.get("output_key"), *(key.name for key in declarations.inputs)]
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
