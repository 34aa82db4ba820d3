"""Note of the author in a text for the model.

Reports a line of a content that begins like a comment with `TODO`, `FIXME` or `XXX`, as in `# TODO: …`,
`// FIXME …` and `<!-- TODO …`, comments of other languages for templates, `{* … *}` and `{/* … */}`,
a comment of HTML in which a value is printed, and placeholders such as `[INSERT NAME]`. Lines in a code fence may be an example, and are not reported.

## Why is this bad?

In a text, neither YAML nor Jinja takes such a line for a comment: the model gets it. A comment of Jinja,
`{# … #}`, is not rendered.

## Example

```yaml
- name: instructions
  role: system
  content: |
    Answer in one sentence.
    # TODO: add examples
    ^^^^^^^^^^^^^^^^^^^^ leftover-note: this line is text: the model gets it
```

Use instead:

```yaml
- name: instructions
  role: system
  content: |
    Answer in one sentence.
    {#- TODO: add examples #}
```
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import PARTS_KINDS, Edit, Finding, Fix, each_chunk, rule
from promptls.semantic.parts import FENCE, chunk_contents, text_with_digits
from promptls.syntax.chunk import Chunk
from promptls.text.positions import Span

_NOTE: Final = re.compile(
    r"^[ ]*(?P<line>(?:#+|//+|<!--+)[ ]?(?P<note>(?:TODO|FIXME|XXX)\b(?:\([^)\n]*\))?(?::|[ ]+[a-z]).*?)(?:[ ]*--+>)?)[ ]*$",
    re.MULTILINE,
)
_PLACEHOLDER: Final = re.compile(r"\[(?:INSERT|FILL IN)\b[^\[\]{}\n]*\]|\blorem ipsum\b", re.IGNORECASE)
_FOREIGN: Final = re.compile(r"\{/?\*[^*{}\n]*\*/?\}")
"""A comment of Smarty or JSX."""
_WITH_TAG: Final = re.compile(r"<!--(?:(?!-->)[^\n])*\{\{(?:(?!-->)[^\n])*-->")
"""A comment of HTML in which a value is printed."""


@rule(severity="hint", kinds=PARTS_KINDS)
@each_chunk
def leftover_note(chunk: Chunk) -> Iterator[Finding]:
    """Yield the lines of contents that are notes of the author."""
    for content in chunk_contents(chunk) if "{*" in chunk.text or "{/*" in chunk.text else ():
        text, start = text_with_digits(chunk, content), content.value.span.start
        for match in _FOREIGN.finditer(text):
            written = match[0].strip("{}/* ")
            message = "this is no comment in Jinja: the model gets it"
            span = Span(*match.span()).shifted(start)
            fix = Fix.change_to(span, f"{{# {written} #}}")
            yield Finding(span, message, (fix,) if written and not chunk.tags_at(span) else ())
    for content in chunk_contents(chunk) if "<!--" in chunk.text else ():
        for match in _WITH_TAG.finditer(chunk.text, *content.value.span):
            yield Finding(
                Span(*match.span()), "this is no comment in Jinja: the model gets it, with the value"
            )
    for content in chunk_contents(chunk) if _PLACEHOLDER.search(chunk.text) else ():
        for match in _PLACEHOLDER.finditer(text_with_digits(chunk, content)):
            span = Span(*match.span()).shifted(content.value.span.start)
            yield Finding(span, "this is text: the model gets it as it is")
    for content in chunk_contents(chunk) if _NOTE.search(chunk.text) else ():
        text, start = text_with_digits(chunk, content), content.value.span.start
        fences = [fence.start() for fence in FENCE.finditer(text)]
        for match in _NOTE.finditer(text) if content.is_block else ():
            if bisect_left(fences, match.start()) % 2:
                continue
            span = Span(*match.span("line")).shifted(start)
            note = chunk.text[start + match.start("note") : start + match.end("note")]
            # The sign in the comment strips the line break before it, which must not be that of the block's mark.
            is_plain = not chunk.tags_at(span) and bool(text[: match.start()].partition("\n")[2].strip())
            fix = Fix("Make it a comment of Jinja", (Edit(span, f"{{#- {note} #}}"),))
            fixes = (fix,) if is_plain else ()
            yield Finding(span, "this line is text: the model gets it", fixes)
