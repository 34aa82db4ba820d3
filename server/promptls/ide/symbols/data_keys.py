"""Where a key is written in a data file: a column of CSV, a key of JSON, JSON Lines or YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from promptls.syntax.yaml.compose import compose
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, key_text
from promptls.text.positions import Span

_CELL: Final = re.compile(r'"((?:[^"]|"")*)"|([^",\r\n]*)')
_LINE_END: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_LINE: Final = re.compile(r"[^\r\n]+")
_JSON: Final = re.compile(r'"((?:[^"\\\r\n]|\\.)*)"|[{}\[\]]')


DataKeys: TypeAlias = tuple[str | None, ...]
"""The keys of mappings that lead to a key, itself last; None stands for any, and lists count as none."""


def key_spans(suffix: str, text: str, keys: DataKeys, inputs: frozenset[str]) -> Iterator[Span]:
    """Return the places of a key in a file with this ending, without its quotes.

    None if it cannot be read.

    A samples file holds one mapping of `inputs`, or mappings under the names of samples.
    """
    if suffix == ".csv":
        return csv_columns(text, keys[0] or "") if len(keys) == 1 else iter(())
    if suffix in {".jsonl", ".ndjson"}:
        return (
            key.span.shifted(line.start())
            for line in _LINE.finditer(text)
            for key in json_keys(line.group())
            if _is_along((*key.path, key.name), keys)
        )
    if suffix == ".json":
        return _json_samples(text, keys, inputs)
    return _yaml_samples(text, keys, inputs)


def _is_along(written: tuple[str, ...], keys: DataKeys) -> bool:
    return len(written) == len(keys) and all(
        key in {None, name} for name, key in zip(written, keys, strict=True)
    )


def csv_columns(text: str, name: str) -> Iterator[Span]:
    """Yield the places of a column's name on the first line with text."""
    return (span for span in csv_header(text) if text[span.start : span.end] == name)


def csv_header(text: str) -> Iterator[Span]:
    """Yield the columns' names on the first line with text, without quotes."""
    position = len(text) - len(text.lstrip("\ufeff\r\n"))
    while True:
        cell = _CELL.match(text, position)
        assert cell is not None
        yield Span(*cell.span(1 if cell.group(1) is not None else 2))
        position = cell.end()
        if text[position : position + 1] != ",":
            return
        position += 1


class WrittenKey(NamedTuple):
    """A key at `span`, without quotes, and the keys of the mappings around it; lists count as none."""

    name: str
    span: Span
    path: tuple[str, ...] = ()


def json_keys(text: str) -> Iterator[WrittenKey]:
    """Yield the keys of a JSON text, as far as they can be read."""
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
            yield WrittenKey(key, Span(*match.span(1)), tuple(name for _, name in around[1:] if name))


def _is_key(text: str, behind: int) -> bool:
    return text[behind : behind + 64].lstrip().startswith(":")


def _json_samples(text: str, keys: DataKeys, inputs: frozenset[str]) -> Iterator[Span]:
    written = list(json_keys(text))
    top = {key.name for key in written if key.path == ()}
    above = 0 if top & inputs else 1
    return (
        key.span
        for key in written
        if len(key.path) >= above and _is_along((*key.path, key.name)[above:], keys)
    )


def _yaml_samples(text: str, keys: DataKeys, inputs: frozenset[str]) -> Iterator[Span]:
    root = compose(text, Span, lambda _span: False).root
    if not isinstance(root, Mapping):
        return
    top = {key for entry in root.entries if (key := key_text(entry)) is not None}
    if top & inputs:
        yield from yaml_key_spans(text, root, keys)
        return
    for entry in root.entries:
        if isinstance(entry.value, Mapping):
            yield from yaml_key_spans(text, entry.value, keys)


def yaml_key_spans(text: str, node: Node, keys: DataKeys) -> Iterator[Span]:
    """Yield the places of a key below a node of a YAML text."""
    if isinstance(node, Sequence):
        for item in node.items:
            yield from yaml_key_spans(text, item, keys)
    for entry in node.entries if isinstance(node, Mapping) else ():
        key = entry.key
        if not isinstance(key, Scalar) or keys[0] not in {None, key.text}:
            continue
        if len(keys) > 1:
            yield from yaml_key_spans(text, entry.value, keys[1:])
            continue
        bare = _bare(text, key)
        if bare is not None:
            yield bare


LINES: Final = frozenset({".jsonl", ".ndjson"})
"""The endings of files of which each line is a JSON text."""
DATA_ENDINGS: Final = frozenset({".csv", ".json", ".yml", ".yaml", *LINES})
"""The endings of files of samples and rows in which keys are found."""


def key_at(suffix: str, text: str, offset: int) -> WrittenKey | None:
    """Return the key at `offset`, or that ends there, in a file with this ending; of CSV only a column."""
    if suffix == ".csv":
        keys: Iterator[WrittenKey] = (
            WrittenKey(text[span.start : span.end], span)
            for span in csv_header(text)
            if span.end > span.start
        )
    elif suffix in LINES:
        begin = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
        ends = [each for each in (text.find("\n", offset), text.find("\r", offset)) if each >= 0]
        line = text[begin : min(ends, default=len(text))]
        keys = (key._replace(span=key.span.shifted(begin)) for key in json_keys(line))
    elif suffix == ".json":
        keys = json_keys(text)
    else:
        root = compose(text, Span, lambda _span: False).root
        keys = _yaml_keys(text, root) if root is not None else iter(())
    return next((key for key in keys if key.span.contains(offset)), None)


def _yaml_keys(text: str, node: Node) -> Iterator[WrittenKey]:
    """Yield the keys below a node that are written as they are read."""
    for item in node.items if isinstance(node, Sequence) else ():
        yield from _yaml_keys(text, item)
    for entry in node.entries if isinstance(node, Mapping) else ():
        if isinstance(entry.key, Scalar) and (bare := _bare(text, entry.key)) is not None:
            yield WrittenKey(entry.key.text, bare)
        yield from _yaml_keys(text, entry.value)


def _bare(text: str, key: Scalar) -> Span | None:
    """Return the span of a key without quotes; None if it is escaped."""
    quoted = text[key.span.start : key.span.start + 1] in {"'", '"'}
    bare = Span(key.span.start + quoted, key.span.end - quoted)
    return bare if text[bare.start : bare.end] == key.text else None
