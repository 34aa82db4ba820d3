"""One text for values that are equal, whatever the order of their keys."""

from __future__ import annotations

from typing import Any


def canonical_text(value: Any) -> str:
    """A text that two YAML values share only where they are the same data, with the same kinds of scalars.

    Keys may be of any kind, and of several in one mapping, which `json.dumps` can neither sort nor write.
    """
    if isinstance(value, dict):
        pairs = sorted(f"{canonical_text(key)}:{canonical_text(each)}" for key, each in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(canonical_text(each) for each in value)}]"
    return f"{type(value).__name__} {value!r}"
