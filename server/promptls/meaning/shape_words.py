"""Shapes as people read them: `list of mappings with author, content`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from promptls.meaning.shape import Arguments, Shape

_PLURALS: Final = {"text": "texts", "mapping": "mappings", "list": "lists", "number": "numbers",
                   "boolean": "booleans", "scalar": "scalars", "callable": "functions"}  # fmt: skip
_SINGULARS: Final = {
    "callable": "function",
    "unknown": "any",
    "any": "any",
    "scalar": "text, number or boolean",
}
_MOST_KEYS: Final = 8


def words_of_shape(shape: Shape) -> str:
    """The words for one value of a shape."""
    return _words(shape, plural=False)


def _words(shape: Shape, *, plural: bool) -> str:
    if shape.kind == "union":
        *first, last = [_words(each, plural=plural) for each in shape.alternatives]
        return f"{', '.join(first).replace(' or ', ', ')} or {last}"
    word = _PLURALS.get(shape.kind, "values") if plural else _SINGULARS.get(shape.kind, shape.kind)
    if shape.kind == "list" and shape.element is not None and shape.element.kind not in {"unknown", "any"}:
        return f"{word} of {_words(shape.element, plural=True)}"
    if shape.kind == "mapping" and shape.keys:
        names = [f"{name}?" if below.optional else name for name, below in shape.keys[:_MOST_KEYS]]
        more = ", …" if len(shape.keys) > _MOST_KEYS else ""
        return f"{word} with {', '.join(names)}{more}"
    if shape.kind == "callable" and shape.arguments is not None:
        return f"{word} of {_arguments_words(shape.arguments)}"
    return word


def _arguments_words(arguments: Arguments) -> str:
    least, most = arguments.least, arguments.most
    count = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
    noun = "argument" if count == "1" else "arguments"
    keywords = f" and {', '.join(f'{name}=' for name in arguments.keywords)}" if arguments.keywords else ""
    return f"{count} {noun}{keywords}"
