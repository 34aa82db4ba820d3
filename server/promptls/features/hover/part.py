"""A part: its tokens, its share of the limit, the running total; and what Prompt Poet does with a key."""

from __future__ import annotations

from collections.abc import Mapping

from promptls.features.hover.hover import Hover, code, fact_text
from promptls.features.inlay_hints import range_words
from promptls.meaning.parts import chunk_items
from promptls.meaning.template import PlacedPart, Template
from promptls.rendering.file_rendering import FileRendering, rendered_parts, template_text, varying
from promptls.syntax.yaml.nodes import Entry, Sequence, key_text
from promptls.syntax.yaml.nodes import Mapping as MappingNode
from promptls.systems.key_fact import KeyFact
from promptls.systems.prompt_poet.vocabulary import PART_KEYS, ROLES, SECTION_KEYS
from promptls.text.counted import counted
from promptls.text.span import Span
from promptls.workspace.included_parts import included_part_names
from promptls.workspace.snapshot import Snapshot

_NOT_COUNTED = "a part, whose tokens are not counted yet"
_WITH_TOKENS = frozenset({"name", "content", "sections"})


def hover_part(
    snapshot: Snapshot, path: str, template: Template, offset: int, newest: FileRendering | None
) -> Hover | None:
    """What is known of the part's key, name or role at `offset`."""
    located = template.source.located(offset)
    for part in chunk_items(located.chunk).parts:
        placed = PlacedPart(located.start, part)
        if not placed.span.contains(offset):
            continue
        for entry in placed.part.entries:
            key = key_text(entry)
            key_span, value_span = (node.span.shifted(placed.start) for node in (entry.key, entry.value))
            if key_span.contains(offset):
                texts = [_fact(PART_KEYS, key)]
                if key in _WITH_TOKENS:
                    texts.append(_tokens(snapshot, path, template, placed, newest))
                return _hover(key_span, texts)
            if key == "name" and value_span.contains(offset):
                return _hover(value_span, [_tokens(snapshot, path, template, placed, newest) or _NOT_COUNTED])
            if key == "role" and value_span.contains(offset):
                return _hover(value_span, [ROLES.get(template.source.slice(value_span).strip("\"'"), "")])
            if key == "sections" and value_span.contains(offset):
                return _section_key(placed, entry, offset)
    return None


def _hover(span: Span, texts: list[str]) -> Hover | None:
    text = "\n\n".join(text for text in texts if text)
    return Hover(span, text) if text else None


def _fact(facts: Mapping[str, KeyFact], key: str | None) -> str:
    fact = facts.get(key or "")
    return fact_text(fact) if fact else ""


def _section_key(placed: PlacedPart, entry: Entry, offset: int) -> Hover | None:
    items = entry.value.items if isinstance(entry.value, Sequence) else ()
    for item in items:
        for each in item.entries if isinstance(item, MappingNode) else ():
            span = each.key.span.shifted(placed.start)
            if span.contains(offset):
                return _hover(span, [_fact(SECTION_KEYS, key_text(each))])
    return None


def _tokens(
    snapshot: Snapshot, path: str, template: Template, placed: PlacedPart, newest: FileRendering | None
) -> str:
    """The tokens of one part as a list in Markdown; a sentence where they are not known."""
    if newest is None:
        return ""
    lines = []
    in_template = newest.template_tokens.get(template_text(template, placed))
    if in_template is not None:
        lines.append(f"- template text: {counted(in_template, 'token')}")
    rendering = newest.rendering
    if rendering is None:
        message = newest.failure.message if newest.failure else ""
        lines.append(f"- the prompt does not render with {code(newest.sample.name)}: {message}")
        return "\n".join(lines)
    index = template.parts.index(placed)
    became = rendered_parts(template, included_part_names(snapshot, path), rendering)[index]
    if not became:
        lines.append(f"- rendered: cannot be told, or left out with {code(newest.sample.name)}")
    else:
        tokens = sum(part.tokens for part in became)
        parts = f" in {len(became)} parts" if len(became) > 1 else ""
        lines.append(f"- rendered: {counted(tokens, 'token')}{parts}{_share(tokens, newest)}")
        through = sum(part.tokens for part in rendering.parts if part.index <= became[-1].index)
        lines.append(
            f"- up to here: {counted(through, 'token')} of {rendering.tokens:,}{_share(through, newest)}"
        )
        if not all(part.kept for part in became):
            lines.append(f"- cut by the token limit of {newest.token_limit:,}")
    varied = varying(newest, placed.part.name)
    if varied is not None:
        lines.append(f"- varies: {range_words(varied)}")
    lines.append(f"\nwith {code(newest.sample.name)} ({newest.sample.source}), {newest.job.encoding}")
    return "\n".join(lines)


def _share(tokens: int, newest: FileRendering) -> str:
    limit = newest.token_limit
    return f", {tokens / limit:.0%} of the limit of {limit:,}" if limit else ""
