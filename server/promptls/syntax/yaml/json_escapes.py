r"""Support escapes of JSON that YAML rejects: `"\ud83d\ude00"`, a character beyond U+FFFF as two surrogates.

Python's `json` writes them. Each surrogate is replaced with a private use character for parsing, and the
pairs are combined in the result; offsets do not change.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

REFUSED: Final = "found invalid Unicode character escape code"
"""The message of libyaml for a surrogate."""
_ESCAPE: Final = re.compile(r"\\(?:u([dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)
_HIGH, _LOW, _END = 0xE000, 0xE400, 0xE800
_PAIR: Final = re.compile(f"[{chr(_HIGH)}-{chr(_LOW - 1)}][{chr(_LOW)}-{chr(_END - 1)}]")


def is_json(text: str) -> bool:
    """Return whether the text begins like JSON with more than one value."""
    return text.lstrip()[:1] in {"{", "["}


def readable(text: str) -> str:
    """Return the text with surrogates replaced by characters that YAML accepts; its length is unchanged."""
    return _ESCAPE.sub(_whole_escape, text)


def _whole_escape(match: re.Match[str]) -> str:
    return f"\\u{int(match[1], 16) - 0xD800 + _HIGH:04x}" if match[1] else match[0]


def join(node: yaml.Node | None) -> None:
    """Combine the surrogates in the scalars below `node`."""
    if isinstance(node, yaml.ScalarNode):
        node.value = _PAIR.sub(_character, node.value)
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            for each in pair:
                join(each)
    elif isinstance(node, yaml.SequenceNode):
        for each in node.value:
            join(each)


def _character(match: re.Match[str]) -> str:
    high, low = map(ord, match[0])
    return chr(0x10000 + ((high - _HIGH) << 10) + low - _LOW)
