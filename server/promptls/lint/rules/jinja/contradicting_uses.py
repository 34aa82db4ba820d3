"""Input used with incompatible types.

## What it does

Compares the uses of each input, and of the values under its keys, if one use is never reached without
the other: a method of texts together with arithmetic, a call, or a method of mappings or lists. Uses in
branches that exclude each other, and inputs whose type the template itself tests, are not reported. A
mapping or a loop together with arithmetic is a hint: no JSON value supports both, but objects of some
libraries do.

## Why is this bad?

Rendering fails for every value of the input.

## Example

```yaml
- name: ticket
  content: |
    {{ count.strip() }} of {{ count + 1 }}
                              ^^^^^ contradicting-uses: `count` is used as a number here, and as a text (`.strip`) elsewhere: no value is both
```

Use instead:

```yaml
- name: ticket
  content: |
    {{ count }} of {{ count + 1 }}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.declared_types import path_text
from promptls.lint.rule import PARTS_KINDS, File, Finding, RelatedInformation, Rule
from promptls.semantic.flow.shapes import CertainUse, certain_uses, used_shapes
from promptls.semantic.types.shape import Shape
from promptls.text.positions import Span

_KINDS: Final = {"text": "text", "number": "number", "mapping": "mapping", "called": "function",
                 "iterated": "list"}  # fmt: skip
"""The kinds that a use requires of a value, by `Use.need`."""
_METHODS: Final = {
    "mapping": frozenset({"items", "keys", "values"}),
    "list": frozenset({"append", "extend"}),
    "text": frozenset(
        {"capitalize", "endswith", "isdigit", "lower", "lstrip", "removeprefix", "removesuffix", "rstrip",
         "splitlines", "startswith", "strip", "title", "upper", "zfill"}
    ),
}  # fmt: skip
"""Methods that only values of one kind have."""
_NEVER_BOTH: Final = {
    frozenset({"text", "number"}): "",
    frozenset({"text", "mapping"}): "",
    frozenset({"text", "function"}): "",
    frozenset({"text", "list"}): "",
    frozenset({"number", "mapping"}): "JSON ",
    frozenset({"number", "list"}): "JSON ",
}
"""The pairs of kinds that no value has at once; with "JSON ", a data frame or similar object may."""


def check(file: File) -> Iterator[Finding]:
    """Yield the uses that contradict an earlier one, at most one for each value."""
    declared = {key.name for key in file.template.declarations.inputs or () if "type" in key.schema}
    shapes = used_shapes(file.template)
    suspicious = {name for name, shape in shapes.items() if name not in declared and _is_suspicious(shape)}
    if not suspicious:
        return
    known: dict[tuple[object, ...], list[CertainUse]] = {}
    reported = set()
    for each in certain_uses(file.template):
        path_keys = tuple(step.key for step in each.use.path)
        if (
            path_keys[0] not in suspicious
            or path_keys in reported
            or _is_tested(shapes[str(path_keys[0])], path_keys[1:])
        ):
            continue
        earlier = known.setdefault(path_keys, [])
        found = next((finding for other in earlier for finding in _contradiction(file, each, other)), None)
        if found is not None:
            reported.add(path_keys)
            yield found
        earlier.append(each)


def _is_suspicious(shape: Shape) -> bool:
    """Return whether the uses of a value, or of something in it, match no single kind."""
    if shape.kind == "union":
        return True
    return any(_is_suspicious(below) for _, below in shape.keys)


def _is_tested(shape: Shape, keys: tuple[object, ...]) -> bool:
    """Return whether the template tests the type of a value or its container, or their types are unknown."""
    below: Shape | None = shape
    for key in (*keys, None):
        if below is None or below.tested or below.kind == "any":
            return True
        below = below.key(str(key)) if key is not None else below
    return False


def _contradiction(file: File, use: CertainUse, other: CertainUse) -> Iterator[Finding]:
    """Yield the conflict of two uses of a value if neither is reached without the other."""
    kinds = [_kind(use.use.need), _kind(other.use.need)]
    shared = min(len(use.blocks), len(other.blocks))
    library = _NEVER_BOTH.get(frozenset(filter(None, kinds)))
    if library is None or None in kinds or use.blocks[:shared] != other.blocks[:shared]:
        return
    if "list" in kinds and not library and "iterated" in {use.use.need, other.use.need}:
        return  # a text can be iterated over
    starts = [each.use.span.start for each in (use, other)]
    before = {file.template.source.slice(Span(max(0, each - len("range(")), each)) for each in starts}
    if "list" in kinds and "range(" in before:
        return  # `wrong-arguments` reports it
    here, there = (
        f"a {kind}{_method(each.use.need)}" for kind, each in zip(kinds, (use, other), strict=True)
    )
    name = path_text(use.use.path)
    message = f"`{name}` is used as {here} here, and as {there} elsewhere: no {library}value is both"
    related = RelatedInformation(file.path, other.use.span, f"here it is used as {there}")
    yield Finding(use.use.span, message, related=(related,), severity="hint" if library else None)


def _kind(need: str) -> str | None:
    if not need.startswith("."):
        return _KINDS.get(need)
    return next((kind for kind, methods in _METHODS.items() if need[1:] in methods), None)


def _method(need: str) -> str:
    return f" (`{need}`)" if need.startswith(".") else ""


RULE = Rule(check, severity="warning", kinds=PARTS_KINDS)
