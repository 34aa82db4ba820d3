"""Values written in YAML's flow style, on one line."""

from __future__ import annotations

import json
from typing import Any, Final

import yaml

_SPECIAL: Final = frozenset("\n\r{}[],#&*!|>'\"%@`\\\x85\u2028\u2029")


def flow(value: Any) -> str:
    """The value as YAML on one line: a plain word where that is read as the same text, else quoted."""
    if isinstance(value, str):
        return value if _is_plain(value) else _quoted(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(str(key))}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_plain(text: str) -> bool:
    """Whether the bare text in a list in brackets is read as that text; without Jinja's braces in it."""
    if not text or text != text.strip() or not text.isprintable() or set(text) & _SPECIAL:
        return False
    try:
        return bool(yaml.safe_load(f"[{text}]") == [text] and yaml.safe_load(f"{{{text}: 1}}") == {text: 1})
    except yaml.YAMLError:
        return False


def _quoted(text: str) -> str:
    """The text in double quotes; what is not printable as an escape, and Jinja's delimiters too."""
    quoted = json.dumps(text, ensure_ascii=False)
    quoted = "".join(character if character.isprintable() else _escape(character) for character in quoted)
    for special in ("{", "%", "#"):
        quoted = quoted.replace("{" + special, "{" + _escape(special))
    return quoted


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the end of plane 0
