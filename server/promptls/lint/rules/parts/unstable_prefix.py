"""Changing input before long fixed text.

## What it does

Reports the first place at which an input changes the prompt, where at least 1,024 tokens of
fixed text stand behind it: text in the parts of the file and of all that it includes, outside
of any `if` and `for`. Where no printed input does that, an `if` that hangs on one counts too, with the text
up to where an input is printed. Of a change in an included file, the include is the place. An input counts
as changing unless the header declares it with `const`, or with an `enum` of one value; so does what is `set`
from one. The tokens are those of the prompt's encoding.

1,024 tokens are what a prompt must have for OpenAI, and for most models of Anthropic, to keep
its beginning (their pages on prompt caching: platform.openai.com/docs/guides/prompt-caching,
docs.anthropic.com/en/docs/build-with-claude/prompt-caching).

## Why is this bad?

Providers keep the beginning of a prompt up to the first character that differs, and charge
what they keep at a fraction. Everything behind that place is read, and paid, anew. Where the
fixed text goes first, it is kept.

## Example

```yaml
- name: greeting
  role: system
  content: |
    The customer is called {{ customer }}.
                           ^^^^^^^^^^^^^^ unstable-prefix: where `customer` differs from one request to the next, the 1,201 tokens of fixed text behind it are not read from the provider's cache; ahead of it they would be
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
            f"this `if` on `{prefix.name}` begins the prompt in more than one way: the provider's cache keeps the "
            f"{tokens:,} tokens of fixed text behind it anew for each; ahead of it, once for all"
        )
    return (
        f"where `{prefix.name}` differs from one request to the next, the {tokens:,} tokens of fixed text behind "
        "it are not read from the provider's cache; ahead of it they would be"
    )


RULE = Rule(check, severity="hint", kinds=frozenset({Kind.PARTS}), needs="rendering")
