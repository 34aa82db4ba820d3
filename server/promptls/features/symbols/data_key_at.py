"""Which key stands at a place of a file of data: a column of CSV, a key of JSON, JSON Lines or YAML."""

from __future__ import annotations

from typing import Final, NamedTuple

from promptls.features.symbols.data_keys import csv_cells, json_keys
from promptls.syntax.yaml.compose import compose
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence
from promptls.text.span import Span

LINES: Final = frozenset({".jsonl", ".ndjson"})
"""The endings of files of which each line is a JSON text."""
DATA_ENDINGS: Final = frozenset({".csv", ".json", ".yml", ".yaml", *LINES})
"""The endings of files of samples and rows in which keys are found."""


class WrittenKey(NamedTuple):
    """A key at `span`, without quotes, and the keys of the mappings around it; lists count as none."""

    name: str
    span: Span
    around: tuple[str, ...] = ()


def key_at(suffix: str, text: str, offset: int) -> WrittenKey | None:
    """The key that stands at `offset`, or ends there, in a file with this ending."""
    if suffix == ".csv":
        return _column_at(text, offset)
    begin, end = 0, len(text)
    if suffix in LINES:
        begin = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
        ends = [each for each in (text.find("\n", offset), text.find("\r", offset)) if each >= 0]
        end = min(ends, default=end)
    if suffix in LINES or suffix == ".json":
        for key in json_keys(text[begin:end]):
            if key.span.contains(offset - begin):
                return WrittenKey(key.name, key.span.shifted(begin), key.path)
        return None
    root = compose(text, Span, lambda _span: False).root
    return _yaml_key(text, root, offset, ()) if root is not None else None


def _column_at(text: str, offset: int) -> WrittenKey | None:
    """The column whose name stands at a place of the first line, or the key of a JSON text in a cell."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    if "\n" in text[:offset].strip("\ufeff\r\n") and "{" not in line:
        return None  # in the rows only cells of JSON hold keys
    names: list[str] = []
    for row in csv_cells(text):
        for number, cell in enumerate(row):
            if not cell.span.contains(offset):
                continue
            written = text[cell.span.start : cell.span.end]
            if not names:
                return WrittenKey(written, cell.span) if written else None
            column = names[number] if number < len(names) else ""
            return _key_in_cell(written, cell.span.start, offset, column, is_quoted=cell.is_quoted)
        names = names or [text[cell.span.start : cell.span.end] for cell in row]
        if row and row[0].span.start > offset:
            return None
    return None


def _key_in_cell(written: str, start: int, offset: int, column: str, *, is_quoted: bool) -> WrittenKey | None:
    value = written.replace('""', '"') if is_quoted else written
    if value.lstrip()[:1] not in {"{", "["} or not column:
        return None
    for key in json_keys(value):
        # Every quote before the key is written twice.
        doubled = value.count('"', 0, key.span.start) if is_quoted else 0
        span = key.span.shifted(start + doubled)
        if span.contains(offset):
            return WrittenKey(key.name, span, (column, *key.path))
    return None


def _yaml_key(text: str, node: Node, offset: int, around: tuple[str, ...]) -> WrittenKey | None:
    if isinstance(node, Sequence):
        item = next((each for each in node.items if each.span.contains(offset)), None)
        return _yaml_key(text, item, offset, around) if item is not None else None
    for entry in node.entries if isinstance(node, Mapping) else ():
        key = entry.key
        if not isinstance(key, Scalar):
            continue
        if key.span.contains(offset):
            quoted = text[key.span.start : key.span.start + 1] in {"'", '"'}
            bare = Span(key.span.start + quoted, key.span.end - quoted)
            is_plain = text[bare.start : bare.end] == key.text and bare.contains(offset)
            return WrittenKey(key.text, bare, around) if is_plain else None
        if entry.value.span.contains(offset):
            return _yaml_key(text, entry.value, offset, (*around, key.text))
    return None
