r"""Prompt whose rendered text is not YAML or not a list of parts.

Renders the prompt with its sample, as Prompt Poet does, and reports if the rendered text is not valid
YAML, or not a list of parts. The finding is at the value that causes the error, with the iteration of
the loop: a value is the cause if the text is valid with an ordinary word in its place. Otherwise it is
at the line of the template that printed the position of the YAML error.

If the values are generated, because no sample data are available, only failures that do not depend on
the values are reported.

## Why is this bad?

Prompt Poet raises a `ScannerError`, a `ParserError` or a `TypeError`, with a line number in a rendered
text that is not visible anywhere.

## Example

```yaml
{#---
input_keys: [messages]
output_key: answer
examples:
  - messages: [Hello., "It broke.\nPlease help!"]
    answer: '"bug"'
---#}
{% for message in messages %}
- name: message
  content: |
    {{ message }}
    ^^^^^^^^^^^^^ rendered-yaml: with example 1, in iteration 2 of `for message in messages`, this value makes the rendered text invalid YAML: a line break in it ends the block
{% endfor %}
```

Use instead:

```yaml
{#---
input_keys: [messages]
output_key: answer
examples:
  - messages: [Hello., "It broke.\nPlease help!"]
    answer: '"bug"'
---#}
{% for message in messages %}
- name: message
  content: |
    {{ escape_special_characters(message) }}
{% endfor %}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from promptls.lint.rule import Edit, File, Finding, Fix, RelatedInformation, rule
from promptls.lint.rules.parts.empty_content import empty_content
from promptls.lint.rules.parts.part_keys import (
    content_and_sections,
    missing_part_key,
    preset_tokens,
    unknown_part_key,
)
from promptls.lint.rules.parts.syntax_errors import outdented_comment
from promptls.lint.rules.parts.wrong_part_type import wrong_part_type
from promptls.lint.rules.whitespace.glued_text import glued_part
from promptls.lint.rules.whitespace.line_breaks import lost_line_break
from promptls.rendering.file_rendering import describe_sample
from promptls.rendering.outcome import RenderFailure
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.format import shorten_line
from promptls.text.positions import Span

_MAX_SHOWN: Final = 60
"""The maximum number of characters of a value or line in a message."""
_SHALLOW: Final = re.compile(
    r"[|>][-+1-9]*[ ]*\n(?:[ ]*\n)*(?P<indent>[ ]+)\S[^\n]*\n(?:(?P=indent)[^\n]*\n|(?!(?P=indent))[ ]*\n)*"
    r"(?!(?P=indent))(?P<before>[ ]*)(?P<tag>(?:-[ ]+)?\{\{[^\n]*?\}\})[^\n]*\n(?:(?P=before)[ ]+\S[^\n]*\n|[ ]*\n)*\Z"
)
"""A block, and before the YAML error a line that begins with a value and is indented less than the block."""
_BLOCK: Final = re.compile(
    r"[|>][-+1-9]*[ ]*\n(?:[ ]*\n)*(?P<indent>[ ]+)\S[^\n]*\n(?:(?P=indent)[^\n]*\n|[ ]*\n)*(?P<before>[ ]*)(?:-[ ]+)?\Z"
)
"""A block with its first line, and with white space, or a dash, in front of a value on a later line of its own."""
_STATIC: Final = (
    content_and_sections,
    empty_content,
    missing_part_key,
    preset_tokens,
    unknown_part_key,
    wrong_part_type,
)
"""The rules that check parts without a rendering."""
_ALSO_HINTS: Final = (missing_part_key, preset_tokens)
"""Those whose hints are about the failure too."""


@rule(severity="error", kinds=frozenset({Kind.PARTS}), needs="rendering")
def rendered_yaml(file: File) -> Iterator[Finding]:
    """Yield the failure of parsing the rendered YAML, at the place that caused it."""
    rendering = file.rendering
    if rendering is None:
        return
    failure = rendering.failure
    if failure is None or failure.kind not in {"yaml", "parts"}:
        return
    if not rendering.is_exact and not failure.whatever and not _is_text(file, failure):
        if failure.any_word or failure.span is not None:
            yield from _ends_block(file, failure)
        return
    if any(lost_line_break.check(file)) or any(glued_part.check(file)):
        return
    if any(_is_broken(file, path) for path in file.snapshot.included(file.path)):
        return
    span, related, in_file = _places(file, failure)
    may_be_known = failure.kind == "parts" or "could not determine a constructor" in failure.message
    if may_be_known and in_file is not None and _is_known(file, *in_file):
        return
    message = _message(failure, describe_sample(rendering.sample))
    if failure.value is None and _is_indented_include(file, failure):
        message += (
            "; only the first line of what this prints is indented (`{% filter indent(4) %}` indents all)"
        )
    yield Finding(span, message, _fixes(failure, file), related)


def _is_text(file: File, failure: RenderFailure) -> bool:
    """Return whether the template begins with text, so that it is not a list whatever the data is."""
    if failure.kind != "parts" or file.template.parts or file.template.references:
        return False
    chunk = file.template.source.first_chunk
    pieces = []
    position = 0
    for tag in chunk.tags:
        pieces.append(chunk.text[position : tag.span.start])
        position = tag.span.end
        if tag.kind != "comment":
            break
    else:
        pieces.append(chunk.text[position:])
    return "".join(pieces).lstrip("\ufeff \t\r\n")[:1].isalpha()


def _ends_block(file: File, failure: RenderFailure) -> Iterator[Finding]:
    """Yield the value that ends the block around it: in the first column, or less indented than the block."""
    source = file.template.source
    if failure.path != file.path or failure.line is None:
        return
    before = source.slice(Span(0, source.line_span(failure.line).start))
    if (found := outdented_comment(before)) is not None:
        yield replace(found, severity="warning")
        return
    if failure.span is not None:
        yield from _leaves_block(file, failure)
        return
    if (printed := _SHALLOW.search(before)) is not None:
        yield _outside(Span(*printed.span("tag")), printed["indent"][len(printed["before"]) :])


def _leaves_block(file: File, failure: RenderFailure) -> Iterator[Finding]:
    """Yield the value on a line of its own that is less indented than the block in front of it."""
    found = _tag(file.template, failure)
    if found is None:
        return
    span = found[1].span.shifted(found[0])
    block = _BLOCK.search(file.template.source.slice(Span(0, span.start)))
    if block is not None and len(block["indent"]) > len(block["before"]):
        at = block.end("before")
        yield _outside(Span(at, span.end), block["indent"][len(block["before"]) :])


def _outside(span: Span, missing: str) -> Finding:
    """Return the finding for a value that lacks white space in front of it."""
    return Finding(
        span,
        "the text that this prints ends the block, whose first line is indented deeper",
        (Fix("Indent the line", (Edit.insert(span.start, missing),)),),
        severity="warning",
    )


def _is_broken(file: File, path: str) -> bool:
    """Return whether a file has problems that other rules report."""
    template = file.snapshot.template(path)
    return (
        template is not None
        and bool(template.syntax_problems)
        and file.snapshot.kind(path) not in {Kind.OTHER, Kind.TEXT}
    )


def _message(failure: RenderFailure, sample: str) -> str:
    if failure.kind == "parts":
        return f"with {sample}{_iterations(failure)}, Prompt Poet refuses the rendered text. {failure.reason or failure.message}"
    if failure.value is not None:
        why = _why(failure)
        return f"with {sample}{_iterations(failure)}, this value makes the rendered text invalid YAML: {why}"
    cause = _reason(failure)
    line = ""
    if failure.rendered_line is not None:
        line = f" at its line {failure.rendered_line + 1}"
        if shown := _shown_line(failure):
            line += f", `{shown}`"
    return f"with {sample}{_iterations(failure)}, the rendered text is not valid YAML{line}: {cause}"


def _is_indented_include(file: File, failure: RenderFailure) -> bool:
    """Return whether an include or a macro with white space in front of its tag printed the failing text."""
    if failure.kind != "yaml" or failure.include_line is None:
        return False
    line = file.template.source.slice(file.template.source.line_span(failure.include_line))
    return line[:1] in {" ", "\t"} and "indent" not in line


def _why(failure: RenderFailure) -> str:
    """Return the reason that a value causes a failure, or the rendered line if there is no simpler one."""
    value = failure.value or ""
    if "\n" in value.rstrip("\n") and failure.escapable:
        return "a line break in it ends the block"
    return f"`{shorten_line(value, _MAX_SHOWN)}` ({_reason(failure)})"


def _reason(failure: RenderFailure) -> str:
    """Return libyaml's message, extracted from the failure's message."""
    message = failure.reason or failure.message
    return message.partition(": ")[2].partition(". ")[0].rstrip(".") or message


def _iterations(failure: RenderFailure) -> str:
    return f", in {', '.join(failure.iterations)}" if failure.iterations else ""


def _shown_line(failure: RenderFailure) -> str:
    marked = (line for line in (failure.excerpt or "").splitlines() if line.startswith(">"))
    return shorten_line(next(marked, "").partition("| ")[2], _MAX_SHOWN)


def _places(
    file: File, failure: RenderFailure
) -> tuple[Span, tuple[RelatedInformation, ...], tuple[Template, Span] | None]:
    """Return the positions in the checked file, in an included file, and of the tag that printed the text."""
    template = file.template
    if failure.line is None:
        return _first(template), (), None
    if failure.path == file.path:
        span = _place(template, failure)
        return span, (), (template, span)
    other = file.snapshot.template(failure.path or "")
    if other is None or failure.include_line is None:
        return _first(template), (), None
    inner = _place(other, failure)
    outer = next(
        (
            reference.span
            for reference in template.references
            if template.source.line_column(reference.span.start).line == failure.include_line
        ),
        template.source.stripped_line(failure.include_line),
    )
    related = RelatedInformation(failure.path or "", inner, "this is what printed it")
    return outer, (related,), (other, inner)


def _place(template: Template, failure: RenderFailure) -> Span:
    """Return the tag that printed the text, or else its line without surrounding white space."""
    assert failure.line is not None
    found = _tag(template, failure)
    if found is None and failure.kind == "parts":
        for placed in template.parts:
            if placed.part.entries and template.source.line_column(placed.span.start).line == failure.line:
                return placed.part.entries[0].key.span.shifted(placed.start)
    return found[1].span.shifted(found[0]) if found else template.source.stripped_line(failure.line)


def _tag(template: Template, failure: RenderFailure) -> tuple[int, Tag] | None:
    """Return the tag that printed the value, with its chunk's offset; None unless it is on the line."""
    if failure.span is None or failure.line is None or failure.span[1] > len(template.source):
        return None
    located = template.source.located(failure.span[0])
    spans = (
        (tag, located.start + tag.span.start, located.start + tag.span.end) for tag in located.chunk.tags
    )
    return next(((located.start, tag) for tag, first, last in spans if (first, last) == failure.span), None)


def _first(template: Template) -> Span:
    """Return the first key of the first part, or else the first line, if the whole text is wrong."""
    for placed in template.parts:
        if placed.part.entries:
            return placed.part.entries[0].key.span.shifted(placed.start)
    return template.source.stripped_line(0)


def _is_known(file: File, template: Template, span: Span) -> bool:
    """Return whether a rule that needs no rendering reports the problem of the part."""
    located = template.source.located(span.start)
    around = Span(located.start, located.start + located.chunk.length)
    in_template = replace(file, template=template)
    return any(
        around.touches(found.span.start)
        and (rule in _ALSO_HINTS or (found.severity or rule.severity) in {"error", "warning"})
        for rule in _STATIC
        for found in rule.check(in_template)
    )


def _fixes(failure: RenderFailure, file: File) -> tuple[Fix, ...]:
    """Return the fix that escapes the value, if rendering with it succeeded."""
    found = _tag(file.template, failure) if failure.path == file.path else None
    if not failure.escapable or found is None:
        return ()
    start, tag = found
    expressions = tag_tree(tag).statement.expressions
    if len(expressions) != 1:
        return ()
    span = expressions[0].span.shifted(start + tag.span.start)
    written = file.template.source.slice(span)
    return (Fix("Escape it", (Edit(span, f"escape_special_characters({written})"),)),)
