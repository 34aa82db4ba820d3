"""Characters that were lost because a file is not UTF-8.

## What it does

Reports prompt files that are not UTF-8, and the character U+FFFD, which programs put in place of bytes that
they cannot read. In a comment, that character is not reported.

## Why is this bad?

Prompt Poet, Ragas and OpenCompass read UTF-8 and fail with a `UnicodeDecodeError` for any other file.
Where U+FFFD is in the file itself, the model gets it instead of the letter that the author wrote.

## Example

```yaml
- name: place
  role: user
  content: Which bus goes to the caf�?
                                    ^ damaged-text: U+FFFD stands for a character that was lost
```

Use instead:

```yaml
- name: place
  role: user
  content: Which bus goes to the café?
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import DECLARING_KINDS, File, Finding, Rule
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary
from promptls.text.positions import Span

_LOST: Final = re.compile("\ufffd+")


def check(file: File) -> Iterator[Finding]:
    """Yield the first lost character of a file that is not UTF-8, or all that are in the file itself."""
    for located in file.chunks.where(_has_lost):
        for span in _lost(located.chunk):
            place = span.shifted(located.start)
            if not file.snapshot.is_utf8(file.path):
                message = "the file is not UTF-8 here, so that programs cannot read it: save it as UTF-8"
                yield Finding(place, message, severity="error")
                return
            if not _is_in_comment(located.chunk, span):
                yield Finding(place, "U+FFFD stands for a character that was lost")


@chunk_fact
def _lost(chunk: Chunk) -> tuple[Span, ...]:
    return tuple(Span(*match.span()) for match in _LOST.finditer(chunk.text))


_has_lost: Final = summary(lambda chunk: bool(_lost(chunk)), any)


def _is_in_comment(chunk: Chunk, span: Span) -> bool:
    return any(tag.kind == "comment" for tag in chunk.tags_at(span))


RULE = Rule(check, severity="warning", kinds=DECLARING_KINDS)
