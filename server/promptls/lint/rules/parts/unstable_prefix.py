"""Changing input before long fixed text.

## What it does

Reports the first place at which an input changes the prompt, if at least 1,024 tokens of fixed text
follow it: text in the parts of the file and of all its includes, outside of any `if` and `for`. If no
printed input does that, an `if` that depends on one is reported, counting the text up to the next
printed input. A change in an included file is reported at the include. An input counts as changing
unless the header declares it with `const`, or with an `enum` of one value; so does a variable that is
`set` from one. The tokens are counted with the prompt's encoding.

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
                           ^^^^^^^^^^^^^^ unstable-prefix: `customer` varies per request, so the 1,201 tokens of fixed text after it cannot be prompt-cached; move them before it
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

from promptls.lint.rule import File, Finding, Rule
from promptls.semantic.kind import Kind
from promptls.semantic.prefix import UnstablePrefix
from promptls.truncation.prefix_cache import CACHES
from promptls.workspace.contract import request_prefixes

CACHE: Final = CACHES["openai"]
"""The cache whose rules are used; the others need at least as long a prefix."""


def check(file: File) -> Iterator[Finding]:
    """Yield a finding at the tag that prints the first changing input, or the first `if` that tests one."""
    rendering = file.rendering
    if rendering is None:
        return
    for prefix in request_prefixes(file.snapshot, file.path):
        tokens = sum(rendering.template_tokens.get(text, 0) for text in prefix.fixed)
        if CACHE.readable(tokens):
            yield Finding(prefix.span, _message(prefix, tokens))
            return


def _message(prefix: UnstablePrefix, tokens: int) -> str:
    if prefix.is_condition:
        return (
            f"this `if` on `{prefix.name}` varies how the prompt begins, so the {tokens:,} tokens of fixed text "
            "after it are cached separately for each variant; move them before it"
        )
    return (
        f"`{prefix.name}` varies per request, so the {tokens:,} tokens of fixed text after it cannot be "
        "prompt-cached; move them before it"
    )


RULE = Rule(check, severity="hint", kinds=frozenset({Kind.PARTS}), needs="rendering")
