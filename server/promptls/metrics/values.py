"""Parsing of responses and expected values for the built-in metrics, and importing optional packages."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any, Final

from promptls.text.errors import UserError, parse_json

ABSENT: Final = object()
"""The value of a missing field."""


class NoJsonError(ValueError):
    """The response is not valid JSON; the message contains the location."""


def json_of(text: str) -> Any:
    """Parse `text` as JSON; raises NoJsonError."""
    try:
        return parse_json(text)
    except ValueError as error:
        raise NoJsonError(f"no JSON: {error}") from None


def items_of(value: object) -> list[Any]:
    """Return the items of a list or JSON list; other text is split at commas."""
    items = list_in(value)
    if items is not None:
        return items
    text = str(value).strip()
    try:
        return [json_of(text)]
    except NoJsonError:
        return [piece.strip() for piece in text.split(",") if piece.strip()]


def list_in(value: object) -> list[Any] | None:
    """Return the items of a list or JSON list; None for anything else."""
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    try:
        read = json_of(str(value).strip())
    except NoJsonError:
        return None
    return read if isinstance(read, list) else None


def item_set(value: object) -> frozenset[str]:
    """Return the items of a value as a set, ignoring case."""
    return frozenset(
        item.strip().casefold() if isinstance(item, str) else json.dumps(item, sort_keys=True, default=str)
        for item in items_of(value)
    )


def texts_of(value: object) -> list[str]:
    """Return the texts of a value: those of a list, or the value itself."""
    return [str(each) for each in value] if isinstance(value, list) and value else [str(value)]


def field_of(value: object, path: str) -> object:
    """Return the field at a path such as `a.b`, or ABSENT; names that contain dots take precedence."""
    if isinstance(value, dict) and path in value:
        return value[path]
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return ABSENT
        value = value[key]
    return value


def same_value(one: object, other: object) -> bool:
    """Return whether two values are equal.

    Lists of scalars are compared in any order, texts without surrounding white space.
    """
    if isinstance(one, list) or isinstance(other, list):
        if one is ABSENT or any(isinstance(item, dict | list) for item in [*items_of(one), *items_of(other)]):
            return one == other
        return item_set(one) == item_set(other)
    if isinstance(one, str) and isinstance(other, str):
        return one.strip() == other.strip()
    if isinstance(one, str) != isinstance(other, str) and not isinstance(one, dict) and one is not ABSENT:
        # All values in CSV files are texts.
        return str(one).strip().casefold() == str(other).strip().casefold()
    return one == other


def read_json(value: object) -> object:
    """Parse a JSON text; return any other value unchanged."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            return json_of(value)
        except NoJsonError:
            return value
    return value


def context_texts(value: object) -> list[str]:
    """Return the texts of a list or JSON list.

    Any other text is a single item; an empty text gives no items.
    """
    read = read_json(value)
    if isinstance(read, list):
        return [each if isinstance(each, str) else str(each) for each in read]
    text = str(value)
    return [text] if text.strip() else []


def import_required(module: str) -> Any:
    """Import the module; raises `UserError` with the package to install if it is missing."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0].replace("_", "-")
        raise UserError(
            f"this metric needs the package `{package}`", remedy='run `pip install "promptls[metrics]"`'
        ) from None
