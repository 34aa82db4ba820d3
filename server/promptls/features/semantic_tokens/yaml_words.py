"""The semantic tokens of the YAML under the Jinja: keys, names of parts, roles, text that the model reads."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from promptls.features.semantic_tokens.legend import DECLARATION, SemanticToken
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, key_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.systems.prompt_poet.vocabulary import PART_KEYS
from promptls.text.lines import line_end
from promptls.text.span import Span

_BY_KEY: Final = {
    "name": "partName",
    "role": "role",
    "content": "promptText",
    "instruction": "promptText",
    "prompt": "promptText",
    "template": "promptText",
}
_BY_TAG: Final = {"int": "number", "float": "number", "bool": "constant", "null": "constant"}
_KEY_LINE: Final = re.compile(rf"^ *(?:- +)?({'|'.join(PART_KEYS)})(?= *:(?:\s|$))", re.MULTILINE)
_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t\n]))#[^\r\n]*")


def yaml_tokens(chunk: Chunk) -> Iterator[SemanticToken]:
    """The tokens of the chunk's YAML; by the lines of its keys where it is broken."""
    roots = chunk_yaml(chunk).roots
    if not roots:
        for match in _KEY_LINE.finditer(chunk.text):
            yield SemanticToken(*match.span(1), "key")
        return
    found: dict[int, SemanticToken] = {}
    for root in roots:
        for token in node_tokens(root, chunk.text):
            found.setdefault(token.start, token)
    yield from found.values()
    scalars = sorted(Span(token.start, token.end) for token in found.values())
    starts = [span.start for span in scalars]
    for match in _COMMENT.finditer(chunk.text):
        before = bisect_left(starts, match.start())
        if not before or scalars[before - 1].end <= match.start():
            yield SemanticToken(*match.span(), "comment")


def node_tokens(node: Node, text: str) -> Iterator[SemanticToken]:
    """The tokens of a YAML node with its spans in `text`."""
    stack: list[tuple[Node, str, bool]] = [(node, "", False)]
    seen: set[int] = set()
    while stack:
        current, name, is_key = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Scalar):
            if current.span.end > current.span.start:
                yield _scalar(current, text, name, is_key=is_key)
        elif isinstance(current, Sequence):
            stack.extend((item, name, False) for item in current.items)
        elif isinstance(current, Mapping):
            for entry in current.entries:
                stack.append((entry.key, name, True))
                stack.append((entry.value, key_text(entry) or "", False))


def _scalar(scalar: Scalar, text: str, key: str, *, is_key: bool) -> SemanticToken:
    start, end = scalar.span
    if scalar.style in {"|", ">"}:  # what stands behind the indicator on its line is not of the text
        start = min(line_end(text, start), end)
    if is_key:
        return SemanticToken(start, end, "key")
    kind = _BY_KEY.get(key)
    if kind == "partName":
        return SemanticToken(start, end, kind, DECLARATION)
    if kind is None:
        kind = "string" if scalar.style else _BY_TAG.get(scalar.tag, "string")
    return SemanticToken(start, end, kind)
