"""What is said of a setting or header key that is not valid: where it belongs, and what was meant."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Union, get_args, get_origin

from promptls.text.nearest import did_you_mean

if TYPE_CHECKING:
    from pydantic import BaseModel

    from promptls.settings.valid_part import Invalid

Path: TypeAlias = tuple[int | str, ...]
"""The keys that lead to a setting."""

_OWN: Final = "NAME"
"""What stands for a name of the user's own."""
_MISSING: Final = "Field required"


def names_at(model: type[BaseModel], path: Path) -> tuple[str, ...]:
    """The names of the settings that may stand below `path`."""
    kind: Any = model
    for name in path:
        if _is_model(kind):
            field = kind.model_fields.get(str(name))
            kind = field.annotation if field else None
        else:  # a mapping from names of one's own, or a list
            kind = (get_args(kind) or (None,))[-1]
        kind = _without_none(kind)
    return tuple(kind.model_fields) if _is_model(kind) else ()


def unknown_words(found: Invalid, model: type[BaseModel]) -> str:
    """The end of a message of a name that is not known where it stands: what is meant, or where it stands."""
    name = str(found.path[-1])
    if is_of_project(name, model):
        return "; it is a setting, and stands in `promptls.toml`"
    meant = did_you_mean(name, names_at(model, found.path[:-1]))
    if meant:
        return meant
    places = [f"`{'.'.join(place)}`" for place in _places(model, name, ())]
    return f"; it stands as {' or '.join(places)}" if places else ""


def is_of_project(name: str, model: type[BaseModel]) -> bool:
    """Whether `name` is one of the project's settings and of none in `model`."""
    from promptls.settings.project import Project

    is_of_model = name in model.model_fields or any(_places(model, name, ()))
    return model is not Project and name in Project.model_fields and not is_of_model


def wrong_words(found: Invalid, key: str, said: str) -> str:
    """The message of a value that is not valid: `said` tells it of one that is there and wrong."""
    if found.message == _MISSING:
        return f"`{key}` is missing"
    return f"{said}: {found.message[:1].lower()}{found.message[1:]}"


def first_without_name(invalid: tuple[Invalid, ...], model: type[BaseModel]) -> dict[Path, str]:
    """Of settings above which a name of one's own is missing: what is said of the first of a mapping.

    The others are the same mistake, of which nothing is said.
    """
    found: dict[Path, str] = {}
    seen: set[Path] = set()
    for each in invalid:
        above, name = each.path[:-1], str(each.path[-1])
        if len(above) != 1 or each.is_unknown_key or name not in names_at(model, (*above, _OWN)):
            continue
        mended = ".".join(map(str, (*above, _OWN, name)))
        found[each.path] = "" if above in seen else f"`{name}` belongs below a name: `{mended}`"
        seen.add(above)
    return found


def _places(model: type[BaseModel], name: str, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The ways to the settings of this name, or of its plural, below those of the top."""
    for each, field in model.model_fields.items():
        kind = _without_none(field.annotation)
        way: tuple[str, ...] = (*above, each)
        if get_origin(kind) is dict:
            kind, way = _without_none(get_args(kind)[1]), (*way, _OWN)
        if _is_model(kind):
            yield from ((*way, each) for each in (name, f"{name}s") if each in kind.model_fields)
            yield from _places(kind, name, way)


def _without_none(kind: Any) -> Any:
    """The one type that a value may have beside None, or the model among several."""
    if get_origin(kind) not in {Union, UnionType}:
        return kind
    others = [each for each in get_args(kind) if each is not type(None)]
    return next((each for each in others if _is_model(each)), others[0] if len(others) == 1 else kind)


def _is_model(kind: Any) -> bool:
    from pydantic import BaseModel

    return isinstance(kind, type) and issubclass(kind, BaseModel)
