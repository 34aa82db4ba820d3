"""Changing input before long fixed text.

Reports the first place at which the prompt differs between two requests, if at least 1,024 tokens of
fixed text follow it. The file is rendered twice, with another value of every input the second time, and
with the samples. Fixed text is what both prompts have, outside of loops. A difference that comes from an
included file is reported at the include. Inputs that the header declares with `const`, or with an
`enum` of one value, and those with names such as `today`, are the same in all requests. The tokens are
counted with the prompt's encoding.

1,024 tokens is the minimum length of a prompt for OpenAI, and for most models of Anthropic, to cache its
beginning (see their documentation of prompt caching: platform.openai.com/docs/guides/prompt-caching,
docs.anthropic.com/en/docs/build-with-claude/prompt-caching).

## Why is this bad?

Providers cache the beginning of a prompt up to the first character that differs, and charge a fraction
of the price for cached tokens. Everything after that place is processed, and charged, at the full price.
If the fixed text comes first, it is cached.

## Example

```yaml
- name: greeting
  role: system
  content: |
    The customer is called {{ customer }}.
                           ^^^^^^^^^^^^^^ unstable-prefix: `customer` varies per request, so the 1,200 tokens of fixed text after it cannot be prompt-cached; move them before it
- name: handbook
  role: system
  content: |
    … 1,200 tokens of fixed text …
```

Use instead:

```yaml
- name: handbook
  role: system
  content: |
    … 1,200 tokens of fixed text …
- name: greeting
  role: system
  content: |
    The customer is called {{ customer }}.
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.rule import File, Finding, rule
from promptls.rendering.varying_prefix import PromptChange
from promptls.semantic.kind import Kind
from promptls.syntax.jinja.file_blocks import block_at
from promptls.syntax.jinja.nodes import Name, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.truncation.prefix_cache import CACHES
from promptls.workspace.contract import needs_of

CACHE: Final = CACHES["openai"]
"""The cache whose rules are used; the others need at least as long a prefix."""


@rule(severity="hint", kinds=frozenset({Kind.PARTS}), needs="rendering")
def unstable_prefix(file: File) -> Iterator[Finding]:
    """Yield a finding at the tag that prints the first difference, or decides on it."""
    change = file.rendering.change if file.rendering is not None else None
    if change is None or not CACHE.readable(change.tokens):
        return
    found = _include(file, change.path) if change.path != file.path else _tag_before(file, change.offset)
    if found is not None:
        tag, start = found
        yield Finding(tag.span.shifted(start), _message(file, tag, change))


def _include(file: File, path: str) -> tuple[Tag, int] | None:
    """Return the first tag that includes a file which is `path` or leads to it, and its chunk's start."""
    for reference in file.template.references:
        target = file.snapshot.resolve(file.path, reference)
        if target is not None and path in file.snapshot.included(target):
            return _tag_before(file, reference.span.end)
    return None


def _tag_before(file: File, offset: int) -> tuple[Tag, int] | None:
    """Return the last tag that begins before an offset, and its chunk's start; of a block, its first tag."""
    source = file.template.source
    located = source.located(offset)
    for index in range(located.index, -1, -1):
        start = source.starts[index]
        for tag in reversed(source.chunks[index].tags):
            if start + tag.span.start > offset or tag.kind not in {"output", "statement"}:
                continue
            keyword = tag_tree(tag).statement.keyword_span.start if tag.kind == "statement" else 0
            block = block_at(source, start + tag.span.start + keyword) if keyword else None
            if block is None or block.tags[0].start == start + tag.span.start:
                return tag, start
            return _tag_before(file, block.tags[0].start)
    return None


def _message(file: File, tag: Tag, change: PromptChange) -> str:
    statement = tag_tree(tag).statement
    inputs = needs_of(file.snapshot, file.path).by_name
    names = [node.name for each in statement.expressions for node in walk(each) if isinstance(node, Name)]
    name = next((each for each in names if each in inputs), next(iter(names), None))
    text = f"the {change.tokens:,} tokens of fixed text after it"
    if tag.kind == "statement" and statement.keyword == "if":
        return (
            f"this `if` on `{name}` varies how the prompt begins, so {text} are cached separately for each "
            "variant; move them before it"
        )
    what = "this text" if name is None else f"`{name}`"
    return f"{what} varies per request, so {text} cannot be prompt-cached; move them before it"
