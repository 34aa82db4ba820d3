"""Values of a sample, by the way that leads to them in a template."""

from __future__ import annotations

from typing import Any

from promptls.meaning.paths import Each, Path


def value_at(data: Any, path: Path) -> Any:
    """The value at a path in some data, of the first element where there are many; None where there is none.

    Of a list of mappings the element has every key that one of them has.
    """
    value = data
    for step in path:
        if isinstance(step.key, str):
            value = value.get(step.key) if isinstance(value, dict) else None
        elif isinstance(value, dict):
            value = next(iter(value.values()), None) if step.key is Each.VALUE else None
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            value = {key: each[key] for each in reversed(value) for key in each}
        else:
            value = value[0] if isinstance(value, list) and value else None
        if value is None:
            return None
    return value
