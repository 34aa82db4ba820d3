"""Text that Jinja, YAML or JSON cannot parse.

# jinja-syntax

Jinja syntax error.

Reports tags, expressions and blocks that jinja2 refuses, each at the place of the error, with what was
expected and where the block or bracket was opened. One error never hides the others.

## Why is this bad?

The template cannot be loaded, so no prompt is sent.

## Example

```yaml
- name: ticket
  role: user
  content: |
    {{ text | }}
              ^^ jinja-syntax: expected a filter's name
```

Use instead:

```yaml
- name: ticket
  role: user
  content: |
    {{ text | trim }}
```

# yaml-syntax

YAML syntax error.

Removes the Jinja from the template, branch by branch, and reports the errors that libyaml, the parser of
Prompt Poet, finds in the rest. Nothing is reported if a printed value could make the text valid.

## Why is this bad?

The rendered text is not valid YAML, and the prompt fails when it is used.

## Example

```yaml
- name: system
  content: |
    You are helpful.
  role system
  ^^^^^^^^^^^ yaml-syntax: expected `:` after this key; text of a block scalar must be indented more than its key
```

Use instead:

```yaml
- name: system
  content: |
    You are helpful.
  role: system
```

# invalid-json

Prompt in a JSON file that is not valid JSON.

Reports the first error of a prompt's JSON file, such as a missing or an extra comma.

## Why is this bad?

Ragas and OpenCompass read the file with `json.load`, which raises an exception. YAML is more lenient, so
such a file may work elsewhere.

## Example

```yaml
-- saved.json --
{
  "instruction": "Answer the question.",
  "input_keys": ["question"],
  "output_key": "answer",
                        ^ invalid-json
}
```

Use instead:

```yaml
-- saved.json --
{
  "instruction": "Answer the question.",
  "input_keys": ["question"],
  "output_key": "answer"
}
```
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from promptls.lint.fixes.tag_fixes import jinja_fixes
from promptls.lint.fixes.yaml_edits import yaml_fixes
from promptls.lint.rule import (
    DECLARING_KINDS,
    EVALUATION_KINDS,
    OBJECT_KINDS,
    YAML_KINDS,
    Edit,
    File,
    Finding,
    Fix,
    RelatedInformation,
    apply_edits,
    rule,
)
from promptls.lint.rules.jinja.single_brace import missed_end, spaced_tags
from promptls.lint.rules.parts.unanalyzed_files import CONFLICT, CONFLICT_MESSAGE
from promptls.semantic.kind import Kind, has_keys_of_objects
from promptls.semantic.template import Template
from promptls.syntax.language import Host
from promptls.syntax.problem import SyntaxProblem
from promptls.syntax.source import Source
from promptls.text.errors import trailing_comma
from promptls.text.filenames import is_json_file
from promptls.text.format import lower_first
from promptls.text.positions import Span

_MAX_TRIED: Final = 30_000
"""In longer files, fixes are offered without being tried."""
_MAX_PROBLEMS: Final = 20
"""The fixes of further errors are offered without being tried: each trial reads the file again."""


@rule(severity="error", kinds=DECLARING_KINDS)
def jinja_syntax(file: File) -> Iterator[Finding]:
    """Yield the Jinja errors of the file."""
    yield from syntax_findings(file, "jinja", jinja_fixes)


def syntax_findings(
    file: File, language: str, fixes: Callable[[Template, SyntaxProblem], Iterable[Fix]]
) -> Iterator[Finding]:
    """Yield a finding for each syntax error in one of the file's languages, with its fixes."""
    problems = [
        each
        for each in file.template.syntax_problems
        if each.language == language and missed_end(each, spaced_tags(file)) is None
    ]
    for index, problem in enumerate(problems):
        related = tuple(RelatedInformation(file.path, item.span, item.message) for item in problem.related)
        found = tuple(
            fix
            for fix in fixes(file.template, problem)
            if index >= _MAX_PROBLEMS or _removes(fix, file, problem)
        )
        yield Finding(problem.span, problem.message, found, related)


def _removes(fix: Fix, file: File, problem: SyntaxProblem) -> bool:
    """Return whether the fix leaves fewer errors of the problem's language on its line.

    Fixes in long files are not tried, nor those that change another line.
    """
    source = file.template.source
    line = source.line_span(source.line_column(problem.span.start).line)
    if len(source) > _MAX_TRIED or any(not _within(edit, line) for edit in fix.edits):
        return True
    text = apply_edits(source.text, fix.edits)
    end = line.end + len(text) - len(source)
    fixed = Template(Source.of(text, source.language))
    return _count(fixed, problem, line.start, end) < _count(file.template, problem, line.start, line.end)


def _within(edit: Edit, line: Span) -> bool:
    return line.start <= edit.span.start and edit.span.end <= line.end


def _count(template: Template, problem: SyntaxProblem, start: int, end: int) -> int:
    """Return the number of errors in the language of `problem` between two offsets."""
    return sum(
        each.language == problem.language and start <= each.span.start <= end
        for each in template.syntax_problems
    )


_COMMENT: Final = re.compile(
    r"^(?P<key>[ ]*(?:-[ ]+)*)[^\n]*[|>][-+1-9]*[ ]*\n(?:[ ]*\n)*"
    r"(?:(?P<indent>[ ]+)\S[^\n]*\n(?:(?P=indent)[^\n]*\n|[ ]*\n)*)?"
    r"(?P<before>[ ]*)(?P<comment>#[^\n]*)\n(?:[ ]*\n)*\Z",
    re.MULTILINE,
)
"""A block, which may be empty, and directly before the YAML error a line on which a comment may begin."""
_LINES_ABOVE: Final = 200
"""How many lines above a YAML error are searched for the block that a comment ends."""


def outdented_comment(before: str) -> Finding | None:
    """Return the finding for a comment at the end of a text that ends the block above it, before more text."""
    if not before.rstrip(" \n").rpartition("\n")[2].lstrip(" ").startswith("#"):
        return None
    comment = _COMMENT.search(before)
    if comment is None:
        return None
    indent = comment["indent"] or " " * (len(comment["key"]) + 2)
    if len(comment["before"]) >= (len(indent) if comment["indent"] else len(comment["key"]) + 1):
        return None
    span = Span(*comment.span("comment"))
    edit = Edit.insert(span.start, indent[len(comment["before"]) :])
    message = "this line is indented less than the block, which ends here: YAML takes the line for a comment"
    return Finding(span, message, (Fix("Indent the line", (edit,), preferred=True),))


@rule(severity="error", kinds=YAML_KINDS)
def yaml_syntax(file: File) -> Iterator[Finding]:
    """Yield the YAML errors of the file; `invalid-json` reports those of JSON."""
    if file.template.source.language.host is Host.JSON:
        return
    source = file.template.source
    for finding in syntax_findings(file, "yaml", yaml_fixes):
        number = source.line_column(finding.span.start).line
        line = source.line_span(number)
        above = source.line_span(max(0, number - _LINES_ABOVE)).start
        if CONFLICT.match(source.slice(line)):
            yield Finding(line, CONFLICT_MESSAGE)
        elif (cause := outdented_comment(source.slice(Span(above, line.start)))) is not None:
            yield cause.shifted(above)
        else:
            yield finding


@rule(severity="error", kinds=OBJECT_KINDS | EVALUATION_KINDS | {Kind.OTHER})
def invalid_json(file: File) -> Iterator[Finding]:
    """Yield the first error of the JSON."""
    if not is_json_file(file.path) or file.snapshot.project(file.path).excludes(file.path):
        return
    text = file.template.source.text
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError as error:
        if not isinstance(error, json.JSONDecodeError):
            return  # a number with too many digits
        if file.kind is not Kind.OTHER or has_keys_of_objects(text):
            yield _finding(text, error)
    except RecursionError:
        return


def _finding(text: str, error: json.JSONDecodeError) -> Finding:
    start = len(text) - len(text.removeprefix("\ufeff"))
    comma = trailing_comma(error)
    if comma is not None:
        span = Span(start + comma, start + comma + 1)
        fix = Fix("Remove the comma", (Edit(span, ""),), preferred=True)
        return Finding(span, "JSON allows no comma after the last entry", (fix,))
    offset = start + error.pos
    end = len(text[:offset].rstrip())
    if error.msg.startswith("Expecting ',' delimiter") and text[offset : offset + 1] in {'"', "{", "["}:
        if _wants_key(f"{text[:end]},{text[end:]}", offset + 1):
            message = "this cannot be here: a `}` is missing above, or the name of a key"
            return Finding(Span(offset, offset + 1), message)
        fix = Fix("Add a comma", (Edit.insert(end, ","),), preferred=True)
        return Finding(Span(max(end - 1, 0), end), "a comma is missing after this entry", (fix,))
    span = Span(min(offset, len(text)), min(offset + 1, len(text)))
    return Finding(span, f"this is not JSON: {lower_first(error.msg)}")


def _wants_key(text: str, offset: int) -> bool:
    """Return whether JSON requires the key of an object at `offset`, and nothing is wrong before it."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        start = len(text) - len(text.removeprefix("\ufeff"))
        return error.pos + start == offset and error.msg.startswith("Expecting property name")
    return False
