"""Hover of parts and includes: tokens, share of the limit, and what the file is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from promptls.dialects.key_fact import KeyFact
from promptls.dialects.prompt_poet.vocabulary import PART_KEYS, ROLES, SECTION_KEYS
from promptls.ide.hover.hover import Hover, code, fact_text, sample_words
from promptls.ide.inlay_hints import range_words
from promptls.rendering.file_rendering import FileRendering, rendered_parts, template_text, varying
from promptls.semantic.parts import chunk_items
from promptls.semantic.template import PlacedPart, Template
from promptls.syntax.yaml.nodes import Entry, Sequence, key_text
from promptls.syntax.yaml.nodes import Mapping as MappingNode
from promptls.text.escape import markdown_prose
from promptls.text.format import plural
from promptls.text.positions import Span
from promptls.workspace.contract import included_part_names
from promptls.workspace.snapshot import Snapshot

_NOT_COUNTED = "a part, whose tokens are not counted yet"
_WITH_TOKENS = frozenset({"name", "content", "sections"})


def hover_part(
    snapshot: Snapshot, path: str, template: Template, offset: int, newest: FileRendering | None
) -> Hover | None:
    """Return what is known of the part's key, name or role at `offset`."""
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
    """Return the tokens of one part as a list in Markdown; a sentence where they are not known."""
    if newest is None:
        return ""
    lines = []
    in_template = newest.template_tokens.get(template_text(template, placed))
    if in_template is not None:
        lines.append(f"- template text: {plural(in_template, 'token')}")
    rendering = newest.rendering
    if rendering is None:
        message = markdown_prose(newest.failure.message) if newest.failure else ""
        lines.append(f"- the prompt does not render with {code(newest.sample.name)}: {message}")
        return "\n".join(lines)
    index = template.parts.index(placed)
    became = rendered_parts(template, included_part_names(snapshot, path), rendering)[index]
    if not became:
        lines.append(f"- rendered: cannot be told, or left out with {code(newest.sample.name)}")
    else:
        tokens = sum(part.tokens for part in became)
        parts = f" in {len(became)} parts" if len(became) > 1 else ""
        lines.append(f"- rendered: {plural(tokens, 'token')}{parts}{_share(tokens, newest)}")
        through = sum(part.tokens for part in rendering.parts if part.index <= became[-1].index)
        lines.append(
            f"- up to here: {plural(through, 'token')} of {rendering.tokens:,}{_share(through, newest)}"
        )
        if not all(part.kept for part in became):
            lines.append(f"- cut by the token limit of {newest.token_limit:,}")
    varied = varying(newest, placed.part.name)
    if varied is not None:
        lines.append(f"- varies: {range_words(varied)}")
    lines.append(f"\nwith {sample_words(newest.sample)}, {newest.job.encoding}")
    return "\n".join(lines)


def _share(tokens: int, newest: FileRendering) -> str:
    limit = newest.token_limit
    return f", {tokens / limit:.0%} of the limit of {limit:,}" if limit else ""


def hover_include(
    snapshot: Snapshot, path: str, template: Template, offset: int, newest: FileRendering | None
) -> Hover | None:
    """Return the path of the named file, the parts that it brings in, and their tokens."""
    for reference in template.references:
        if not reference.span.contains(offset):
            continue
        target = snapshot.resolve(path, reference)
        if target is None:
            return Hover(reference.span, "no such file in the folders that an include may count from")
        included = snapshot.template(target)
        words = [f"{reference.keyword} of {code(_shown(snapshot, target))}"]
        if included is not None and included.parts:
            names = ", ".join(code(placed.part.name or "?") for placed in included.parts)
            words.append(f"{plural(len(included.parts), 'part')}: {names}")
        if included is not None and newest is not None:
            words += _include_tokens(snapshot, path, included, target, newest)
        if reference.alternatives:
            words.append(f"the first that exists of {', '.join(map(code, reference.alternatives))}")
        return Hover(reference.span, "\n\n".join(words))
    return None


def _include_tokens(
    snapshot: Snapshot, path: str, included: Template, target: str, newest: FileRendering
) -> Iterator[str]:
    """Yield the tokens of an included file as it is written, and of what became of its parts."""
    lines = []
    written = newest.template_tokens.get(included.source.text)
    if written is not None:
        lines.append(f"- template text: {plural(written, 'token')}")
    if newest.rendering is not None and included.parts:
        others = (snapshot.template(other) for other in snapshot.included(path) if other != target)
        names = frozenset(
            placed.part.name for other in others if other for placed in other.parts if placed.part.name
        )
        became = rendered_parts(included, names, newest.rendering)
        if any(became):
            tokens = sum(part.tokens for parts in became for part in parts)
            lines.append(f"- rendered: {plural(tokens, 'token')} with {code(newest.sample.name)}")
    if lines:
        yield "\n".join(lines)


def _shown(snapshot: Snapshot, target: str) -> str:
    """Return the path from the workspace's folder that holds the file."""
    for root in snapshot.roots:
        if Path(target).is_relative_to(root):
            return Path(target).relative_to(root).as_posix()
    return target
