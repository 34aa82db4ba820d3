"""Whether a value fits the ways in which a template uses it; said only where it certainly does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from promptls.meaning.given import NOTHING, clause_words, is_false, is_needed
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
    if given == NOTHING:
        fails = used.kind == "list" and (used.refuses_null or not used.optional)
        return f"`{name}` is null, and is used as {used.words}" if fails else None
    if used.optional and not used.refuses_null and is_false(given):
        return None
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


def lacking(shapes: Mapping[str, Shape], given: Mapping[str, Shape]) -> Iterator[tuple[str, str]]:
    """The inputs that are not given, and are needed by what is, each with the words that say when."""
    for name, used in shapes.items():
        if name not in given and used.optional:
            clause = is_needed(used.needed, given, is_open=False)
            if clause is not None:
                yield name, clause_words(clause)


def misfit_by_name(shapes: Mapping[str, Shape], given: Mapping[str, Shape]) -> Iterator[tuple[str, str]]:
    """What is wrong with the values that are given for inputs, each with its name, in the order of names."""
    for name in sorted(given.keys() & shapes.keys()):
        if is_used(shapes[name], given, is_open=False):
            said = misfit(name, shapes[name], given[name])
            if said is not None:
                yield name, said


def is_used(used: Shape, beside: Mapping[str, Shape], *, is_open: bool) -> bool:
    """Whether a value is certainly used, as far as that goes by the values beside it."""
    return not used.needed or is_needed(used.needed, beside, is_open=is_open) is not None


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
    written = dict(used.keys)
    if used.element is not None:
        for key in sorted(own.keys() - written.keys()):
            said = misfit(f"{name}[…]", used.element, own[key])
            if said is not None:
                return said
    is_open = given.element is not None
    unread = own.keys() - written.keys()
    for key, below in used.keys:
        if key in own:
            fits = not is_used(below, own, is_open=is_open)
            said = None if fits else misfit(f"{name}.{key}", below, own[key])
        elif is_open or hasattr(dict, key):
            said = None
        elif below.optional:
            clause = is_needed(below.needed, own, is_open=is_open)
            where = "" if clause is None else f", which is read where {clause_words(clause)}"
            said = f"`{name}` lacks `{key}`{where}" if where else None
        else:
            meant = nearest(key, unread)
            said = f"`{name}` lacks `{key}`" + (f"; it has `{meant}`" if meant else "")
        if said is not None:
            return said
    return None
