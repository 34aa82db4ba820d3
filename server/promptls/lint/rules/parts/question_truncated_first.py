"""Question that is truncated before its context.

## What it does

Reports the last part with the role `user`, which contains the question, if its `truncation_priority`
removes it before another part: Prompt Poet cuts the highest number first, equal numbers from the top,
and never a part without a positive number. Also reports it if it is the only part that may be cut. The
parts are those of the rendered prompt. A priority that depends on a loop counter is reported by
`newest-truncated-first`.

## Why is this bad?

When the conversation exceeds the limit, the model no longer gets the question, and answers the history
instead.

## Example

```yaml
- name: instructions
  role: system
  content: Answer the question.
- name: history
  role: assistant
  truncation_priority: 1
  content: Hello!
- name: question
  role: user
  truncation_priority: 5
                       ^ question-truncated-first: the question, 6 tokens, is cut before `history`, 2 tokens: the highest `truncation_priority` goes first
  content: Why is the sky blue?
```

Use instead:

```yaml
- name: instructions
  role: system
  content: Answer the question.
- name: history
  role: assistant
  truncation_priority: 1
  content: Hello!
- name: question
  role: user
  content: Why is the sky blue?
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import Block, truncation_blocks
from promptls.lint.fixes.yaml_edits import without_entry
from promptls.lint.rule import File, Finding, Fix, Rule
from promptls.rendering.file_rendering import part_place, rendered_parts
from promptls.rendering.outcome import RenderedPart
from promptls.semantic.kind import Kind
from promptls.semantic.template import PlacedPart
from promptls.text.format import plural
from promptls.text.positions import line_end
from promptls.workspace.contract import included_part_names

_MAX_NAMES = 3
"""The maximum number of part names in a message."""


def check(file: File) -> Iterator[Finding]:
    """Yield a finding at the priority of the question's part, if the part is in the file itself."""
    rendering = file.rendering
    if rendering is None:
        return
    made = rendering.rendering
    parts = made.parts if made else ()
    question = next((part for part in reversed(parts) if part.role == "user"), None)
    if made is None or question is None:
        return
    try:
        blocks = truncation_blocks(
            [part.truncation_priority for part in parts], [part.tokens for part in parts]
        )
    except PromptPoetError:
        return
    number = next((n for n, block in enumerate(blocks) if block.left <= question.index <= block.right), None)
    if number is None:
        return
    rendered = rendered_parts(file.template, included_part_names(file.snapshot, file.path), made)
    placed = next(
        (placed for placed, its in zip(file.template.parts, rendered, strict=True) if question in its), None
    )
    if placed is None or _is_one_of_many(placed, rendered, file, parts) or _uses_counter(file, placed):
        return
    later = [parts[index] for block in blocks[number + 1 :] for index in range(block.left, block.right + 1)]
    if later:
        names = ", ".join(
            f"`{name}`" for name in list(dict.fromkeys(part.name for part in later))[:_MAX_NAMES]
        )
        message = (
            f"the question, {plural(question.tokens, 'token')}, is cut before {names}, "
            f"{plural(sum(part.tokens for part in later), 'token')}: the highest `truncation_priority` goes first"
        )
    elif len(blocks) == 1 and _is_alone(blocks[0]):
        message = "the question is the only part that may be cut"
    else:
        return
    yield Finding(part_place(placed, "truncation_priority"), message, _fixes(file, placed))


def _is_alone(block: Block) -> bool:
    return block.left == block.right


def _is_one_of_many(
    placed: PlacedPart,
    rendered: Sequence[Sequence[RenderedPart]],
    file: File,
    parts: Sequence[RenderedPart],
) -> bool:
    """Return whether the part is repeated in a loop while another user part is never truncated.

    The part may then be a document or an example, and the other part the question.
    """
    is_repeated = any(
        its and file.template.parts[index].span == placed.span and len(its) > 1
        for index, its in enumerate(rendered)
    )
    has_protected = any(part.role == "user" and not (part.truncation_priority or 0) > 0 for part in parts)
    return is_repeated and has_protected


def _uses_counter(file: File, placed: PlacedPart) -> bool:
    """Return whether the priority depends on a loop counter, which `newest-truncated-first` checks."""
    entry = placed.part.entry("truncation_priority")
    if entry is None:
        return False
    text = file.template.source.located(placed.start).chunk.text
    return "loop." in text[entry.key.span.end : line_end(text, entry.key.span.end)]


def _fixes(file: File, placed: PlacedPart) -> tuple[Fix, ...]:
    """Return the fix that exempts the question from truncation."""
    entry = placed.part.entry("truncation_priority")
    if entry is None:
        return ()
    chunk = file.template.source.located(placed.start).chunk
    removed = without_entry(chunk, placed.part.span, placed.part.entries, entry)
    return () if removed is None else (Fix("Never cut the question", (removed,)).shifted(placed.start),)


RULE = Rule(check, severity="warning", kinds=frozenset({Kind.PARTS}), needs="rendering")
