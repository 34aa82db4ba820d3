"""Messages as JSON: quickly where they are as they should be, and whatever can be read of the others."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

_written: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def decoded(body: bytes) -> Any:
    """What a message's body says; None where it is no JSON.

    Lone surrogates and numbers of any length are read as well, as Python's own reader does.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def encoded(message: dict[str, Any]) -> bytes:
    """The message as JSON; as ASCII where something in it is no Unicode text."""
    try:
        return orjson.dumps(message)
    except orjson.JSONEncodeError:
        return _written(message).encode()
