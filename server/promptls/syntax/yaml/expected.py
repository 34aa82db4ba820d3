"""Find what can be written at a position in YAML, by indentation, keys and brackets alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from promptls.text.positions import Span, line_start

ITEM: Final = "-"
"""Represents an item of a list in a path."""


class YamlPlace(NamedTuple):
    """What can be written at a position: a `key`, a `value`, or `text` in a block scalar or quoted text.

    `path` leads to the mapping of a key, or to a value or text itself; `-` is a list item. `word` is the
    text that is already there, left and right of the position. `column` is where the key begins, and
    `indent` is the indentation of its line: they differ after a dash. `is_first` is True if the position
    is the beginning of the value, so that a list item or mapping could begin as well.
    """

    what: Literal["key", "value", "text"]
    path: tuple[str, ...]
    word: Span
    siblings: frozenset[str] = frozenset()
    column: int = 0
    indent: int = 0
    has_colon: bool = False
    needs_space: bool = False
    quote: str = ""
    in_flow: bool = False


def _scalar_end(text: str, offset: int, quote: str, stops: str) -> int:
    """Return where the scalar at a position ends: on the same line, before what cannot belong to it."""
    line = re.compile(r"[^\n\r]*").match(text, offset)
    rest = line.group() if line else ""
    if quote:
        closing = rest.find(quote)
        return offset + (closing if closing >= 0 else len(rest.rstrip()))
    for index, character in enumerate(rest):
        if character in stops or (character == "#" and index and rest[index - 1] in " \t"):
            rest = rest[:index]
            break
    return offset + len(rest.rstrip())


_LATER_KEY: Final = re.compile(r"[,{]\s*[\"']?([\w.$-]+)[\"']?\s*:")
_COLON: Final = re.compile(r"[\"']?[ \t]*:(?=[ \t\r\n]|\Z)")
_MAX_BEHIND: Final = 1000
"""How many characters after the position are searched for keys of the same flow mapping."""


class _Level:
    """An open bracket: the keys of a mapping so far, and the one whose value is being written."""

    __slots__ = ("key", "keys", "opening")

    def __init__(self, opening: str) -> None:
        self.opening = opening
        self.keys: list[str] = []
        self.key: str | None = None


class _FlowScan:
    """The brackets that are open in a flow collection, and where the word at the end begins."""

    __slots__ = ("is_over", "levels", "quote", "text", "word")

    def __init__(self, text: str, begin: int, end: int) -> None:
        self.text = text
        self.levels: list[_Level] = []
        self.word = begin
        self.quote = ""
        self.is_over = False
        for position in range(begin, end):
            self._take(position, text[position])

    def _take(self, position: int, character: str) -> None:
        if self.quote:
            if character == self.quote:
                self.quote = ""
        elif character in "\"'" and not self.text[self.word : position].strip():
            self.quote, self.word = character, position
        elif character in "[{":
            self.levels.append(_Level(character))
            self.word = position + 1
        elif character in "]}" and self.levels:
            self.levels.pop()
            self.word = position + 1
            self.is_over = self.is_over or not self.levels
        elif character == "," and self.levels:
            self.levels[-1].key = None
            self.word = position + 1
        elif character == ":" and self._ends_key(position):
            level = self.levels[-1]
            level.key = self.text[self.word : position].strip().strip("\"'")
            level.keys.append(level.key)
            self.word = position + 1

    def _ends_key(self, position: int) -> bool:
        inside = bool(self.levels) and self.levels[-1].opening == "{" and self.levels[-1].key is None
        return inside and self.text[position + 1 : position + 2] in {" ", "\n", "\r", ""}


def _flow_place(
    text: str, begin: int, offset: int, path: tuple[str, ...], column: int, indent: int
) -> YamlPlace | None:
    """Return what can be written at `offset` in the flow collection that begins at `begin`.

    `path` leads to the collection; `column` and `indent` are those of the line with the position.
    """
    scan = _FlowScan(text, begin, offset)
    if scan.is_over or not scan.levels:
        return None
    typed = text[scan.word : offset]
    word = scan.word + len(typed) - len(typed.lstrip(" \t\r\n")) + len(scan.quote)
    inside = path
    for level in scan.levels:
        if level.opening == "[":
            inside = (*inside, ITEM)
        elif level.key is not None:
            inside = (*inside, level.key)
    innermost = scan.levels[-1]
    place = YamlPlace(
        "value",
        inside,
        Span(word, _scalar_end(text, offset, scan.quote, ",]}")),
        column=column,
        indent=indent,
        needs_space=innermost.opening == "{" and text[:word].endswith(":"),
        quote=scan.quote,
        in_flow=True,
    )
    if innermost.opening == "[" or innermost.key is not None:
        return place
    end = _scalar_end(text, offset, scan.quote, ":,]}")
    rest = text[end : end + _MAX_BEHIND].split("}", maxsplit=1)[0]
    colon = _COLON.match(text, end)
    return place._replace(
        what="key",
        word=Span(word, end),
        siblings=frozenset([*innermost.keys, *_LATER_KEY.findall(rest)]),
        has_colon=colon is not None,
        needs_space=False,
    )


_KEY: Final = re.compile(
    r"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s\[\]{},#&*!|>'"%@`:-][^\n\r:#]*?|-[^\s:][^\n\r:#]*?)"""
    r"""[ \t]*:(?P<space>[ \t]+|$)(?P<value>.*)$"""
)
_LINE: Final = re.compile(r"(?P<indent> *)(?P<dashes>(?:-(?: +|$))*)(?P<content>.*)$")
_BLOCK_SCALAR: Final = re.compile(r"(?:[&!]\S*\s+)*[|>][-+0-9]*[ \t]*(?:#.*)?$")
_PROPERTY: Final = re.compile(r"(?:[&!]\S*\s*)*(?:#.*)?$")
_COMMENT: Final = re.compile(r"(?:^|[ \t])#")
_TOP_KEY: Final = re.compile(r"^([\w.$-]+)[ \t]*:(?=\s|$)", re.MULTILINE)
_FLOW: Final = re.compile(r"[^\[{#]*?(?::|-)\s+([\[{])")
_WORD: Final = re.compile(r"[\w.$-]*")
_MAX_BELOW: Final = 200
"""How many lines below the position are searched for existing keys."""


class _Line(NamedTuple):
    """A line: where its dashes and its content begin, and its key and value if it has one."""

    indent: int
    dashes: tuple[int, ...]
    column: int
    content: str
    key: str | None
    value: str


def yaml_place(text: str, offset: int) -> YamlPlace | None:
    """Return what can be written at `offset` of YAML text.

    None in a comment, and if there is nothing to suggest.
    """
    start = line_start(text, offset)
    head = text[start:offset]
    line = _line(head)
    limit = line.column
    need = line.dashes[0] if line.dashes else limit
    path, siblings, parent = _above(_lines_above(text, start), need, limit, from_dash=bool(line.dashes))
    if limit == 0:
        siblings = frozenset(_TOP_KEY.findall(text, 0, start))
    if parent is not None and _is_block(parent):
        return YamlPlace("text", path, _word(text, offset))
    if line.dashes and not head.endswith((" ", "\t")) and not line.content:
        return None
    if _has_comment(line.content):
        return None
    own = (*path, *(ITEM for _ in line.dashes))
    if parent is not None and not line.dashes and _opens_text(parent):
        if parent.lstrip()[:1] not in "[{":
            return YamlPlace("text", path, _word(text, offset))
        begin = _flow_begin(text, start)
        return _flow_place(text, begin, offset, path, line.column, line.indent)
    if line.key is not None:
        return _value(text, offset, line, own)
    if line.content[:1] in "[{" and line.content:
        return _flow_place(text, offset - len(line.content), offset, own, line.column, line.indent)
    if line.content[:1] in {"|", ">", "&", "*", "!", "%", "@", "`", "#", "?"} and line.content:
        return None
    return _key(text, offset, line, own, siblings)


def _line(text: str) -> _Line:
    found = _LINE.match(text)
    assert found is not None
    indent = len(found["indent"])
    dashes = tuple(indent + match.start() for match in re.finditer("-", found["dashes"]))
    column = found.start("content")
    content = found["content"]
    pair = _KEY.match(content)
    key = pair["key"].strip("\"'") if pair else None
    return _Line(indent, dashes, column, content, key, pair["value"] if pair else "")


def _lines_above(text: str, start: int) -> Iterator[str]:
    """Yield the lines above the one that begins at `start`, nearest first, without their line breaks."""
    while start > 0:
        end = start - 1
        if text[end] == "\n" and text[end - 1 : end] == "\r":
            end -= 1
        start = line_start(text, end)
        yield text[start:end]


def _above(
    lines: Iterable[str], need: int, limit: int, *, from_dash: bool
) -> tuple[tuple[str, ...], frozenset[str], str | None]:
    """Return the path to the position, the keys of the same mapping, and the value text of the parent key.

    `need` is the column that ancestors must begin before; a list may begin in the column of its key.
    """
    path: list[str] = []
    siblings: set[str] = set()
    parent: str | None = None
    beside = not from_dash
    for text in lines:
        if need <= 0 and not from_dash:
            break
        inner = text.lstrip(" ")
        indent = len(text) - len(inner)
        if indent > need or not inner or inner[0] in "#\t" or (indent == need and _is_plain(inner)):
            continue
        line = _line(text)
        entries: list[tuple[int, str | None, str]] = [(dash, ITEM, "") for dash in line.dashes]
        entries.append((line.column, line.key, line.content if line.key is None else line.value))
        for column, name, value in reversed(entries):
            if beside and column == limit and name and name != ITEM:
                siblings.add(name)
            has_list = from_dash and name is not None and not line.dashes and column == need
            if column >= need and not has_list:
                continue
            if _is_block(value):
                path.clear()
                siblings.clear()
                parent = value
            parent = value if parent is None else parent
            path += [name] if name is not None else []
            need, from_dash, beside = column, name == ITEM, False
    return tuple(reversed(path)), frozenset(siblings), parent


def _is_plain(text: str) -> bool:
    """Return whether a line can be neither a key nor a list item."""
    return text[0] != "-" and ":" not in text


def _is_block(value: str) -> bool:
    return bool(_BLOCK_SCALAR.match(value))


def _opens_text(value: str) -> bool:
    """Return whether a key has a value on its own line, so that lines below continue that value."""
    return not _PROPERTY.match(value)


def _has_comment(content: str) -> bool:
    quotes = re.sub(r"\"(?:[^\"\\]|\\.)*\"?|'(?:[^']|'')*'?", lambda match: "x" * len(match.group()), content)
    return bool(_COMMENT.search(quotes))


def _word(text: str, offset: int) -> Span:
    """Return the word at a position in running text."""
    start = offset
    while start and (text[start - 1].isalnum() or text[start - 1] in "_<|{"):
        start -= 1
    match = re.compile(r"\w*").match(text, offset)
    return Span(start, match.end() if match else offset)


def _key(
    text: str, offset: int, line: _Line, path: tuple[str, ...], above: frozenset[str]
) -> YamlPlace | None:
    typed = line.content
    quote = typed[:1] if typed[:1] in {'"', "'"} else ""
    if not quote and re.search(r"\s", typed):
        return None  # a sentence, not a key
    match = _WORD.match(text, offset)
    end = match.end() if match else offset
    colon = re.compile(r"[ \t]*:(?=[ \t\r\n]|\Z)").match(text, end)
    return YamlPlace(
        "key",
        path,
        Span(offset - len(typed) + len(quote), end),
        above | _below(text, end, line.column),
        line.column,
        line.indent,
        has_colon=colon is not None,
        quote=quote,
    )


def _below(text: str, offset: int, column: int) -> frozenset[str]:
    """Return the keys of the same mapping below the position."""
    found = set()
    following = re.split(r"\r\n|\n|\r", text[offset : offset + 80 * _MAX_BELOW])[1 : _MAX_BELOW + 1]
    for each in following:
        if not each.strip():
            continue
        line = _line(each)
        if (line.dashes and line.dashes[0] < column) or line.column < column:
            break
        if line.column == column and line.key is not None:
            found.add(line.key)
    return frozenset(found)


def _value(text: str, offset: int, line: _Line, path: tuple[str, ...]) -> YamlPlace | None:
    value = line.value
    path = (*path, line.key or "")
    if value[:1] in {"[", "{"} and value:
        return _flow_place(text, offset - len(value), offset, path, line.column, line.indent)
    if value[:1] in {"|", ">", "&", "*", "!"} and value:
        return None
    quote = value[:1] if value[:1] in {'"', "'"} else ""
    if quote and quote in value[1:]:
        return None
    start = offset - len(value) + len(quote)
    needs_space = line.content.endswith(":") and not value
    end = _scalar_end(text, offset, quote, "")
    return YamlPlace(
        "value",
        path,
        Span(start, end),
        column=line.column,
        indent=line.indent,
        needs_space=needs_space,
        quote=quote,
    )


def _flow_begin(text: str, line_start: int) -> int:
    """Return where the flow collection begins that continues in the line."""
    end = line_start
    for each in _lines_above(text, line_start):
        end = text.rindex(each, 0, end) if each else end - 1
        found = _FLOW.match(each)
        if found:
            return end + found.start(1)
    return line_start
