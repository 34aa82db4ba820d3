"""Whether a value fits the ways in which a template uses it; said only where it certainly does not."""

from __future__ import annotations

from typing import Final

from promptls.meaning.shape import Shape
from promptls.text.nearest import nearest

_WORDS: Final = {"text": "a text", "number": "a number", "boolean": "a boolean", "list": "a list",
                 "mapping": "a mapping"}  # fmt: skip


def misfit(name: str, used: Shape, given: Shape) -> str | None:
    """What is wrong with a value for an input of this name; None where nothing certainly is.

    `used` is settled. Of a mapping that is given, other keys than its own are missing unless it has an
    `element`. What is only printed or compared may be anything.
    """
    if given.kind == "union":
        return next((said for each in given.alternatives if (said := misfit(name, used, each))), None)
    if given.kind not in _WORDS or used.kind in {"unknown", "any", "scalar", "text", "number", "boolean"}:
        return None
    if used.kind == "union":
        same = used.alternative(given.kind)
        if same is not None:
            return misfit(name, same, given)
        each_said = [misfit(name, each, given) for each in used.alternatives]
        return None if None in each_said else each_said[-1]
    if used.kind == given.kind:
        return _inside(name, used, given)
    if used.kind == "list" and given.kind in {"text", "mapping"} and not _has_inside(used.element):
        return None  # a loop goes through letters and keys too
    if used.kind == "mapping" and not used.element and all(below.optional for _, below in used.keys):
        return None
    return f"`{name}` is {_WORDS[given.kind]}, and is used as {used.words}"


def _has_inside(element: Shape | None) -> bool:
    """Whether what a loop gives is used as more than a text."""
    return element is not None and element.kind in {"mapping", "list"}


def _inside(name: str, used: Shape, given: Shape) -> str | None:
    """What is wrong with the keys or elements of a value of the right kind."""
    if used.kind == "list":
        if used.element is None or given.element is None:
            return None
        return misfit(f"{name}[…]", used.element, given.element)
    own = dict(given.keys)
    unread = own.keys() - dict(used.keys).keys()
    for key, below in used.keys:
        if key in own:
            said = misfit(f"{name}.{key}", below, own[key])
        elif below.optional or given.element is not None or hasattr(dict, key):
            said = None
        else:
            meant = nearest(key, unread)
            said = f"`{name}` lacks `{key}`" + (f"; it has `{meant}`" if meant else "")
        if said is not None:
            return said
    return None
