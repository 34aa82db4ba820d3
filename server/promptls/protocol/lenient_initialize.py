"""What a client says of itself, without what is not as the protocol wants it.

A client that leaves a required field out of one capability is served without that capability,
rather than not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lsprotocol import types

Json = dict[str, Any]


def readable_initialize(message: Json, is_readable: Callable[[Json], bool]) -> Json:
    """The message `initialize` without the parameters and capabilities that `is_readable` refuses alone."""
    params = message.get("params")
    if not isinstance(params, dict):
        params = {}

    def alone(its: Json) -> bool:
        return is_readable({**message, "method": types.INITIALIZE, "params": {"capabilities": {}, **its}})

    kept = {key: value for key, value in params.items() if key != "capabilities" and alone({key: value})}
    capabilities: Json = {}
    given = params.get("capabilities")
    for section, value in given.items() if isinstance(given, dict) else ():
        if alone({"capabilities": {section: value}}):
            capabilities[section] = value
        elif isinstance(value, dict):
            capabilities[section] = {
                key: its for key, its in value.items() if alone({"capabilities": {section: {key: its}}})
            }
    return {**message, "params": {**kept, "capabilities": capabilities}}
