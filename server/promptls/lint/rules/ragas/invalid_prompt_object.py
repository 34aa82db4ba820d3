"""Prompt object that Ragas rejects or misinterprets.

## What it does

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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from promptls.dialects.ragas.prompt_object import (
    NEWER_FILE_KEYS,
    PROMPT_KEYS,
    ObjectProblem,
    object_problems,
    release_of,
)
from promptls.dialects.ragas.saved_prompt import form_of
from promptls.dialects.ragas.saved_prompt_checks import saved_problems
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.fixes.yaml_edits import BLANK, added_entry, colon_end
from promptls.lint.rule import OBJECT_KINDS, Edit, File, Finding, Fix, Rule
from promptls.semantic.kind import top_keys
from promptls.semantic.template import Template
from promptls.settings.header import HEADER_KEYS
from promptls.syntax.language import Host
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text, scalar_text
from promptls.text.positions import Span
from promptls.text.suggest import is_close


def check(file: File) -> Iterator[Finding]:
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
            yield found


def _place(template: Template, root: Mapping, problem: ObjectProblem) -> Finding | None:
    """Return the finding for a problem; None if Jinja may print what is missing."""
    message = problem.message.removesuffix(".")
    if not message.startswith("Ragas"):
        message = message[0].lower() + message[1:]
    severity = None if problem.severity == "error" else problem.severity
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
            found = _missing(template, node, str(problem.path[-1]), message, top=len(problem.path) == 1)
            return found and replace(found, severity=severity)
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
        found = misspelled(place, message, written or "", problem.known)
        return replace(found, severity=severity)
    text = template.source.text
    if node.span.is_empty() and text[node.span.end :].lstrip().startswith(("{{", "{%")):
        return None
    return Finding(place, message, _filled_in(template, entry, problem), severity=severity)


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
        is_misspelled = any(
            is_close(str(name), key) for name in names
        )  # `misspelled-object-key` reports a typo
        return None if is_misspelled else Finding(node.entries[0].key.span, message)
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
    if output is None and declarations.inputs is None and len(shown) > 1:
        output = next((name for name in _OUTPUTS if name in shown), shown[-1])
        if key == "output_key":
            return str(output)
    if key == "input_keys":
        inputs = [name for name in shown if name != output]
        return f"[{', '.join(inputs)}]" if inputs else None
    if key == "output_key":
        inputs = [each.name for each in declarations.inputs or ()]
        others = [name for name in shown if name not in inputs]
        return others[0] if len(others) == 1 and inputs else "output"
    return {"instruction": BLANK, "examples": "[]"}.get(key)


RULE = Rule(check, severity="error", kinds=OBJECT_KINDS)
