"""A special token of a model, written into a prompt.

## What it does

Reports the special tokens of the tiktoken encoding (`<|endoftext|>`, `<|endofprompt|>`, with `cl100k_base`
also `<|fim_prefix|>` and its like) in a content, and markers that look like Prompt Poet's `<|space|>`
misspelt. The first other marker of this form in a part, such as `<|im_start|>`, is a hint: to tiktoken it
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

import re
from collections.abc import Iterator
from typing import Final

from promptls.meaning.contents import Content, chunk_contents
from promptls.meaning.header import Declarations
from promptls.rules.rule import PARTS_KINDS, Edit, Finding, Fix, Rule
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.text.nearest import is_slip
from promptls.text.span import Span

_MARKER: Final = re.compile(r"<\|[ ]?[A-Za-z][\w]*[ ]?\|>")
_WORD: Final = "space"
_SPACE: Final = f"<|{_WORD}|>"
_OF_EVERY_ENCODING: Final = frozenset({"<|endoftext|>", "<|endofprompt|>"})
_MORE: Final = {"cl100k_base": frozenset({"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"})}
"""The special tokens of tiktoken's definitions, beyond those that all of them have."""


def check_declared(chunk: Chunk, declarations: Declarations, project: Project) -> Iterator[Finding]:
    """The markers of special tokens in the chunk's contents."""
    if "<|" not in chunk.text:
        return
    encoding = declarations.settings.encoding or project.encoding
    refused = _OF_EVERY_ENCODING | _MORE.get(encoding, frozenset())
    found = [
        finding
        for content in chunk_contents(chunk)
        for span in _markers(chunk, content)
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
    elif marker[2:-2].strip() == _WORD or is_slip(marker[2:-2], _WORD):
        fix = Fix(f"Change to `{_SPACE}`", (Edit(span, _SPACE),), preferred=True)
        yield Finding(span, f"Prompt Poet leaves this as it stands; did you mean `{_SPACE}`?", (fix,))
    else:
        message = (
            "this is plain text to Prompt Poet and tiktoken; a model that has it as a token may act on it"
        )
        yield Finding(span, message, severity="hint")


def _markers(chunk: Chunk, content: Content) -> Iterator[Span]:
    """The markers in the text of a content; those in tags are for Jinja."""
    for match in _MARKER.finditer(chunk.text, content.value.span.start, content.value.span.end):
        tag = next((tag for tag in chunk.tags if tag.span.start <= match.start() < tag.span.end), None)
        if tag is None or (tag.kind == "raw" and match.start() >= tag.body.start):
            yield Span(match.start(), match.end())


RULE = Rule(
    name="special-token",
    summary="a special token of a model, written into a prompt",
    severity="warning",
    module=__name__,
    kinds=PARTS_KINDS,
    check_declared=check_declared,
)
