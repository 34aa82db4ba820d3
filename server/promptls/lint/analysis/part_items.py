"""Items and values that are invalid in their position: items that are not parts, refused YAML tags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.lint.rule import Finding
from promptls.semantic.evaluation import EvaluationTemplate, Form, class_name
from promptls.semantic.parts import chunk_items
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span, line_end

_SILENT: Final = frozenset({"if", "elif", "else", "for", "set", "macro", "with", "import", "from"})
"""The statements that print nothing themselves; the tags that end a block do not either."""


def may_be_filled(chunk: Chunk, following: Span) -> bool:
    """Return whether a tag after a key could print its value: an output tag, or one followed by text."""
    tags = [tag for tag in chunk.tags if following.start <= tag.span.start < following.end]
    if any(may_print(tag) for tag in tags if tag.kind != "comment"):
        return True
    starts = [tag.span.end for tag in tags]
    ends = [*(tag.span.start for tag in tags[1:]), following.end]
    return any(
        line.strip() and not line.lstrip().startswith("#")
        for start, end in zip(starts, ends, strict=False)
        for line in chunk.text[start:end].splitlines()
    )


def may_print(tag: Tag) -> bool:
    """Return whether a tag may itself print something."""
    if tag.kind != "statement" or tag.unclosed:
        return True
    keyword = tag_tree(tag).statement.keyword
    return keyword not in _SILENT and not keyword.startswith("end")


_MESSAGE: Final = "a part is a mapping with `name` and `content`"


def no_part_items(chunk: Chunk) -> Iterator[Finding]:
    """Yield the items of the chunk that Prompt Poet cannot turn into a part."""
    if any(tag.unclosed for tag in chunk.tags):
        return  # the content of an unclosed comment or tag looks like text
    reported: set[Span] = set()
    for item in chunk_items(chunk).others:
        place = item_place(chunk, item)
        if place in reported or _may_be_part(chunk, item):
            continue
        reported.add(place)
        yield Finding(place, f"{_MESSAGE}; nothing stands here" if item.span.is_empty() else _MESSAGE)


def item_place(chunk: Chunk, item: Node) -> Span:
    """Return the first line of an item of a list, or the dash of an empty item."""
    if not item.span.is_empty():
        first = chunk.text[item.span.start : min(item.span.end, line_end(chunk.text, item.span.start))]
        return Span(item.span.start, item.span.start + len(first.rstrip()))
    dash = chunk.text.rfind("-", 0, item.span.start)
    return Span(dash, dash + 1)


def _may_be_part(chunk: Chunk, item: Node) -> bool:
    """Return whether the item may be a part: printed by Jinja, or with its first key still being typed."""
    if not isinstance(item, Scalar):
        return False
    if item.span.is_empty():
        return may_be_filled(chunk, Span(item.span.start, chunk.length))
    if item.style:
        return False
    return item.dynamic or any(key.startswith(item.text) for key in PART_KEYS)


_CANDIDATE: Final = re.compile(r"(?:^|[\s\[{,])![^\s\[\]{},]", re.MULTILINE)
_TAG: Final = re.compile(r"(?:&[^\s\[\]{},]+\s+)?(!(?:<[^>\s]*>|[^\s\[\]{},]*))")
_SHORT: Final = "!!"
_LONG: Final = "tag:yaml.org,2002:"
LOADED_SCALARS: Final = frozenset(
    {"str", "int", "float", "bool", "null", "timestamp", "binary", "merge", "value"}
)
"""The tags of scalars that the loader supports."""
_OF_MAPPINGS: Final = frozenset({"map", "set"})
_OF_SEQUENCES: Final = frozenset({"seq", "omap", "pairs"})


def refused_tags(chunk: Chunk) -> Iterator[Finding]:
    """Yield the tags in the chunk's YAML that libyaml's safe loader refuses, at their places."""
    if _CANDIDATE.search(chunk.text) is None:
        return
    reported: set[Span] = set()
    for root in chunk_yaml(chunk).roots:
        for node in _nodes(root):
            match = _TAG.match(chunk.text, node.span.start)
            if match is None or match.end() > max(node.span.end, node.span.start):
                continue
            span = Span(*match.span(1))
            if span not in reported and not _is_known(match.group(1), node):
                reported.add(span)
                message = f"the YAML loader of Prompt Poet refuses the tag `{match.group(1)}`"
                yield Finding(span, message)


def _nodes(node: Node) -> Iterator[Node]:
    """Yield the node and its descendants, innermost first: a mapping begins where its first key does."""
    if isinstance(node, Sequence):
        for item in node.items:
            yield from _nodes(item)
    elif isinstance(node, Mapping):
        for entry in node.entries:
            yield from _nodes(entry.key)
            yield from _nodes(entry.value)
    yield node


def _is_known(tag: str, node: Node) -> bool:
    if tag.startswith("!<"):
        known = tag[2:-1].removeprefix(_LONG) if tag[2:].startswith(_LONG) else ""
    elif tag == "!":
        return True
    else:
        known = tag[2:] if tag.startswith(_SHORT) else ""
    if isinstance(node, Scalar):
        return known in LOADED_SCALARS
    return known in (_OF_MAPPINGS if isinstance(node, Mapping) else _OF_SEQUENCES)


TEMPLATE_KEYS: Final = {
    "PromptTemplate": ("type", "template", "ice_token", "sep_token"),
    "RawPromptTemplate": ("type", "messages", "format_variables", "ice_token"),
}
"""The keys that each template class accepts."""


def unknown_alone(template: EvaluationTemplate) -> Entry | None:
    """Return the only unknown key of a `PromptTemplate` without a `template`; None if none or several."""
    if template.mapping is None or template.form is not Form.MISSING:
        return None
    if class_name(template.mapping) not in {None, "PromptTemplate"} or template.mapping.entry("template"):
        return None
    keys = [(entry, key_text(entry)) for entry in template.mapping.entries]
    unknown = [entry for entry, key in keys if key not in {*TEMPLATE_KEYS["PromptTemplate"], "<<"}]
    return unknown[0] if len(unknown) == 1 and None not in {key for _, key in keys} else None
