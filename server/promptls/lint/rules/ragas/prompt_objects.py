"""Prompt objects that Ragas refuses, or reads differently than they look.

# invalid-prompt-object

Prompt object that Ragas rejects or misinterprets.

Loads prompt objects of Ragas 0.1, and the files in which later versions save prompts and metrics, as
Ragas does. Reports each key that is missing or empty and each value that is refused. Warns if Ragas
loads the prompt but cannot fill it in, for example because of an input named `user.question`, or ignores
a key. In the examples of saved prompts and metrics, reports keys that differ from those of all other
examples, values of another kind than in all others, and values that the metric does not allow.

`ragas_version` in the file, or in the settings, selects the version.

## Why is this bad?

Ragas fails with an error that names neither the file nor the place. Some mistakes only cause an error
when the prompt is used, or never: a version that does not know `output_format_instruction` ignores it.

## Example

```yaml
instruction: ""
             ^^ invalid-prompt-object: `instruction` cannot be empty: say in plain language what the model is to do
input_keys: [user.question]
             ^^^^^^^^^^^^^ invalid-prompt-object: `str.format` cannot fill in an input of this name
output_key: answer
```

Use instead:

```yaml
instruction: Answer the question.
input_keys: [user_question]
output_key: answer
```

# output-key-in-inputs

Output key that is also an input.

Reports an `output_key` that is also in `input_keys`.

## Why is this bad?

The answer would be passed to the model with the question.

## Example

```yaml
{#---
input_keys: [text, response]
output_key: response
            ^^^^^^^^ output-key-in-inputs: `response` is an input as well
---#}
- name: ticket
  content: |
    {{ text }} {{ response }}
```

Use instead:

```yaml
{#---
input_keys: [text]
output_key: response
---#}
- name: ticket
  content: |
    {{ text }}
```

# misspelled-object-key

Probable typo in a key of a prompt object.

Reports keys at the top level of a prompt object that Ragas and promptls do not know, if they are similar
to a known key that the object does not have; if Ragas requires that key, it is an error. Other unknown
keys may be used by programs of your own.

## Why is this bad?

Ragas ignores an unknown key: the examples under `exampels` are never shown to the model.

## Example

```yaml
instruction: Answer the question.
input_keys: [question]
output_key: answer
output_type: str
exampels:
^^^^^^^^ misspelled-object-key: Ragas ignores `exampels`; did you mean `examples`?
  - {question: Why is the sky blue?, answer: Because of Rayleigh scattering.}
```

Use instead:

```yaml
instruction: Answer the question.
input_keys: [question]
output_key: answer
output_type: str
examples:
  - {question: Why is the sky blue?, answer: Because of Rayleigh scattering.}
```

# unescaped-brace

Brace in a prompt object that is read as an input.

Reports braces in the `instruction` of a prompt object that do not contain one of its `input_keys`, and,
if `output_type` is `str`, braces in its examples, also those of mappings: Ragas only escapes them if the
output is JSON. In a file without Jinja, reports `{{question}}` in the `instruction` if that is one of its `input_keys`.

## Why is this bad?

Ragas fills in the inputs with Python's `str.format`, which raises a `KeyError` or a `ValueError` at any
other brace, or inserts an input's value where a text was meant. A literal brace must be doubled; in a
Jinja file, in a `raw` block.

## Example

```yaml
instruction: 'Answer as {"label": "…"}.'
                        ^^^^^^^^^^^^^^ unescaped-brace: these braces are read as an input, so formatting the prompt fails
input_keys: [question]
output_key: answer
```

Use instead:

```yaml
instruction: 'Answer as {% raw %}{{"label": "…"}}{% endraw %}.'
input_keys: [question]
output_key: answer
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as AnyMapping
from dataclasses import replace
from typing import Final

from promptls.dialects import KeyFact
from promptls.dialects.ragas.prompt_object import (
    NEWER_FILE_KEYS,
    PROMPT_KEYS,
    ObjectProblem,
    object_problems,
    release_of,
)
from promptls.dialects.ragas.saved_prompt import Form, form_of
from promptls.dialects.ragas.saved_prompt_checks import saved_problems
from promptls.dialects.ragas.saved_prompt_keys import has_keys_below, saved_keys
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.fixes.yaml_edits import BLANK, added_entry, colon_end, removed_input
from promptls.lint.rule import DECLARING_KINDS, OBJECT_KINDS, Edit, File, Finding, Fix, Severity, rule
from promptls.semantic.kind import top_keys
from promptls.semantic.template import Template
from promptls.settings.header import HEADER_KEYS
from promptls.syntax.chunk import Chunk
from promptls.syntax.language import Host
from promptls.syntax.yaml.nodes import (
    Entry,
    Mapping,
    Node,
    Scalar,
    Sequence,
    key_text,
    scalar_text,
    scalars_below,
)
from promptls.text.format import lower_first
from promptls.text.positions import Span
from promptls.text.suggest import is_close, nearest


@rule(severity="error", kinds=OBJECT_KINDS)
def invalid_prompt_object(file: File) -> Iterator[Finding]:
    """Yield the problems of the object or the saved file."""
    template = file.template
    root, data = template.root, template.declarations.data
    if root is None or not root.entries:
        return
    if form_of(data) is not None:
        if any(isinstance(entry.value, Scalar) and entry.value.dynamic for entry in root.entries):
            return
        problems = saved_problems(data)
    elif top_keys(template.source) & NEWER_FILE_KEYS:
        return  # a file of a later version that is being typed
    else:
        problems = object_problems(data, release_of(data, file.project.ragas_version))
    for problem in problems:
        found = _place(template, root, problem)
        if found is not None:
            yield replace(found, severity=None if problem.severity == "error" else problem.severity)


def _place(template: Template, root: Mapping, problem: ObjectProblem) -> Finding | None:
    """Return the finding for a problem; None if Jinja may print what is missing."""
    message = problem.message.removesuffix(".")
    if not message.startswith("Ragas"):
        message = lower_first(message)
    node: Node = root
    entry = None
    for step in problem.path:
        if isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            node, entry = node.items[step], None
            continue
        if not isinstance(node, Mapping):
            return None
        value = node.merged(str(step))
        if value is None:
            return _missing(template, node, str(problem.path[-1]), message, top=len(problem.path) == 1)
        entry = node.entry(str(step))
        node = value
    if isinstance(node, Scalar) and node.dynamic:
        return None
    refused = {each.span for each in template.declarations.problems}
    if node.span in refused or (entry and entry.key.span in refused):
        return None  # `invalid-header` reports it
    place = entry.key.span if entry and (problem.at_key or node.span.is_empty()) else node.span
    if problem.known:
        written = key_text(entry) if entry and problem.at_key else scalar_text(node)
        return misspelled(place, message, written or "", problem.known)
    text = template.source.text
    if node.span.is_empty() and text[node.span.end :].lstrip().startswith(("{{", "{%")):
        return None
    return Finding(place, message, _filled_in(template, entry, problem))


def _missing(template: Template, node: Mapping, key: str, message: str, *, top: bool) -> Finding | None:
    """Return the finding for a missing key, at a typo of the key or else at the first key."""
    if top and template.source.language.host is Host.JSON and template.syntax_problems:
        return None  # the key may be where the JSON is broken
    if not node.entries:
        return Finding(node.span, message)
    names = [key_text(entry) for entry in node.entries]
    if None in names:
        return None  # Jinja prints a key
    if not top:
        if any(is_close(str(name), key) for name in names):
            return None  # `misspelled-object-key` reports a typo
        return Finding(node.entries[0].key.span, message)
    keys = top_keys(template.source)
    if key in keys or any(is_close(each, key) for each in keys - {*PROMPT_KEYS, *HEADER_KEYS}):
        return None  # `misspelled-object-key` reports a typo
    value = _suggested(template, key)
    fixes: tuple[Fix, ...] = ()
    if value:
        before = node.entry("examples") if key != "instruction" else None
        written = f"{key}: {value}"
        edit = added_entry(template.source.text, node.span, node.entries, written, before)
        fixes = () if edit is None else (Fix(f"Add `{written}`", (edit,)),)
    return Finding(node.entries[0].key.span, message, fixes)


def _filled_in(template: Template, entry: Entry | None, problem: ObjectProblem) -> tuple[Fix, ...]:
    """Return the fix that adds a value to a key without one."""
    if entry is None or problem.severity != "error" or not isinstance(entry.value, Scalar):
        return ()
    if entry.value.tag != "null" and entry.value.text:
        return ()
    value = _suggested(template, str(problem.path[-1]))
    if not value or len(problem.path) > 1:
        return ()
    span, written = entry.value.span, value
    if span.is_empty():
        span = Span(entry.key.span.end, colon_end(template.source.text, entry))
        written = f": {value}"
    title = f"Write {BLANK}, to be filled in" if value == BLANK else f"Change to `{value}`"
    return (Fix(title, (Edit(span, written),), preferred=value == "[]"),)


_OUTPUTS: Final = ("output", "answer", "label", "response", "result")
"""Common names for the output."""


def _suggested(template: Template, key: str) -> str | None:
    """Return a value for a key of a prompt object, from the first example if possible."""
    declarations = template.declarations
    examples, output = declarations.examples, declarations.data.get("output_key")
    shown = [name for name in examples[0].data if isinstance(name, str)] if examples else []
    if output is None and not declarations.declares_inputs and len(shown) > 1:
        output = next((name for name in _OUTPUTS if name in shown), shown[-1])
        if key == "output_key":
            return str(output)
    if key == "input_keys":
        inputs = [name for name in shown if name != output]
        return f"[{', '.join(inputs)}]" if inputs else None
    if key == "output_key":
        inputs = [each.name for each in declarations.inputs]
        others = [name for name in shown if name not in inputs]
        return others[0] if len(others) == 1 and inputs else "output"
    return {"instruction": BLANK, "examples": "[]"}.get(key)


@rule(severity="warning", kinds=DECLARING_KINDS)
def output_key_in_inputs(file: File) -> Iterator[Finding]:
    """Yield the output key if it is also an input."""
    declarations = file.template.declarations
    output = declarations.data.get("output_key")
    span = declarations.value_span("output_key")
    if span is not None and any(key.name == output for key in declarations.inputs):
        yield Finding(span, f"`{output}` is an input as well", removed_input(file, str(output)))


@rule(severity="warning", kinds=OBJECT_KINDS)
def misspelled_object_key(file: File) -> Iterator[Finding]:
    """Yield the keys of the object that are similar to a known key."""
    root = file.template.root
    if root is None:
        return
    form = form_of(file.template.declarations.data)
    if form is None:
        yield from _in_mapping(root, PROMPT_KEYS, HEADER_KEYS)
    else:
        yield from _in_saved(root, form, ())


def _in_saved(node: Node, form: Form, path: tuple[str, ...]) -> Iterator[Finding]:
    """Yield the keys below a node of a saved file."""
    if isinstance(node, Sequence):
        for item in node.items:
            yield from _in_saved(item, form, (*path, "-"))
    elif isinstance(node, Mapping) and (keys := saved_keys(form, path)):
        yield from _in_mapping(node, keys, () if path else (*PROMPT_KEYS, *HEADER_KEYS))
        for key in keys.keys() & node.indexes.keys():
            value = node.value(key) if has_keys_below(form, (*path, key)) else None
            if value is not None:
                yield from _in_saved(value, form, (*path, key))


def _in_mapping(node: Mapping, keys: AnyMapping[str, KeyFact], others: Iterable[str]) -> Iterator[Finding]:
    present = node.indexes.keys()
    if present <= keys.keys():
        return
    known = {*keys, *others}
    for entry in node.entries:
        key = key_text(entry)
        if key is None or key in known:
            continue
        meant = next((each for each in sorted(known - present) if is_close(key, each)), None)
        if meant is not None:
            severity: Severity | None = "error" if meant in keys and keys[meant].required else None
            message = f"Ragas ignores `{key}`"
            yield Finding.suggest(entry.key.span, message, meant, preferred=True, severity=severity)


_BRACES: Final = re.compile(r"\{\{|\}\}|[{}]")
_DOUBLED: Final = re.compile(r"\{\{[ ]*(\w+)[ ]*\}\}")
_FIELD: Final = re.compile(r"\{(\w+)(?:![rsa])?(?::[^{}]*)?\}")


@rule(severity="warning", kinds=OBJECT_KINDS)
def unescaped_brace(file: File) -> Iterator[Finding]:
    """Yield the braces that Python would read as fields."""
    root = file.template.root
    declarations = file.template.declarations
    if root is None or not declarations.declares_inputs:
        return
    inputs = [key.name for key in declarations.inputs]
    scalars: list[Scalar] = []
    instruction = root.value("instruction")
    if isinstance(instruction, Scalar):
        scalars.append(instruction)
    kind = root.value("output_type")
    if kind is not None and scalar_text(kind) == "str":
        scalars += scalars_below(root.value("examples"))
        yield from _mappings(file, kind)
    for scalar in scalars:
        located = file.template.source.located(scalar.span.start)
        for finding in _in_text(located.chunk, scalar.moved(-located.start), inputs):
            yield finding.shifted(located.start)


def _mappings(file: File, kind: Node) -> Iterator[Finding]:
    """Yield an output type for which the braces of mappings in examples are not escaped."""
    declared = file.template.declarations
    values = [value for example in declared.examples for value in example.data.values()]
    if not any(map(_has_mapping, values)):
        return
    message = "the braces of mappings in examples are read as inputs, so formatting the prompt fails"
    output = str(declared.data.get("output_key"))
    if all(isinstance(example.data.get(output), dict | list) for example in declared.examples):
        yield Finding.suggest(kind.span, message, "json")
    else:
        yield Finding(kind.span, message)


def _has_mapping(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_mapping, value)))


def _in_text(chunk: Chunk, scalar: Scalar, inputs: list[str]) -> Iterator[Finding]:
    text = _mask(chunk, scalar.span)
    position = 0
    while match := _BRACES.search(text, position):
        position = match.end()
        if match[0] in {"{{", "}}"}:
            doubled = _DOUBLED.match(text, match.start())
            if doubled is not None and doubled[1] in inputs and not scalar.dynamic:
                span = Span(*doubled.span()).shifted(scalar.span.start)
                message = "this is text, and no input: braces are written once around an input"
                yield Finding(span, message)
            continue
        field = _FIELD.match(text, match.start())
        if field is not None and field[1] in inputs:
            position = field.end()
            continue
        end = _closing(text, match.start()) if match[0] == "{" else match.end()
        if scalar.dynamic and (field is None or _touches_tag(chunk, field.span(), scalar.span.start)):
            continue  # the output of an adjacent tag may belong to it
        span = Span(match.start(), end).shifted(scalar.span.start)
        position = end
        if field is not None and nearest(field[1], inputs):
            found = misspelled(span, f"`{field[1]}` is not an input", field[1], inputs)
            fixes = tuple(Fix(fix.title, _renamed(fix.edits), fix.preferred) for fix in found.fixes)
            yield Finding(span, found.message, fixes)
        else:
            message = "these braces are read as an input, so formatting the prompt fails"
            yield Finding(span, message, _fixes(chunk, span))


def _touches_tag(chunk: Chunk, field: tuple[int, int], by: int) -> bool:
    start, end = field[0] + by, field[1] + by
    return any(
        tag.span.end == start or tag.span.start == end or tag.span.covers(start)
        for tag in chunk.tags
        if tag.kind != "raw"
    )


def _renamed(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    return tuple(Edit(edit.span, f"{{{edit.text}}}") for edit in edits)


def _fixes(chunk: Chunk, span: Span) -> tuple[Fix, ...]:
    """Return the fix that doubles the braces; none in a raw block or for a single unmatched brace."""
    text = chunk.slice(span)
    if chunk.tags_at(span) or text[-1] != "}":
        return ()
    doubled = text.replace("{", "{{").replace("}", "}}")
    return (Fix("Write the braces twice", (Edit(span, f"{{% raw %}}{doubled}{{% endraw %}}"),)),)


def _closing(text: str, start: int) -> int:
    """Return the end of the braces that open at `start`, or of the one brace if they are never closed."""
    depth = 0
    for index in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    return start + 1


def _mask(chunk: Chunk, span: Span) -> str:
    """Return the text of a span with tags replaced by spaces, except for the content of raw blocks."""
    text = list(chunk.slice(span))
    for tag in chunk.tags:
        masked = [tag.span]
        if tag.kind == "raw":
            masked = [Span(tag.span.start, tag.body.start), Span(tag.body.end, tag.span.end)]
        for each in masked:
            for index in range(max(each.start, span.start), min(each.end, span.end)):
                text[index - span.start] = " "
    return "".join(text)
