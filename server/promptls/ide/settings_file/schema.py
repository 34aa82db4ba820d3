"""Where in a settings file a place is, and what the JSON Schema of the settings says there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from promptls.text.positions import Span
from promptls.workspace.settings import MAX_CHARACTERS, MAX_LEVELS, PYPROJECT_FILE, SETTINGS_FILE

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t]+)|(?P<comment>\#[^\r\n]*)|(?P<line>\r\n|\r|\n)"""
    r"""|(?P<string>\"{3}.*?\"{3}|'{3}.*?'{3}|(?!\"{3})"(?:[^"\\\r\n]|\\.)*"|(?!'{3})'[^'\r\n]*')"""
    r"""|(?P<open>["'][^\r\n]*)|(?P<word>[\w+-]+)|(?P<sign>.)""",
    re.DOTALL,
)
_HEADER: Final = re.compile(r"[ \t]*\[{1,2}([^\]\r\n]*)")
_NAME: Final = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")
_LONG_QUOTES: Final = ('"' * 3, "'" * 3)
_WORD: Final = re.compile(r"[\w-]*")
_IN_QUOTES: Final = re.compile(r"[^\"'\r\n]*")

Keys = tuple[str, ...]


class TomlPlace(NamedTuple):
    """A place in a settings file.

    `keys` lead from the settings' root to the mapping whose key is written, or to the value that is.
    `word` is what stands there already, without quotes; `quote` is the one that is open.
    """

    what: Literal["table", "key", "value"]
    keys: Keys
    word: Span
    quote: str = ""


def is_settings_file(path: str) -> bool:
    """Return whether a file of this name holds settings of promptls."""
    return Path(path).name in {SETTINGS_FILE, PYPROJECT_FILE}


def root_of(path: str) -> Keys:
    """Return the tables around the settings in a file of this name."""
    return ("tool", "promptls") if Path(path).name == PYPROJECT_FILE else ()


def place_in(text: str, offset: int, root: Keys) -> TomlPlace | None:
    """Return where `offset` stands.

    None in a comment, where the settings of somebody else stand, and in a text that is too large or too
    deeply nested to be read.
    """
    found = _Reader(text, offset).place() if len(text) <= MAX_CHARACTERS else None
    if found is None or found.what == "table":
        return found
    if found.keys[: len(root)] != root:
        return None
    return found._replace(keys=found.keys[len(root) :])


def names_in(text: str) -> Keys:
    """Return the names in a table's header or a dotted key."""
    return tuple(next(filter(None, match.groups()), "") for match in _NAME.finditer(text))


class _Reader:
    """Reads a text up to a place."""

    def __init__(self, text: str, offset: int) -> None:
        self._text: Final = text
        self._offset: Final = offset
        self._table: Keys = ()
        self._keys: list[str] = []
        self._state: Literal["key", "value", "done"] = "key"
        self._open: list[tuple[str, Keys]] = []

    def place(self) -> TomlPlace | None:
        at = 0
        while at < self._offset:
            if self._state == "key" and not self._open and not self._keys:
                header = _HEADER.match(self._text, at)
                if header is not None:
                    if header.end() >= self._offset:
                        return self._in_header(header)
                    self._table = names_in(header[1])
                    self._state = "done"
                    at = header.end()
                    continue
            token = _TOKEN.match(self._text, at)
            assert token is not None
            if token.lastgroup == "open" and token.group().startswith(_LONG_QUOTES):
                return None
            if token.end() >= self._offset and token.lastgroup in {"comment", "word", "string", "open"}:
                return self._in_token(token)
            self._pass(token)
            at = token.end()
            if len(self._open) > MAX_LEVELS or len(self._keys) > MAX_LEVELS:
                return None
        if self._state == "done":
            return None
        return self._placed(Span(self._offset, self._word_end(_WORD)))

    def _in_header(self, header: re.Match[str]) -> TomlPlace:
        end = header.end()
        return TomlPlace("table", (), Span(header.start(1), max(end, self._offset)))

    def _in_token(self, token: re.Match[str]) -> TomlPlace | None:
        if token.lastgroup == "comment" or self._state == "done":
            return None
        if token.lastgroup == "word":
            return self._placed(Span(token.start(), self._word_end(_WORD)))
        quote = token.group()[0]
        is_long = token.group().startswith(_LONG_QUOTES)
        behind = token.lastgroup == "string" and token.end() <= self._offset
        if is_long or behind or self._offset <= token.start():
            return None
        return self._placed(Span(token.start() + 1, self._word_end(_IN_QUOTES)), quote)

    def _word_end(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self._text, self._offset)
        return match.end() if match else self._offset

    def _placed(self, word: Span, quote: str = "") -> TomlPlace:
        around = self._open[-1][1] if self._open else self._table
        keys = (*around, *self._keys)
        return TomlPlace("value" if self._state == "value" else "key", keys, word, quote)

    def _pass(self, token: re.Match[str]) -> None:
        text = token.group()
        if token.lastgroup == "line":
            if not self._open:
                self._state, self._keys = "key", []
        elif token.lastgroup in {"word", "string"}:
            if self._state == "key":
                self._keys += names_in(text)
            elif not self._open or self._open[-1][0] == "{":
                self._state = "done"
        elif text == "=":
            self._state = "value"
        elif text in "[{" and self._state == "value":
            around = self._open[-1][1] if self._open else self._table
            self._open.append((text, (*around, *self._keys)))
            self._keys = []
            self._state = "key" if text == "{" else "value"
        elif text in "]}" and self._open:
            self._open.pop()
            self._state = "done"
        elif text == "," and self._open:
            self._keys = []
            self._state = "key" if self._open[-1][0] == "{" else "value"


Schema = Mapping[str, Any]


@lru_cache(maxsize=1)
def settings_schema() -> Schema:
    """Return the JSON Schema of all settings."""
    from promptls.settings.project import Project

    return Project.model_json_schema()


def schema_at(keys: tuple[str, ...]) -> Schema:
    """Return the schema of the value that the keys lead to, through lists.

    Empty where there is no such setting.
    """
    schema = _resolved(settings_schema())
    for key in keys:
        properties = schema.get("properties", {})
        below = properties.get(key) or schema.get("additionalProperties")
        if not isinstance(below, dict):
            return {}
        schema = _resolved(below)
    return schema


def keys_at(keys: tuple[str, ...]) -> Mapping[str, Schema]:
    """Return the keys that the mapping at `keys` may have, with their schemas."""
    return {name: _resolved(below) for name, below in schema_at(keys).get("properties", {}).items()}


def item_schema(schema: Schema) -> Schema:
    """Return the schema of a list's items; of anything else the schema itself."""
    items = schema.get("items")
    return _resolved(items) if isinstance(items, dict) else schema


def _resolved(schema: Schema) -> Schema:
    """Return the schema with what it refers to, and of two choices that which is not nothing."""
    described = {key: schema[key] for key in ("description", "default") if key in schema}
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            return {**_resolved(choice), **described}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        named = settings_schema().get("$defs", {}).get(reference.rpartition("/")[2], {})
        return {**_resolved(named), **described}
    return schema


def type_words(schema: Schema) -> str:
    """Return the type of a value as people read it."""
    if "enum" in schema:
        return "one of " + ", ".join(f"`{each}`" for each in schema["enum"])
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"list of {item_schema(schema).get('type', 'value')}s"
    return {"object": "table", "integer": "whole number", "boolean": "true or false"}.get(kind, str(kind))
