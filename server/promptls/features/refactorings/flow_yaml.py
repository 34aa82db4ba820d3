"""Values written in YAML's flow style, on one line."""

from __future__ import annotations

import json
from typing import Any

import yaml


def flow(value: Any) -> str:
    """The value as YAML on one line: a plain word where that is read as the same text, else quoted."""
    if isinstance(value, str):
        return value if _is_plain(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(str(key))}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _is_plain(text: str) -> bool:
    """Whether the bare text in a list in brackets is read as that text; without Jinja's braces in it."""
    if not text or text != text.strip() or set(text) & set("\n\r{}[],#&*!|>'\"%@`"):
        return False
    try:
        return bool(yaml.safe_load(f"[{text}]") == [text] and yaml.safe_load(f"{{{text}: 1}}") == {text: 1})
    except yaml.YAMLError:
        return False
