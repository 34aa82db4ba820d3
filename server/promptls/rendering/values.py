"""Values of YAML and JSON on their way to the worker and back.

JSON has text keys only, and no dates: packing keeps what YAML data can hold, as mappings with one
key that begins with `$`.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final

from promptls.text.shortened import shortened

_MOST_VALUES: Final = 2_000_000
_MOST_BITS: Final = 14_000
"""Python writes no numbers of more than 4,300 digits."""


def is_boundless(value: Any) -> bool:
    """Whether a value holds itself, or comes to millions of values, as YAML makes of a few aliases."""
    waiting, count = [value], 0
    while waiting:
        current = waiting.pop()
        if isinstance(current, Mapping):
            held: Any = [*current.keys(), *current.values()]
        elif isinstance(current, list | tuple | set | frozenset):
            held = current
        else:
            continue
        count += len(held)
        if count > _MOST_VALUES:
            return True
        waiting += held
    return False


def pack(value: Any) -> Any:
    """`value` as JSON that `unpack` turns back into the same value; tuples and sets become lists.

    Raises TypeError for values that YAML and JSON cannot hold, and ValueError for one without bounds.
    """
    if is_boundless(value):
        raise ValueError("A value holds itself, or comes to millions of values through YAML aliases.")
    try:
        return _pack(value)
    except RecursionError:
        raise ValueError("The value holds itself, or is nested too deep.") from None


def _pack(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: _pack(its) for key, its in value.items()}
        return {"$map": [[_pack(key), _pack(its)] for key, its in value.items()]}
    if isinstance(value, dt.datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, dt.date):
        return {"$date": value.isoformat()}
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, Sequence | set | frozenset):
        return [_pack(each) for each in value]
    raise TypeError(f"A value of type {type(value).__name__} cannot be template data: pass plain values.")


def unpack(value: Any) -> Any:
    """The value that `pack` packed."""
    if isinstance(value, list):
        return [unpack(each) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, held),) = value.items()
        if key == "$map":
            return {unpack(each): unpack(its) for each, its in held}
        if key == "$datetime":
            return dt.datetime.fromisoformat(held)
        if key == "$date":
            return dt.date.fromisoformat(held)
        if key == "$bytes":
            return base64.b64decode(held)
    return {key: unpack(its) for key, its in value.items()}


def plain(value: Any) -> Any:
    """`value` as JSON to look at: keys are text, and what JSON lacks is text."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return shortened(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {as_text(key): plain(its) for key, its in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return as_text(value)


def as_text(value: Any) -> str:
    """`value` as `str` writes it; a number of thousands of digits, which Python does not write, in words."""
    try:
        return str(value)
    except ValueError:
        return shortened(value)
