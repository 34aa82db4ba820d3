"""Invalid header or unknown header key.

## What it does

Reports YAML errors in the header, unknown keys (with the most similar known key), values of the wrong
type, unknown JSON Schema types, schemas that no value fits, unknown encodings, and a `functions` file that does not exist.
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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from promptls.dialects.ragas.prompt_object import OUTPUT_TYPES
from promptls.lint.analysis.declared_experiments import NameProblem
from promptls.lint.analysis.declared_types import keywords_problems, schema_problems
from promptls.lint.fixes.misspellings import misspelled, near_file
from promptls.lint.rule import DECLARING_KINDS, Edit, File, Finding, Fix, rule
from promptls.security.files import current_scope, is_file, join_path
from promptls.semantic.header import CLOSING, OPENING, HeaderProblem
from promptls.semantic.kind import Kind, top_keys
from promptls.syntax.yaml.nodes import Mapping, Node, scalar_text
from promptls.text.positions import Span
from promptls.text.suggest import is_close
from promptls.workspace.contract import functions_path


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
    from promptls.tokens import ENCODING_NAMES, UnknownEncodingError, encoding_name
    from promptls.tokens.tokenizer_files import is_tokenizer_file

    name = file.template.declarations.settings.encoding
    span = file.template.declarations.value_span("encoding")
    if span is None or name is None or name in ENCODING_NAMES:
        return
    if is_tokenizer_file(name):
        path = join_path(Path(file.path).parent, name)
        if current_scope().allows(path) and not is_file(path):
            yield Finding(span, f"tokens cannot be counted: there is no file `{name}` beside the prompt")
        return
    try:
        encoding_name(name)
    except UnknownEncodingError as error:
        fix = Fix.change_to(span, error.nearest)
        yield Finding(span, f"tokens cannot be counted: {str(error)[:1].lower()}{str(error)[1:]}", (fix,))


def _large_step(file: File) -> Iterator[Finding]:
    settings = file.template.declarations.settings
    limit, step = settings.token_limit, settings.truncation_step
    span = file.template.declarations.value_span("truncation_step")
    if span is not None and limit is not None and step is not None and 0 < limit < step:
        message = f"each truncation removes {step} tokens or more, and only {limit} are allowed"
        yield Finding(span, message, severity="warning")


def _unknown_output_type(file: File) -> Iterator[Finding]:
    """Yield an unknown output type; `invalid-prompt-object` reports those of objects."""
    word = file.template.declarations.data.get("output_type")
    span = file.template.declarations.value_span("output_type")
    if file.kind is Kind.OBJECT or span is None or not isinstance(word, str):
        return
    if word.lower() not in OUTPUT_TYPES:
        found = misspelled(span, "the output types are `json` and `str`", word, OUTPUT_TYPES)
        yield replace(found, severity="warning")
