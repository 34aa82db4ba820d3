"""Prompt over its token limit.

## What it does

Reports a `token_limit`, of the header or the settings, that the rendered prompt exceeds: with the sample
that is used for the preview, and for how many of the first 200 rows of its first experiment's dataset.
It is a warning if truncation cannot bring the prompt under the limit. Otherwise its severity is
`information`, and the message names the parts that are removed.

Nothing is reported if the template calls functions that are not available, because the length of the
prompt is then unknown.

## Why is this bad?

Prompt Poet raises a `TruncationError`, or the model does not get the whole prompt.

## Example

```yaml
{#---
token_limit: 5
             ^ over-token-limit: with example 1 the prompt has 20 tokens, 15 over its limit of 5, and truncation cannot bring it below
truncation_step: 1
input_keys: [text]
output_key: label
examples: [{text: My printer is on fire., label: '"urgent"'}]
---#}
- name: instructions
  content: Say in one word how urgent it is.
- name: known problems
  truncation_priority: 1
  content: The printer is old.
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```

Use instead:

```yaml
{#---
token_limit: 500
truncation_step: 1
input_keys: [text]
output_key: label
examples: [{text: My printer is on fire., label: '"urgent"'}]
---#}
- name: instructions
  content: Say in one word how urgent it is.
- name: known problems
  truncation_priority: 1
  content: The printer is old.
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from promptls.lint.rule import File, Finding, Rule, Severity
from promptls.rendering.file_rendering import RowTokens, describe_sample, part_place, rendered_parts
from promptls.rendering.outcome import Rendering
from promptls.semantic.kind import Kind
from promptls.text.format import in_code, plural
from promptls.text.positions import Span
from promptls.workspace.contract import included_part_names

_MAX_NAMES = 4
"""The maximum number of part names in a message."""


def check(file: File) -> Iterator[Finding]:
    """Yield a finding at the limit or, if it is declared elsewhere, at the part that exceeds it."""
    rendering = file.rendering
    if rendering is None:
        return
    limit, made = rendering.token_limit, rendering.rendering
    if limit is None or made is None or rendering.job.stand_ins:
        return
    rows = rendering.rows
    messages = []
    cannot_truncate = False
    if made.tokens > limit:
        messages.append(_of_sample(describe_sample(rendering.sample), made, limit))
        cannot_truncate = made.tokens_kept > limit
    if rows is not None and rows.over:
        messages.append(_of_rows(rows, limit, is_alone=not messages))
        cannot_truncate = cannot_truncate or bool(rows.stuck)
    if messages:
        severity: Severity = "warning" if cannot_truncate else "information"
        yield Finding(_place(file, made, limit), "; ".join(messages), severity=severity)


def _of_sample(sample: str, made: Rendering, limit: int) -> str:
    over = made.tokens - limit
    begin = (
        f"with {sample} the prompt has {plural(made.tokens, 'token')}, {over:,} over its limit of {limit:,}"
    )
    if made.tokens_kept > limit:
        return f"{begin}, and truncation cannot bring it below"
    removed = [part.name for part in made.parts if not part.kept]
    names = in_code(removed[:_MAX_NAMES])
    more = f" and {len(removed) - _MAX_NAMES} more parts" if len(removed) > _MAX_NAMES else ""
    return f"{begin}: truncation takes {names}{more} away"


def _of_rows(rows: RowTokens, limit: int, *, is_alone: bool) -> str:
    is_one = len(rows.over) == 1
    which = f"row {rows.over[0]}" if is_one else f"{len(rows.over)} of {rows.rows} rows"
    what = f"its limit of {limit:,} tokens" if is_alone else "it"
    by = f"by {rows.maximum - limit:,}" if is_one else f"the longest by {rows.maximum - limit:,}"
    message = f"{which} of {rows.dataset} {'is' if is_one else 'are'} over {what}, {by}"
    if not rows.stuck:
        return f"{message}; truncation brings {'it' if is_one else 'them'} under" if is_alone else message
    return (
        message
        if len(rows.stuck) == len(rows.over)
        else f"{message}, {len(rows.stuck)} even after truncation"
    )


def _place(file: File, made: Rendering, limit: int) -> Span:
    """Return the limit in the header, else the name of the first part that exceeds the limit."""
    declared = file.template.declarations.value_span("token_limit")
    if declared is not None:
        return declared
    parts = file.template.parts
    totals = list(accumulate(part.tokens for part in made.parts))
    rendered = rendered_parts(file.template, included_part_names(file.snapshot, file.path), made)
    crossing = (
        placed
        for placed, own in zip(parts, rendered, strict=True)
        if any(totals[part.index] > limit for part in own)
    )
    placed = next(crossing, parts[0] if parts else None)
    return part_place(placed) if placed else file.template.source.line_span(0)


RULE = Rule(check, severity="warning", kinds=frozenset({Kind.PARTS, Kind.OBJECT}), needs="rendering")
