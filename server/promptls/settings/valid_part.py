"""Validate settings: the valid part of them, and the problems of the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

    Model = TypeVar("Model", bound=BaseModel)

MAX_PROBLEMS = 100
"""How many problems are reported for the settings of one file, or for one header."""
_UNION_BRANCHES = ("list[", "dict[", "nullable[", "union[", "function-")
"""Prefixes that pydantic gives to a union's branches, which it mixes with the keys of an error location."""

_PATTERNS = {
    "api_key_env": "Input should be the name of an environment variable, such as `OPENAI_API_KEY`: "
    "the key itself is never stored in a file",
    "ragas_version": "Input should be a release from `0.1.0` to `0.1.21`; later ones have no prompt objects",
}
"""Descriptions of text patterns for users, by pattern name."""
_CLASS = re.compile(r" or instance of \w+")


class Invalid(NamedTuple):
    """An invalid value: the keys that lead to it, and pydantic's error message.

    `kind` is pydantic's type of the error, or `text_for_list` for a text that must be in a list.
    """

    path: tuple[str | int, ...]
    message: str
    kind: str

    @property
    def is_unknown_key(self) -> bool:
        """Whether the last key of the path does not exist."""
        return self.kind == "extra_forbidden"


def valid_part(model: type[Model], values: Mapping[str, Any]) -> tuple[Model, tuple[Invalid, ...]]:
    """Return the valid part of `values` as `model`, and the invalid values.

    Only the key of an invalid value is dropped. If the rest is not valid without it, such as an experiment
    without a dataset, the enclosing entry of the mapping is dropped as well.
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
    """Return `values` without `paths`: lists are dropped whole, as is anything that lacks a required key."""
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
    """Return each error once; for a union, only those of the branch that matches the value best."""
    messages: dict[tuple[str | int, ...], list[str]] = {}
    kinds: dict[tuple[str | int, ...], str] = {}
    for found in error.errors(include_url=False, include_context=False):
        path = _path(values, found["loc"])
        message, kind = found["msg"], found["type"]
        if kind == "list_type" and isinstance(found["input"], str):
            kind = "text_for_list"
            message = f"Input should be a list: `[{found['input']}]`"
        if path == ("samples",) and isinstance(found["input"], dict | list):
            message = "Input should be the path of a JSON or YAML file, and not the data itself"
        if path[:1] == ("input_keys",) and kind == "string_type" and isinstance(found["input"], dict):
            message = "Input should be a name; types belong to a mapping: `input_keys: {name: {type: array}}`"
        if kind == "string_pattern_mismatch":
            message = _PATTERNS.get(str(path[-1]), message)
        messages.setdefault(path, []).append(message)
        if kind == "extra_forbidden" or path not in kinds:
            kinds[path] = kind
    parents = {path[:length] for path in messages for length in range(len(path))}
    return tuple(
        Invalid(path, _join(texts), kinds[path]) for path, texts in messages.items() if path not in parents
    )


def _path(values: Any, location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return the keys of `location` that exist in `values`, including the last one if it is missing there."""
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


def _join(messages: list[str]) -> str:
    """Join several messages for one value: what it should be instead, in terms of YAML and TOML."""
    start = "Input should be "
    expected = [_CLASS.sub("", message).replace("a valid dictionary", "a mapping") for message in messages]
    if len(expected) > 1 and all(message.startswith(start) for message in expected):
        return start + " or ".join(dict.fromkeys(message.removeprefix(start) for message in expected))
    return expected[0]
