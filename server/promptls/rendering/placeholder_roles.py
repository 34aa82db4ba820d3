"""The inputs that are printed as the role of a part; their placeholder is a role, which a model accepts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final

from promptls.semantic.flow.paths import Each, Path
from promptls.semantic.flow.shapes import resolved_uses
from promptls.semantic.template import Template
from promptls.syntax.yaml.nodes import Scalar
from promptls.text.positions import Span

_ROLES: Final = ("user", "assistant")
_SIGN: Final = "<"
"""How texts without a meaning begin; others come from a declaration."""


def set_roles(template: Template, data: dict[str, Any]) -> None:
    """Replace the texts in `data` that are roles of parts; those in a list alternate, as in a chat."""
    for _, path in printed_roles(template):
        _set(data, [step.key for step in path], _ROLES[0])


def printed_roles(template: Template) -> Iterator[tuple[Span, Path]]:
    """Yield the paths to the values that the role of a part reads, each with the span of the role."""
    spans = [
        value.span.shifted(start)
        for start, part in template.parts
        if isinstance(value := part.value("role"), Scalar) and value.dynamic
    ]
    if not spans:
        return
    starts = [span.start for span in spans]
    for use in resolved_uses(template):
        index = bisect_right(starts, use.span.start) - 1
        if index >= 0 and use.span.end <= spans[index].end:
            yield spans[index], use.path


def values_at(data: Any, path: Path) -> Iterator[Any]:
    """Yield the values in a sample's data at a path from a variable."""
    if not path:
        yield data
        return
    key = path[0].key
    if key in {Each.ELEMENT, Each.INDEX}:
        for element in data if isinstance(data, list) else ():
            yield from values_at(element, path[1:])
    elif isinstance(data, dict) and key in data:
        yield from values_at(data[key], path[1:])


def _set(value: Any, keys: Sequence[object], role: str) -> None:
    first, *others = keys
    if first is Each.ELEMENT and isinstance(value, list) and others:
        for number, element in enumerate(value):
            _set(element, others, _ROLES[number % len(_ROLES)])
    elif isinstance(value, dict) and first in value:
        if others:
            _set(value[first], others, role)
        elif str(value[first]).startswith(_SIGN):
            value[first] = role
