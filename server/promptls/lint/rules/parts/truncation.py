"""What a token limit truncates.

# no-truncatable-part

Token limit without a part that can be truncated.

In a file that declares `token_limit`, reports that neither the file nor anything that it includes has a
part with a `truncation_priority` above 0. Nothing is reported if Jinja prints a priority, or if an
include cannot be resolved.

## Why is this bad?

Truncation only removes parts with a positive priority. If the prompt exceeds the limit, it fails with
`TruncationError`, and nothing is sent.

## Example

```yaml
{#---
token_limit: 1000
^^^^^^^^^^^ no-truncatable-part: no part has a `truncation_priority` above 0: over the limit, truncation fails
---#}
- name: history
  content: Hello.
```

Use instead:

```yaml
{#---
token_limit: 1000
---#}
- name: history
  truncation_priority: 1
  content: Hello.
```

# newest-truncated-first

Truncation priority that grows per turn, so that truncation removes the newest turns first.

Reports a `truncation_priority` that is a loop counter: `loop.index`, `loop.index0`, or one of them plus,
minus or times a number. The severity is `information` if the loop iterates over messages, a history or a
chat, otherwise `hint`: for search results that are sorted by rank, the last ones should be cut first. A
loop over a reversed list is not reported.

## Why is this bad?

Prompt Poet cuts the *highest* number first. In a conversation, that is the latest turn: the model sees
the beginning but not what was said last. `loop.revindex` cuts the oldest turn first, and so does the
same number for all turns, because equal priorities are cut from the top.

## Example

```yaml
{% for message in history %}
- name: message
  role: user
  truncation_priority: {{ loop.index }}
                       ^^^^^^^^^^^^^^^^ newest-truncated-first: the highest number is cut first, so the last turn is removed and the first one stays
  content: "{{ escape_special_characters(message) }}"
{% endfor %}
```

Use instead:

```yaml
{% for message in history %}
- name: message
  role: user
  truncation_priority: {{ loop.revindex }}
  content: "{{ escape_special_characters(message) }}"
{% endfor %}
```

# question-truncated-first

Question that is truncated before its context.

Reports the last part with the role `user`, which contains the question, if its `truncation_priority`
removes it before another part: Prompt Poet cuts the highest number first, equal numbers from the top,
and never a part without a positive number. Also reports it if it is the only part that may be cut, and, as a hint, the same of a first part
that is the only one of the role `system`: it contains the instructions. The parts are those of the rendered prompt, or of a file without includes that cannot be rendered. A priority that depends on a loop counter is reported by
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

# over-token-limit

Prompt over its token limit.

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

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final, NamedTuple

from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import Block, truncation_blocks
from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.lint.fixes.yaml_edits import without_entry
from promptls.lint.rule import PARTS_KINDS, Edit, File, Finding, Fix, Severity, rule
from promptls.lint.rules.parts.part_keys import meant_key
from promptls.rendering.file_rendering import RowTokens, describe_sample, part_place, rendered_parts
from promptls.rendering.outcome import RenderedPart, Rendering
from promptls.semantic.kind import Kind
from promptls.semantic.parts import chunk_items
from promptls.semantic.template import PlacedPart
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary
from promptls.syntax.jinja.blocks import BlockTag, block_tags
from promptls.syntax.jinja.nodes import Attribute, Constant, Expression, Filter, Name, Operation
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.yaml.nodes import Node, Scalar, key_text, scalar_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.format import in_code, plural
from promptls.text.positions import Span, line_end
from promptls.workspace.contract import included_part_names


@rule(severity="information", kinds=frozenset({Kind.PARTS}))
def no_truncatable_part(file: File) -> tuple[Finding, ...]:
    """Yield a finding at the declared limit if no part can be truncated."""
    declarations = file.template.declarations
    place = declarations.key_span("token_limit")
    if place is None or declarations.settings.token_limit is None:
        return ()
    for path in file.snapshot.included(file.path):
        template = file.snapshot.template(path)
        if template is None or any(map(_may_be_cut, template.source.chunks)):
            return ()
        if any(
            not file.snapshot.resolve(path, reference) and not reference.ignore_missing
            for reference in template.references
        ):
            return ()
    message = "no part has a `truncation_priority` above 0: over the limit, truncation fails"
    return (Finding(place, message),)


@chunk_fact
def _may_be_cut(chunk: Chunk) -> bool:
    """Return whether a part of the chunk has, or may have, a positive priority."""
    if "truncation_priority" in chunk.text and chunk_yaml(chunk).problems:
        return True
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            key = key_text(entry)
            if key is None or key == "<<":
                return True
            is_priority = key == "truncation_priority" or (
                key not in PART_KEYS and meant_key(key) == "truncation_priority"
            )
            if is_priority and _is_positive(entry.value):
                return True
    return False


def _is_positive(value: object) -> bool:
    if not isinstance(value, Scalar) or value.dynamic:
        return True
    try:
        return float(value.text) > 0
    except ValueError:
        return True


_COUNTS: Final = {"index": "revindex", "index0": "revindex0"}
_CHAT: Final = re.compile(r"message|histor|chat|turn|conversation|dialog", re.IGNORECASE)
_REVERSED: Final = re.compile(r"\|\s*(?:reverse|sort)\b|\[[^\]]*::\s*-|\breversed?\b|newest|latest")


class _Growing(NamedTuple):
    """A priority that grows with each iteration: the span of its tag, and the loop counter."""

    tag: Span
    counted: Span
    name: str


@chunk_fact
def _growing(chunk: Chunk) -> tuple[_Growing, ...]:
    return tuple(_priorities(chunk)) if "loop" in chunk.text else ()


def _priorities(chunk: Chunk) -> Iterator[_Growing]:
    for part in chunk_items(chunk).parts:
        for entry in part.entries:
            value = entry.value
            if key_text(entry) != "truncation_priority" or not isinstance(value, Scalar):
                continue
            tag = next((tag for tag in chunk.tags if tag.span == value.span and tag.kind == "output"), None)
            expressions = tag_tree(tag).statement.expressions if tag else ()
            count = _count(expressions[0]) if len(expressions) == 1 else None
            if tag is not None and count is not None:
                yield _Growing(tag.span, count.name_span.shifted(tag.span.start), count.name)


def _count(node: Expression) -> Attribute | None:
    """Return the loop counter in an expression that grows with it, or None."""
    match node:
        case Attribute(target=Name(name="loop"), name=name) if name in _COUNTS:
            return node
        case Operation(
            operators=("+",), operands=(Constant(value=int()), other) | (other, Constant(value=int()))
        ):
            return _count(other)
        case Operation(
            operators=("*",),
            operands=(Constant(value=int() as factor), other) | (other, Constant(value=int() as factor)),
        ) if factor > 0:
            return _count(other)
        case Operation(operators=("-",), operands=(other, Constant(value=int()))):
            return _count(other)
        case Filter(target=target, name="int") if target is not None:
            return _count(target)
        case _:
            return None


@rule(severity="information", kinds=PARTS_KINDS)
def newest_truncated_first(file: File) -> Iterator[Finding]:
    """Yield the priorities that grow with the iterations of the loop around them."""
    root = file.template.source.root
    if not _any_growing(root):
        return
    loops: list[str] = []
    for located in root.placed():
        chunk = located.chunk
        places = [(tag.span.start, tag.action, chunk.tags[tag.place].text) for tag in _loops(chunk)]
        places += [(growing.tag.start, "part", "") for growing in _growing(chunk)]
        found = {growing.tag.start: growing for growing in _growing(chunk)}
        for offset, action, text in sorted(places):
            if action == "open":
                loops.append(text)
            elif action == "close" and loops:
                loops.pop()
            elif action == "part" and loops and not _REVERSED.search(loops[-1]):
                yield _finding(found[offset], loops[-1]).shifted(located.start)


def _loops(chunk: Chunk) -> list[BlockTag]:
    return [tag for tag in block_tags(chunk) if tag.keyword == "for" and tag.action != "middle"]


def _finding(growing: _Growing, loop: str) -> Finding:
    message = "the highest number is cut first, so the last turn is removed and the first one stays"
    meant = _COUNTS[growing.name]
    severity: Severity | None = None if _CHAT.search(loop) else "hint"
    fix = Fix(f"Change to `loop.{meant}`", (Edit(growing.counted, meant),))
    return Finding(growing.tag, message, (fix,), severity=severity)


_any_growing: Final = summary(lambda chunk: bool(_growing(chunk)), any)
"""Whether a piece has a priority that grows with a loop."""


_MAX_NAMES = 3
"""The maximum number of part names in a message."""


@rule(severity="warning", kinds=frozenset({Kind.PARTS}), needs="rendering")
def question_truncated_first(file: File) -> Iterator[Finding]:
    """Yield a finding at the priority of the question's part, if the part is in the file itself."""
    rendering = file.rendering
    if rendering is None:
        return
    made = rendering.rendering
    if made is None:
        yield from _in_written_parts(file)
        return
    parts = made.parts
    question = next((part for part in reversed(parts) if part.role == "user"), None)
    of_system = [part for part in parts if part.role == "system"]
    try:
        blocks = truncation_blocks(
            [part.truncation_priority for part in parts], [part.tokens for part in parts]
        )
    except PromptPoetError:
        return
    if question is not None:
        yield from _cut_first(file, made, blocks, question)
    if len(of_system) == 1 and of_system == [*parts[:1]]:
        for finding in _cut_first(file, made, blocks, parts[0]):
            yield replace(finding, severity="hint")


def _cut_first(file: File, made: Rendering, blocks: Sequence[Block], part: RenderedPart) -> Iterator[Finding]:
    """Yield a finding at the priority of a part that is cut before others, or is the only one that may be cut."""
    parts = made.parts
    number = next((n for n, block in enumerate(blocks) if block.left <= part.index <= block.right), None)
    if number is None:
        return
    rendered = rendered_parts(file.template, included_part_names(file.snapshot, file.path), made)
    placed = next(
        (placed for placed, its in zip(file.template.parts, rendered, strict=True) if part in its), None
    )
    if placed is None or _is_one_of_many(placed, rendered, file, parts) or _uses_counter(file, placed):
        return
    later = [parts[index] for block in blocks[number + 1 :] for index in range(block.left, block.right + 1)]
    what, are = ("the question", "is") if part.role == "user" else ("the instructions", "are")
    if later:
        names = ", ".join(
            f"`{name}`" for name in list(dict.fromkeys(each.name for each in later))[:_MAX_NAMES]
        )
        counts = [
            f", {plural(count, 'token')}" for count in (part.tokens, sum(each.tokens for each in later))
        ]
        own, its = counts if part.tokens else ("", "")  # nothing is counted in a rendering with stand-ins
        message = f"{what}{own}{own and ','} {are} cut before {names}{its}: the highest `truncation_priority` goes first"
    elif len(blocks) == 1 and _is_alone(blocks[0]):
        message = f"{what} {are} the only part that may be cut"
    else:
        return
    yield Finding(part_place(placed, "truncation_priority"), message, _fixes(file, placed))


def _in_written_parts(file: File) -> Iterator[Finding]:
    """Yield the finding for a file that cannot be rendered, if its parts and their priorities are written in it."""
    template = file.template
    priorities: list[float] = []
    question = None
    for placed in template.parts:
        role, priority = placed.part.value("role"), placed.part.value("truncation_priority")
        values = [each for each in (role, priority) if each is not None]
        if template.branches.at(placed.span.start) or not all(map(_is_written, values)):
            return
        try:
            priorities.append(float(scalar_text(priority) or 0))
        except ValueError:
            return
        if role is None or scalar_text(role) == "user":
            question = len(priorities) - 1
    if question is None or template.references or priorities[question] <= 0:
        return
    placed = template.parts[question]
    later = [
        scalar_text(other.part.value("name")) or ""
        for other, priority in zip(template.parts, priorities, strict=True)
        if 0 < priority < priorities[question]
    ]
    if later:
        names = in_code(later[:_MAX_NAMES])
        message = f"the question is cut before {names}: the highest `truncation_priority` goes first"
        yield Finding(part_place(placed, "truncation_priority"), message, _fixes(file, placed))


def _is_written(value: Node) -> bool:
    return isinstance(value, Scalar) and not value.dynamic


def _is_alone(block: Block) -> bool:
    return block.left == block.right


def _is_one_of_many(
    placed: PlacedPart, rendered: Sequence[Sequence[RenderedPart]], file: File, parts: Sequence[RenderedPart]
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
    return () if removed is None else (Fix("Never cut this part", (removed,)).shifted(placed.start),)


_MAX_REMOVED = 4
"""The maximum number of part names in a message."""


@rule(severity="warning", kinds=frozenset({Kind.PARTS, Kind.OBJECT}), needs="rendering")
def over_token_limit(file: File) -> Iterator[Finding]:
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
    more = f" and {len(removed) - _MAX_REMOVED} more parts" if len(removed) > _MAX_REMOVED else ""
    return f"{begin}: truncation takes {in_code(removed[:_MAX_REMOVED])}{more} away"


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
