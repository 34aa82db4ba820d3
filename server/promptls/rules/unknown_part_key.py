"""A key that a part of Prompt Poet cannot have.

## What it does

Reports keys of a part other than `name`, `content`, `role`, `truncation_priority`,
`sections`, `expected_template_data_keys` and `tokens`.

## Why is this bad?

Prompt Poet refuses the part: "PromptPart.__init__() got an unexpected keyword argument".

## Example

```yaml
- name: system
  contnet: You are helpful.
  ^^^^^^^ unknown-part-key: `contnet` is no key of a part; did you mean `content`?
  content: You are helpful.
```

Use instead:

```yaml
- name: system
  content: You are helpful.
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.meaning.parts import chunk_items
from promptls.rules.misspelt import misspelt
from promptls.rules.rule import PARTS_KINDS, Finding, Rule
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import key_text
from promptls.systems.prompt_poet.vocabulary import PART_KEYS


def check_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    """The keys of the chunk's parts that no part can have."""
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            key = key_text(entry)
            if key is None or key in PART_KEYS or key == "<<":
                continue
            yield misspelt(entry.key.span, f"`{key}` is no key of a part", key, PART_KEYS)


RULE = Rule(
    name="unknown-part-key",
    summary="a key that a part of Prompt Poet cannot have",
    severity="error",
    module=__name__,
    kinds=PARTS_KINDS,
    check_chunk=check_chunk,
)
