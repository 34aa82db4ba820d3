"""The names of settings: which are valid where, and messages about unknown and invalid ones."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Any, Final, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel

from promptls.settings.valid_part import Invalid
from promptls.text.format import lower_first
from promptls.text.suggest import did_you_mean

Path: TypeAlias = tuple[int | str, ...]
"""The keys that lead to a setting."""

_USER_NAME: Final = "NAME"
"""The placeholder for a name that the user chooses."""


def names_at(model: type[BaseModel], path: Path) -> tuple[str, ...]:
    """Return the names of the settings that are allowed below `path`."""
    kind: Any = model
    for name in path:
        if is_model(kind):
            field = kind.model_fields.get(str(name))
            kind = field.annotation if field else None
        else:  # a mapping from user-defined names, or a list
            kind = (get_args(kind) or (None,))[-1]
        kind = _without_none(kind)
    return tuple(kind.model_fields) if is_model(kind) else ()


def unknown_key_message(found: Invalid, model: type[BaseModel]) -> str:
    """Return the end of a message about an unknown name: what was probably meant, or where it belongs."""
    name = str(found.path[-1])
    if is_of_project(name, model):
        return "; it is a setting, which belongs in `promptls.toml`"
    meant = did_you_mean(name, names_at(model, found.path[:-1]))
    if meant:
        return meant
    places = [f"`{'.'.join(place)}`" for place in _places(model, name, ())]
    return f"; it belongs at {' or '.join(places)}" if places else ""


def is_of_project(name: str, model: type[BaseModel]) -> bool:
    """Return whether `name` is one of the project's settings but not one in `model`."""
    from promptls.settings.project import Project

    is_of_model = name in model.model_fields or any(_places(model, name, ()))
    return model is not Project and name in Project.model_fields and not is_of_model


def wrong_value_message(found: Invalid, key: str, said: str) -> str:
    """Return the message about an invalid value; `said` describes a value that is present and wrong."""
    if found.kind == "missing":
        return f"`{key}` is missing"
    return f"{said}: {lower_first(found.message)}"


def first_without_name(invalid: tuple[Invalid, ...], model: type[BaseModel]) -> dict[Path, str]:
    """Return messages for settings that lack a user-defined name above them, for the first of each mapping.

    The others are the same mistake, and get an empty message.
    """
    found: dict[Path, str] = {}
    seen: set[Path] = set()
    for each in invalid:
        above, name = each.path[:-1], str(each.path[-1])
        if len(above) != 1 or each.is_unknown_key or name not in names_at(model, (*above, _USER_NAME)):
            continue
        fixed = ".".join(map(str, (*above, _USER_NAME, name)))
        found[each.path] = "" if above in seen else f"`{name}` belongs below a name: `{fixed}`"
        seen.add(above)
    return found


def _places(model: type[BaseModel], name: str, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the settings with this name, or its plural, below those of the top level."""
    for each, info in model.model_fields.items():
        kind = _without_none(info.annotation)
        path: tuple[str, ...] = (*above, each)
        if get_origin(kind) is dict:
            kind, path = _without_none(get_args(kind)[1]), (*path, _USER_NAME)
        if is_model(kind):
            yield from ((*path, each) for each in (name, f"{name}s") if each in kind.model_fields)
            yield from _places(kind, name, path)


def _without_none(kind: Any) -> Any:
    """Return the type of a value other than None, or the model among several types."""
    if get_origin(kind) not in {Union, UnionType}:
        return kind
    others = [each for each in get_args(kind) if each is not type(None)]
    return next((each for each in others if is_model(each)), others[0] if len(others) == 1 else kind)


def is_model(kind: Any) -> bool:
    """Return whether the type of a setting is a pydantic model."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)
