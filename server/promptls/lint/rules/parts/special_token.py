"""Special token of a model in the text of a prompt.

## What it does

Reports the special tokens of the tiktoken encoding (`<|endoftext|>`, `<|endofprompt|>`, with `cl100k_base`
also `<|fim_prefix|>` and its like) in a content, and markers that look like Prompt Poet's `<|space|>`
misspelt. What is written out in a tag, a variable or a macro counts too where it is printed, and so does a file
of nothing but text that others include. The first other marker of this form in a part, such as `<|im_start|>`, is a hint: to tiktoken it
is plain text.

## Why is this bad?

tiktoken refuses to encode its special tokens, so `tokenize()` and `truncate()` of Prompt Poet fail with
"Encountered text corresponding to disallowed special token". A marker that Prompt Poet does not know
reaches the model as it stands: it counts as the several tokens that its characters make, and a model
whose own chat format has the marker may take it for the end of a message.

## Example

```yaml
- name: examples
  content: |
    Q: What is the capital of France? A: Paris.<|endoftext|>
                                               ^^^^^^^^^^^^^ special-token: tiktoken refuses this special token of o200k_base: counting and truncating fail
```

Use instead:

```yaml
- name: examples
  content: |
    Q: What is the capital of France? A: Paris.
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.marker_sources import markers_outside_tags, reaching_markers
from promptls.lint.rule import JINJA_KINDS, Edit, File, Finding, Fix, Rule, each_chunk_given
from promptls.semantic.contents import chunk_contents
from promptls.semantic.header import Declarations
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.text.positions import Span
from promptls.text.suggest import is_typo

_WORD: Final = "space"
_SPACE: Final = f"<|{_WORD}|>"
_OF_EVERY_ENCODING: Final = frozenset({"<|endoftext|>", "<|endofprompt|>"})
_MORE: Final = {"cl100k_base": frozenset({"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"})}
"""The special tokens of tiktoken's definitions, beyond those that all of them have."""


@each_chunk_given(lambda file: (file.template.declarations, file.project))
def _written(chunk: Chunk, given: tuple[Declarations, Project]) -> Iterator[Finding]:
    """Yield the markers of special tokens in the chunk's contents."""
    if "<|" not in chunk.text:
        return
    encoding, refused = _refused(*given)
    found = [
        finding
        for content in chunk_contents(chunk)
        for span in markers_outside_tags(chunk, content.value.span.start, content.value.span.end)
        for finding in _of_marker(chunk.text[span.start : span.end], span, refused, encoding)
    ]
    hints = [finding for finding in found if finding.severity == "hint"]
    yield from (finding for finding in found if finding.severity != "hint" or finding is hints[0])


def _of_marker(marker: str, span: Span, refused: frozenset[str], encoding: str) -> Iterator[Finding]:
    if marker in refused:
        message = f"tiktoken refuses this special token of {encoding}: counting and truncating fail"
        yield Finding(span, message, (Fix("Remove it", (Edit(span, ""),)),))
    elif marker == _SPACE:
        return
    elif marker[2:-2].strip() == _WORD or is_typo(marker[2:-2], _WORD):
        fix = Fix(f"Change to `{_SPACE}`", (Edit(span, _SPACE),), preferred=True)
        yield Finding(span, f"Prompt Poet leaves this as it stands; did you mean `{_SPACE}`?", (fix,))
    else:
        message = (
            "this is plain text to Prompt Poet and tiktoken; a model that has it as a token may act on it"
        )
        yield Finding(span, message, severity="hint")


def check(file: File) -> Iterator[Finding]:
    """Yield the special tokens in contents, and those that reach one from a variable, a macro or a tag."""
    yield from _written(file)
    encoding, refused = _refused(file.template.declarations, file.project)
    for each in reaching_markers(file):
        if each.marker in refused:
            by = "" if not each.owner else f", and `{each.owner}` is printed"
            message = f"tiktoken refuses this special token of {encoding}{by}: counting and truncating fail"
            yield Finding(each.span, message, (Fix("Remove it", (Edit(each.span, ""),)),))


def _refused(declarations: Declarations, project: Project) -> tuple[str, frozenset[str]]:
    """Return the encoding of a file, and the special tokens that it has."""
    encoding = declarations.settings.encoding or project.encoding
    return encoding, _OF_EVERY_ENCODING | _MORE.get(encoding, frozenset())


RULE = Rule(check, severity="warning", kinds=JINJA_KINDS)
