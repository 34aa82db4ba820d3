"""Tags of YAML (`!name`) that Prompt Poet's loader refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.rules.rule import Finding
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.span import Span

_CANDIDATE: Final = re.compile(r"(?:^|[\s\[{,])![^\s\[\]{},]", re.MULTILINE)
_TAG: Final = re.compile(r"(?:&[^\s\[\]{},]+\s+)?(!(?:<[^>\s]*>|[^\s\[\]{},]*))")
_SHORT: Final = "!!"
_LONG: Final = "tag:yaml.org,2002:"
LOADED_SCALARS: Final = frozenset(
    {"str", "int", "float", "bool", "null", "timestamp", "binary", "merge", "value"}
)
"""The tags of scalars that the loader knows."""
_OF_MAPPINGS: Final = frozenset({"map", "set"})
_OF_SEQUENCES: Final = frozenset({"seq", "omap", "pairs"})


def refused_tags(chunk: Chunk) -> Iterator[Finding]:
    """The tags in the chunk's YAML that libyaml's safe loader makes nothing of, at their places."""
    if _CANDIDATE.search(chunk.text) is None:
        return
    told: set[Span] = set()
    for root in chunk_yaml(chunk).roots:
        for node in _nodes(root):
            match = _TAG.match(chunk.text, node.span.start)
            if match is None or match.end() > max(node.span.end, node.span.start):
                continue
            span = Span(*match.span(1))
            if span not in told and not _is_known(match.group(1), node):
                told.add(span)
                message = f"the YAML loader of Prompt Poet refuses the tag `{match.group(1)}`"
                yield Finding(span, message)


def _nodes(node: Node) -> Iterator[Node]:
    """The node and all in it, the innermost first: a mapping begins where its first key does."""
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
