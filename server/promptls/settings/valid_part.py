"""As much of some settings as is valid, and what is wrong with the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

    Model = TypeVar("Model", bound=BaseModel)

MAX_PROBLEMS = 100
"""How many problems of one file's settings, or of one header, are reported."""
_UNION_BRANCHES = ("list[", "dict[", "nullable[", "union[", "function-")
"""How pydantic's names of a union's branches begin, which stand among the keys of an error's place."""

_PATTERNS = {
    "api_key_env": "Input should be the name of an environment variable, such as `OPENAI_API_KEY`: "
    "the key itself stands in no file",
    "ragas_version": "Input should be a release from `0.1.0` to `0.1.21`; later ones have no prompt objects",
}
"""What a text of a certain form is, for people, by its key."""
_CLASS = re.compile(r" or instance of \w+")


class Invalid(NamedTuple):
    """One value that is not valid: the keys that lead to it, and what is wrong, in pydantic's words."""

    path: tuple[str | int, ...]
    message: str
    is_unknown_key: bool


def valid_part(model: type[Model], values: Mapping[str, Any]) -> tuple[Model, tuple[Invalid, ...]]:
    """`values` as `model`, without what is not valid, and that.

    A wrong value costs its key alone; where what is left is not valid without it, such as an experiment
    without a dataset, it costs the entry of the mapping that it stands in.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(dict(values)), ()
    except ValidationError as error:
        invalid = _invalid(error, values)
    valid = _whole(model, _without(values, [found.path for found in invalid])) or _whole(
        model, _without(values, [found.path[:2] for found in invalid])
    )
    return valid or model.model_validate(_without(values, [found.path[:1] for found in invalid])), invalid


def _whole(model: type[Model], values: Mapping[str, Any]) -> Model | None:
    from pydantic import ValidationError

    try:
        return model.model_validate(values)
    except ValidationError:
        return None


def _without(values: Mapping[str, Any], paths: Iterable[tuple[str | int, ...]]) -> dict[str, Any]:
    """`values` without what `paths` lead to: a list goes whole, and what misses a key goes with it."""
    below: dict[str | int, list[tuple[str | int, ...]]] = {}
    for path in paths:
        below.setdefault(path[0], []).append(path[1:])
    rest: dict[str, Any] = {}
    for key, value in values.items():
        inner = below.get(key)
        if inner is None:
            rest[key] = value
        elif isinstance(value, dict) and all(path and path[0] in value for path in inner):
            rest[key] = _without(value, inner)
    return rest


def _invalid(error: Any, values: Mapping[str, Any]) -> tuple[Invalid, ...]:
    """Return the errors, each once: of a union's branches only the one that the value comes nearest to."""
    messages: dict[tuple[str | int, ...], list[str]] = {}
    unknown: set[tuple[str | int, ...]] = set()
    for found in error.errors(include_url=False, include_context=False):
        path = _path(values, found["loc"])
        said = found["msg"]
        if found["type"] == "list_type" and isinstance(found["input"], str):
            said = f"Input should be a list: `[{found['input']}]`"
        if found["type"] == "string_pattern_mismatch":
            said = _PATTERNS.get(str(path[-1]), said)
        messages.setdefault(path, []).append(said)
        if found["type"] == "extra_forbidden":
            unknown.add(path)
    around = {path[:length] for path in messages for length in range(len(path))}
    return tuple(
        Invalid(path, _joined(said), path in unknown) for path, said in messages.items() if path not in around
    )


def _path(values: Any, location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return the keys of `location` that stand in `values`, and the last one where it is missing there."""
    path: list[str | int] = []
    node: Any = values
    for part in location:
        is_item = isinstance(node, list) and isinstance(part, int) and part < len(node)
        if is_item or (isinstance(node, Mapping) and part in node):
            node = node[part]
        elif isinstance(node, Mapping) and not str(part).startswith(_UNION_BRANCHES):
            path.append(part)
            break
        else:
            continue
        path.append(part)
    return tuple(path)


def _joined(said: list[str]) -> str:
    """Return several messages for one value as one, in YAML's and TOML's words: what it should be instead."""
    start = "Input should be "
    wanted = [_CLASS.sub("", message).replace("a valid dictionary", "a mapping") for message in said]
    if len(wanted) > 1 and all(message.startswith(start) for message in wanted):
        return start + " or ".join(dict.fromkeys(message.removeprefix(start) for message in wanted))
    return wanted[0]
