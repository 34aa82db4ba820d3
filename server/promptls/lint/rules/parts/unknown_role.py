"""Unknown role.

Reports a `role` that is not in the setting `roles`: a literal, a text that a printed expression can
evaluate to (`{{ "usr" if is_first else "system" }}`), a text in the branches of an `if`, and a literal
that is assigned to the variable that a role prints, also in a loop over a literal list, and a text that a sample
has, or the `enum` of `input_keys` allows, for a value that a role prints. A role that is
null, a list or a mapping is reported too. A role that differs from the one in the name of its part, as in
`system instructions`, is a hint.

## Why is this bad?

Prompt Poet passes on any role; the provider then refuses the message.

## Example

```yaml
- name: instructions
  role: sytem
        ^^^^^ unknown-role: no model knows the role `sytem`; did you mean `system`?
  content: You are helpful.
```

Use instead:

```yaml
- name: instructions
  role: system
  content: You are helpful.
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from promptls.lint.analysis.part_values import assigned_values, printed_values
from promptls.lint.analysis.unmatched_names import samples_of, without_source
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.fixes.yaml_edits import colon_end
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, each_chunk_given, rule
from promptls.semantic.flow.paths import Path, Step
from promptls.semantic.parts import Part, chunk_items, written_span
from promptls.semantic.printed_inputs import printed_roles, values_at
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, Scalar, key_text, scalar_text
from promptls.text.format import shorten_line
from promptls.text.positions import Span

_MAX_SHOWN: Final = 40
"""The maximum number of characters of a sample's text in a message."""
_MAX_OFFERS: Final = 3
"""The maximum number of suggestions for an empty role."""
_ROLE_IN_NAME: Final = re.compile(
    r"(system|user|assistant)[ _-]?(?:instruction|prompt|message|query|question|input|reply|response|answer)s?\b",
    re.IGNORECASE,
)
"""A name of a part that says who the author is."""


FOREIGN_ROLES: Final = {
    "ai": "assistant",
    "bot": "assistant",
    "chatbot": "assistant",
    "gpt": "assistant",
    "human": "user",
    "instruction": "system",
    "instructions": "system",
    "model": "assistant",
}
"""Roles of other libraries and providers, with those of chat messages."""


def _misspelled(span: Span, message: str, name: str, roles: Iterable[str]) -> Finding:
    """Return the finding for an unknown role, with the role that it is called elsewhere or resembles."""
    meant = FOREIGN_ROLES.get(name.casefold())
    if meant is None or meant not in roles:
        return misspelled(span, message, name, roles)
    return Finding.suggest(span, message, meant)


@each_chunk_given(lambda file: file.project)
def _in_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            if key_text(entry) == "role":
                yield from _of_entry(chunk, part, entry, project)


@rule(severity="warning", kinds=PARTS_KINDS)
def unknown_role(file: File) -> Iterator[Finding]:
    """Yield the unknown roles of parts, and unknown roles assigned to variables that are used as roles."""
    yield from _in_chunk(file)
    roles = file.project.roles
    yield from _unquoted(file, roles)
    yield from _in_samples(file, roles)
    for name, printed in assigned_values(file, "role"):
        if printed.text not in roles:
            message = f"`{name}` is a role, and no model knows the role `{printed.text}`"
            yield _misspelled(printed.span, message, printed.text, roles)


_PRINTED_PATH: Final = re.compile(r"[\"']?\{\{-?\s*\w+(?:\.\w+|\[['\"]?\w+['\"]?\])*\s*-?\}\}[\"']?")


def _in_samples(file: File, roles: list[str]) -> Iterator[Finding]:
    """Yield the roles that print a text of a sample, or of a declared `enum`, that is no role."""
    samples = samples_of(file)
    declared = file.template.declarations.schemas
    found: dict[Span, Finding] = {}
    allowed = samples or any(option not in roles for option in _options(declared))
    for span, path in printed_roles(file.template) if allowed else ():
        if not _PRINTED_PATH.fullmatch(file.template.source.slice(span)):
            continue
        enums = [schema["enum"] for schema in values_at(declared, _in_schema(path)) if "enum" in schema]
        for option in enums[0] if enums and isinstance(enums[0], list) else ():
            if isinstance(option, str) and option not in roles:
                message = f"`input_keys` allows `{shorten_line(option, _MAX_SHOWN)}` here, a role that no model knows"
                found.setdefault(span, Finding(span, message))
        if enums:
            continue  # `invalid-sample` reports other values
        for sample in samples:
            texts = [text for text in values_at(sample.data, path) if isinstance(text, str)]
            unknown = next((text for text in texts if text not in roles), None)
            if unknown is not None:
                shown = shorten_line(unknown, _MAX_SHOWN)
                message = f"in the sample `{sample.name}`, this is `{shown}`, a role that no model knows"
                found.setdefault(span, Finding(span, message))
    yield from found.values()


def _options(schema: object) -> Iterator[str]:
    """Yield the texts that each `enum` in a schema allows."""
    for key, value in schema.items() if isinstance(schema, dict) else ():
        if key == "enum" and isinstance(value, list):
            yield from (each for each in value if isinstance(each, str))
        else:
            yield from _options(value)


def _in_schema(path: Path) -> Path:
    """Return the path in a JSON Schema to the schema of the value at a path."""
    steps = [path[0]]
    for step in path[1:]:
        is_key = isinstance(step.key, str)
        steps += [Step("properties"), step] if is_key else [Step("items")]
    return tuple(steps)


_PRINTED: Final = re.compile(r"[\"']?\{\{-?\s*(\w+)\s*-?\}\}[\"']?")


def _unquoted(file: File, roles: list[str]) -> Iterator[Finding]:
    """Yield the roles that Jinja reads as variables, if nothing gives them a value."""
    names = file.template.names
    unknown = without_source(file, names.input_names.intersection(roles) - names.all_bound_names)
    found: dict[str, list[Span]] = {}
    for placed in file.template.parts if unknown else ():
        value = placed.part.value("role")
        span = value.span.shifted(placed.start) if isinstance(value, Scalar) else None
        match = _PRINTED.fullmatch(file.template.source.slice(span)) if span is not None else None
        if span is not None and match is not None and match[1] in unknown:
            found.setdefault(match[1], []).append(span)
    for name, spans in found.items():
        if len(spans) != len(list(names.references_of(name))):
            continue
        message = f"Jinja reads `{name}` as a variable; did you mean the role itself?"
        for span in spans:
            yield Finding(span, message, (Fix.change_to(span, name),))


def _of_entry(chunk: Chunk, part: Part, entry: Entry, project: Project) -> Iterator[Finding]:
    value = entry.value
    if not isinstance(value, Scalar):
        yield Finding(value.span, "a role is a word, such as `user`; no model knows this one")
    elif value.dynamic:
        for word, span, condition in printed_values(chunk, entry.key.span, value):
            if not condition and word and word not in project.roles:
                yield _misspelled(span, f"no model knows the role `{word}`", word, project.roles)
        yield from _in_branches(chunk, entry, value)
    elif value.span.is_empty():
        if part.is_whole:
            place = Span(entry.key.span.end, colon_end(chunk.text, entry))
            offered = project.roles[:_MAX_OFFERS]
            fixes = tuple(Fix(f"Write `{role}`", (Edit(place, f": {role}"),)) for role in offered)
            yield Finding(entry.key.span, "this role is empty: the model gets `null` for it", fixes)
    elif value.tag == "null" or value.text not in project.roles:
        shown = value.text.replace("\n", "\\n")
        message = f"no model knows the role `{shown}`"
        yield _misspelled(written_span(chunk, value), message, value.text, project.roles)
    else:
        named = _ROLE_IN_NAME.match(scalar_text(part.value("name")) or "")
        meant = named[1].casefold() if named else value.text
        if meant != value.text and meant in project.roles:
            span = written_span(chunk, value)
            fix = Fix.change_to(span, meant)
            yield Finding(span, f"the part's name says `{meant}`", (fix,), severity="hint")
        yield from _in_branches(chunk, entry, value)


def _in_branches(chunk: Chunk, entry: Entry, value: Scalar) -> Iterator[Finding]:
    """Yield the conditions without which a role is empty."""
    for _, span, condition in printed_values(chunk, entry.key.span, value):
        if condition:
            yield Finding(span, f"where `{condition}` is false, this role is empty")
