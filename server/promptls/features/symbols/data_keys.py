"""Where a key stands in a file of data: a column of a CSV file, a key of JSON, JSON Lines or YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.syntax.yaml.compose import compose
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, key_text
from promptls.text.span import Span

_CELL: Final = re.compile(r'"((?:[^"]|"")*)"|([^",\r\n]*)')
_LINE: Final = re.compile(r"[^\r\n]+")
_JSON: Final = re.compile(r'"((?:[^"\\\r\n]|\\.)*)"|[{}\[\]]')


def key_spans(suffix: str, text: str, name: str, inputs: frozenset[str]) -> Iterator[Span]:
    """The places of a key in a file with this ending, without its quotes; none where it cannot be read.

    A samples file holds one mapping of `inputs`, or mappings under the names of samples.
    """
    if suffix == ".csv":
        return csv_columns(text, name)
    if suffix in {".jsonl", ".ndjson"}:
        return (
            key.span.shifted(line.start())
            for line in _LINE.finditer(text)
            for key in _json_keys(line.group())
            if key.name == name and key.path == ()
        )
    if suffix == ".json":
        return _json_samples(text, name, inputs)
    return _yaml_samples(text, name, inputs)


def csv_columns(text: str, name: str) -> Iterator[Span]:
    """The places of a column's name on the first line with text."""
    position = len(text) - len(text.lstrip("\ufeff\r\n"))
    while True:
        cell = _CELL.match(text, position)
        assert cell is not None
        quoted = cell.group(1) is not None
        if cell.group(1 if quoted else 2) == name:
            yield Span(*cell.span(1 if quoted else 2))
        position = cell.end()
        if text[position : position + 1] != ",":
            return
        position += 1


class _Key(NamedTuple):
    """A key and the keys of the objects around it; lists in between count as none."""

    name: str
    span: Span
    path: tuple[str, ...]


def _json_keys(text: str) -> Iterator[_Key]:
    """The keys of a JSON text, as far as they can be read."""
    around: list[tuple[str, str]] = []
    key = ""
    for match in _JSON.finditer(text):
        piece = match.group()
        if piece in {"{", "["}:
            around.append((piece, key))
            key = ""
        elif piece in {"}", "]"}:
            key = around.pop()[1] if around else ""
        elif around and around[-1][0] == "{" and _is_key(text, match.end()):
            key = match.group(1)
            yield _Key(key, Span(*match.span(1)), tuple(name for _, name in around[1:]))


def _is_key(text: str, behind: int) -> bool:
    return text[behind : behind + 64].lstrip().startswith(":")


def _json_samples(text: str, name: str, inputs: frozenset[str]) -> Iterator[Span]:
    keys = list(_json_keys(text))
    top = {key.name for key in keys if key.path == ()}
    depth = 0 if top & inputs else 1
    return (key.span for key in keys if key.name == name and len(key.path) == depth)


def _yaml_samples(text: str, name: str, inputs: frozenset[str]) -> Iterator[Span]:
    root = compose(text, Span, lambda _span: False).root
    if not isinstance(root, Mapping):
        return
    top = {key for entry in root.entries if (key := key_text(entry)) is not None}
    if top & inputs:
        yield from _named(text, root, name)
        return
    for entry in root.entries:
        yield from _named(text, entry.value, name)


def _named(text: str, node: Node, name: str) -> Iterator[Span]:
    for entry in node.entries if isinstance(node, Mapping) else ():
        key = entry.key
        if isinstance(key, Scalar) and key.text == name:
            quoted = text[key.span.start : key.span.start + 1] in {"'", '"'}
            bare = Span(key.span.start + quoted, key.span.end - quoted)
            if text[bare.start : bare.end] == name:
                yield bare
