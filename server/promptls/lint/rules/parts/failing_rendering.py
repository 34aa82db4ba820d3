"""Prompt that fails to render with its sample.

Renders the prompt with its sample, as Prompt Poet does, and reports where Jinja fails: at a value that
does not have the structure that the template expects, at an operation that its sandbox forbids, or at a
loop that takes longer, or more memory, than the settings allow (`rendering.timeout`,
`rendering.memory`). Samples and functions that cannot be read are reported in the header.

An evaluation prompt is built for its first row, as OpenCompass does. Failures that its data cause are
reported, such as a training row that does not exist, or an answer that no label has.

If the values are generated, because no sample data are available, only failures that the data cannot cause are
reported: exceeded limits, tags that read nothing but `loop` and constants, macros that read their `caller` and are
not called by a `call` block, and attributes that are set of what is not a `namespace`, unless others are read that
the file never sets: then another file includes it.

Problems that another rule finds on the same line without rendering are left to that rule, and so are missing files
that `unresolved-include` reports, and syntax errors in an included file that is open itself. An include that is found
only from a folder around the file is not reported, because a program may load its templates from there.

## Why is this bad?

The program that loads the prompt gets an exception instead of a prompt.

## Example

```yaml
{#---
input_keys: [user]
output_key: answer
examples: [{user: {name: Ada}, answer: '"hello"'}]
---#}
- name: greeting
  content: |
    Hello {{ user.address.city | trim }}!
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ failing-rendering
```

Use instead:

```yaml
{#---
input_keys: [user]
output_key: answer
examples: [{user: {name: Ada}, answer: '"hello"'}]
---#}
- name: greeting
  content: |
    Hello {{ user.name | trim }}!
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from promptls.dialects.prompt_poet.failures import NO_CALLER, NO_NAMESPACE
from promptls.lint.analysis.namespaces import gets_namespace
from promptls.lint.analysis.sampled_values import sample_problems, texts_used_as_mappings
from promptls.lint.analysis.unmatched_names import needed_inputs
from promptls.lint.rule import File, Finding, RelatedInformation, rule
from promptls.rendering.file_rendering import describe_sample
from promptls.rendering.outcome import EVALUATION_FAILURE, RenderFailure
from promptls.rendering.samples import Sample
from promptls.semantic.kind import Kind
from promptls.semantic.names.template_names import statement_at
from promptls.semantic.template import Template
from promptls.syntax.jinja.nodes import Name, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.source import NAMING
from promptls.text.positions import Span
from promptls.workspace.include_graph import path_in

_RESOURCE_FAILURES: Final = frozenset({"timeout", "memory"})
_DATA_FAILURES: Final = frozenset({"render", "sandbox"})
_OF_VALUES: Final = frozenset({"html-escape", "unescaped-multiline-input", "unquoted-input"})
"""Rules about values that YAML or the model misreads, which explain no failure of Jinja."""
_QUOTED: Final = re.compile("`[^`]+`")
_IN_HEADER: Final = {"functions": "functions"}
"""Failures that are reported at a key of the header; `invalid-sample` reports those of `samples`."""


@rule(severity="error", kinds=frozenset({Kind.PARTS, Kind.EVALUATION}), needs="rendering")
def failing_rendering(file: File) -> Iterator[Finding]:
    """Yield the failure of a rendering, if it failed before YAML was parsed."""
    rendering = file.rendering
    if rendering is None:
        return
    failure = rendering.failure
    if failure is None or _is_reported_there(file, failure) or _is_from_another_folder(file, failure):
        return
    if failure.kind in _IN_HEADER:
        span = file.template.declarations.value_span(_IN_HEADER[failure.kind])
        if span is not None:
            yield Finding(span, failure.message)
    elif failure.kind == EVALUATION_FAILURE:
        # Problems of the configuration alone are found without rendering, and with better messages.
        if rendering.is_exact and not _has_error(file):
            span, related = _places(file, failure)
            yield Finding(
                span, f"with {describe_sample(rendering.sample)}: {failure.message}", related=related
            )
    elif failure.kind in _RESOURCE_FAILURES | _DATA_FAILURES:
        span, related = _places(file, failure)
        is_certain = (
            rendering.is_exact
            or failure.kind in _RESOURCE_FAILURES
            or _reads_no_input(file, span)
            or NO_CALLER in failure.message
            or (NO_NAMESPACE in failure.message and not gets_namespace(file))
        )
        is_known = _is_known(file, span, rendering.sample) or _is_named_elsewhere(file, failure)
        if is_certain and not is_known and not _is_wrong_sample(file, rendering.sample):
            yield Finding(
                span, f"with {describe_sample(rendering.sample)}: {failure.message}", related=related
            )


def _reads_no_input(file: File, span: Span) -> bool:
    """Return whether a tag fails with any data: it reads only `loop`, and variables that are constants."""
    located = file.template.source.located(span.start)
    tag = next((tag for tag in located.chunk.tags if tag.span.shifted(located.start) == span), None)
    if tag is None:
        return False
    if tag_tree(tag).statement.keyword in NAMING:
        return False  # What it includes may fail because of the data; `unresolved-include` reports names.
    nodes = [node for each in tag_tree(tag).statement.expressions for node in walk(each)]
    read = {node.name for node in nodes if isinstance(node, Name)}
    return bool(nodes) and read <= {"loop"} | _constants(file)


def _constants(file: File) -> frozenset[str]:
    """Return the variables that are only set, and to values that read nothing."""
    names = file.template.names
    found = names.bound_names("set") - names.bound_otherwise("set")
    for binding in names.bindings_of("set"):
        statement = statement_at(file.template, binding.span.start)
        expressions = statement.expressions if statement is not None else ()
        if not expressions or any(isinstance(node, Name) for each in expressions for node in walk(each)):
            found -= {binding.name}
    return found


def _is_reported_there(file: File, failure: RenderFailure) -> bool:
    """Return whether the failure is a syntax error in an open included file, which is reported there."""
    path = failure.path
    if path is None or path == file.path or path not in file.snapshot.open_paths():
        return False
    other = file.snapshot.template(path)
    return other is not None and bool(other.syntax_problems) and file.snapshot.kind(path) is not Kind.OTHER


def _is_from_another_folder(file: File, failure: RenderFailure) -> bool:
    """Return whether the failing line names a file that is there for a program with another folder."""
    path = failure.path or ""
    template = file.snapshot.template(path)
    if template is None:
        return False
    folder = str(Path(file.path).parent)
    return any(
        template.source.line_column(each.span.start).line == failure.line
        and (place := path_in(folder, each.name or "")) is not None
        and not file.snapshot.exists(place)
        and file.snapshot.resolve(path, each) is not None
        for each in template.references
    )


def _places(file: File, failure: RenderFailure) -> tuple[Span, tuple[RelatedInformation, ...]]:
    """Return the failing line; for an included file, the include in this file and the failing line there."""
    if failure.path == file.path and failure.line is not None:
        return _visible(file.template, failure.line), ()
    other = file.snapshot.template(failure.path or "")
    if other is None or failure.line is None or failure.path is None:
        return _visible(file.template, 0), ()
    place = RelatedInformation(failure.path, _visible(other, failure.line), "this is the line that fails")
    line_column = file.template.source.line_column
    for reference in file.template.references:
        is_there = failure.include_line in {None, line_column(reference.span.start).line}
        if is_there and file.snapshot.resolve(file.path, reference) == failure.path:
            return reference.span, (place,)
    return _visible(file.template, failure.include_line or 0), (place,)


def _visible(template: Template, line: int) -> Span:
    """Return the only tag that begins on a line and can fail, else the stripped line."""
    span = template.source.line_span(line)
    located = template.source.located(span.start)
    tags = [
        tag.span.shifted(located.start)
        for tag in located.chunk.tags
        if tag.kind in {"output", "statement"}
        and span.start <= located.start + tag.span.start < span.end
        and not tag_tree(tag).statement.keyword.startswith(("end", "else", "macro"))
    ]
    return tags[0] if len(tags) == 1 else template.source.stripped_line(line)


def _is_known(file: File, span: Span, sample: Sample) -> bool:
    """Return whether a rule that needs no rendering reports an error or a warning on the line.

    What a program does not pass explains only failures with the data of the program.
    """
    unrelated = _OF_VALUES if sample.kind == "call" else _OF_VALUES | {"missing-template-data"}
    line_column = file.template.source.line_column
    line = line_column(span.start).line
    return any(
        line_column(finding.span.start).line <= line <= line_column(finding.span.end).line
        for finding in file.found
        if finding.severity == "error"
        or (finding.severity == "warning" and not finding.unnecessary and finding.rule not in unrelated)
    )


def _is_named_elsewhere(file: File, failure: RenderFailure) -> bool:
    """Return whether `unresolved-include` reports the missing file at the value that names it."""
    return any(
        finding.rule == "unresolved-include" and name[0] in failure.message
        for finding in file.found
        if (name := _QUOTED.search(finding.message)) is not None
    )


def _is_wrong_sample(file: File, sample: Sample) -> bool:
    """Return whether `invalid-sample` reports the sample, or `missing-dataset-column` the dataset of its row."""
    if sample.kind == "row":
        texts = sample.data if sample.source.lower().endswith(".csv") else ()
        lacks_input = bool(needed_inputs(file, frozenset(map(str, sample.data))))
        return lacks_input or any(texts_used_as_mappings(file, texts))
    return sample.kind == "named" and any(sample_problems(file, sample))


def _has_error(file: File) -> bool:
    """Return whether a rule that needs no rendering reports an error or a misspelled key in the file."""
    return any(
        finding.severity == "error" or any(fix.preferred for fix in finding.fixes) for finding in file.found
    )
