"""Where a key is written in a data file: a column of CSV, a key of JSON, JSON Lines or YAML."""

from __future__ import annotations

import json
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

    A samples file holds one mapping of `inputs`, or mappings under the names of samples. A cell of
    a CSV file has keys where it is the JSON text of an object or list.
    """
    if suffix == ".csv":
        return csv_columns(text, keys[0] or "") if len(keys) == 1 else _keys_in_cells(text, keys)
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


def _keys_in_cells(text: str, keys: DataKeys) -> Iterator[Span]:
    """Yield the places of a key in the cells of the column that its way begins with."""
    column = -1
    for row in csv_cells(text):
        if column < 0:
            names = [text[cell.span.start : cell.span.end] for cell in row]
            if keys[0] not in names:
                return
            column = names.index(keys[0])
        elif column < len(row):
            yield from _in_cell(text, row[column], keys[1:])


def _in_cell(text: str, cell: Cell, keys: DataKeys) -> Iterator[Span]:
    written = text[cell.span.start : cell.span.end]
    value = written.replace('""', '"') if cell.is_quoted else written
    if value.lstrip()[:1] not in {"{", "["}:
        return
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return
    for key in json_keys(value):
        if _is_along((*key.path, key.name), keys):
            # Every quote before the key is written twice.
            doubled = value.count('"', 0, key.span.start) if cell.is_quoted else 0
            start = cell.span.start + key.span.start + doubled
            if text[start : start + len(key.name)] == key.name:
                yield Span(start, start + len(key.name))


class Cell(NamedTuple):
    """A cell of a CSV file, without the quotes around it."""

    span: Span
    is_quoted: bool


def csv_cells(text: str) -> Iterator[list[Cell]]:
    """Yield the rows of a CSV text with their cells; rows without any text are left out."""
    position = len(text) - len(text.lstrip("\ufeff\r\n"))
    row: list[Cell] = []
    while position < len(text) or row:
        match = _CELL.match(text, position)
        assert match is not None
        quoted = match.group(1) is not None
        row.append(Cell(Span(*match.span(1 if quoted else 2)), quoted))
        position = match.end()
        if text[position : position + 1] == ",":
            position += 1
            continue
        end = _LINE_END.match(text, position)
        if len(row) > 1 or row[0].span.start < row[0].span.end:
            yield row
        row = []
        # What stands behind a closing quote is none of the cell: it is passed over to the line's end.
        position = end.end() if end is not None else len(text)


class _Key(NamedTuple):
    """A key and the keys of the objects around it; lists in between count as none."""

    name: str
    span: Span
    path: tuple[str, ...]


def json_keys(text: str) -> Iterator[_Key]:
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
            yield _Key(key, Span(*match.span(1)), tuple(name for _, name in around[1:] if name))


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
        quoted = text[key.span.start : key.span.start + 1] in {"'", '"'}
        bare = Span(key.span.start + quoted, key.span.end - quoted)
        if text[bare.start : bare.end] == key.text:
            yield bare


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
    """Return the key that stands at `offset`, or ends there, in a file with this ending."""
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
    """Return the column whose name is at a position of the first line, or the key of JSON in a cell."""
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
