"""JSON Schemas as types: the shape that a schema declares, and validation of values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

from promptls.semantic.types.shape import (
    NOWHERE,
    SCALARS,
    UNKNOWN,
    Shape,
    ShapeKind,
    alternatives_of,
    merge_shapes,
    merged_both,
    union_of,
)
from promptls.text.patterns import PatternError, search_pattern


def canonical_text(value: Any) -> str:
    """Return a text that two YAML values share only if they have equal data and scalar types.

    Keys may be of any type, also mixed in one mapping, which `json.dumps` can neither sort nor write.
    """
    if isinstance(value, dict):
        pairs = sorted(f"{canonical_text(key)}:{canonical_text(each)}" for key, each in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(canonical_text(each) for each in value)}]"
    return f"{type(value).__name__} {value!r}"


EDITOR_SECONDS: Final = 0.5
"""The time limit of one check in the editor."""

RUN_SECONDS: Final = 3.0
"""The time limit of one check in a run."""

_PATTERN_SECONDS: Final = 0.2
"""The time limit for matching one `pattern` against one text."""

_DEADLINE: ContextVar[float] = ContextVar("_DEADLINE")

_Keyword: TypeAlias = Callable[[Any, Any, Any, Any], "Iterator[Any] | None"]


class UndecidedError(Exception):
    """A check without a result; the message explains why to the user."""


class UnusableSchemaError(UndecidedError):
    """A schema against which no value can be checked."""


def schema_fault(value: Any, schema: dict[str, Any]) -> tuple[str, tuple[str | int, ...]]:
    """Return jsonschema's message about what is wrong with the value, and the path of keys to it.

    Empty if that cannot be decided: the schema itself is invalid, refers to a different document, or
    takes too long.
    """
    return SchemaCheck(schema).fault(value)


def invalid_schema(schema: Any) -> tuple[str, tuple[str | int, ...]]:
    """Return what is wrong with a schema according to its dialect, and the path of keys to it.

    Empty if nothing is.
    """
    from jsonschema.validators import validator_for

    try:
        error = _error_in(schema, _limit(validator_for(schema)), EDITOR_SECONDS)
    except (UndecidedError, AttributeError, TypeError, ValueError):
        return "", ()
    return (error.message, tuple(error.absolute_path)) if error else ("", ())


class SchemaCheck:
    """Validates many values against one schema, which is prepared once."""

    def __init__(self, schema: Mapping[str, Any], seconds: float = EDITOR_SECONDS) -> None:
        """Prepare the schema; each check is limited to `seconds`."""
        import referencing

        self._seconds = seconds
        self._validator: Any = None
        self._unusable = ""
        try:
            chosen = _dialect(schema, seconds)
            self._validator = chosen(schema, registry=referencing.Registry())
        except UndecidedError as error:
            self._unusable = str(error)

    def errors(self, value: Any) -> list[Any]:
        """Return the `ValidationError`s of jsonschema. Raises `UndecidedError` if there is no result."""
        if self._validator is None:
            raise UnusableSchemaError(self._unusable)
        errors: list[Any] = _within(self._seconds, lambda: list(self._validator.iter_errors(value)))
        return errors

    def fault(self, value: Any) -> tuple[str, tuple[str | int, ...]]:
        """Return what is wrong with the value, and the keys that lead to it; empty if that is undecided."""
        try:
            return self._first(value)
        except UndecidedError:
            return "", ()

    def problem(self, value: Any) -> str:
        """Return what is wrong with the value, or with the check; empty if the schema is unusable."""
        try:
            return self._first(value)[0]
        except UnusableSchemaError:
            return ""
        except UndecidedError as error:
            return str(error)

    def _first(self, value: Any) -> tuple[str, tuple[str | int, ...]]:
        errors = self.errors(value)
        first = min(errors, key=lambda found: [str(step) for step in found.path], default=None)
        return (first.message, tuple(first.absolute_path)) if first else ("", ())


def _dialect(schema: Any, seconds: float) -> Any:
    """Return the class that checks values against the schema; raises `UnusableSchemaError`."""
    from jsonschema.validators import validator_for

    try:
        chosen = _limit(validator_for(schema))
        wrong = _error_in(schema, chosen, seconds)
        if wrong is None:
            _check_keywords(schema)
            return chosen
    except UndecidedError as error:
        raise UnusableSchemaError(str(error)) from None
    except (AttributeError, TypeError, ValueError) as error:
        raise UnusableSchemaError(f"the schema is not a JSON Schema: {error}") from None
    raise UnusableSchemaError(f"the schema is not a JSON Schema: {wrong.message}")


def _error_in(schema: Any, dialect: Any, seconds: float) -> Any:
    """Return the first error of a schema according to its dialect, or None; raises `UndecidedError`."""
    checker = dialect(dialect.META_SCHEMA, format_checker=dialect.FORMAT_CHECKER)
    return _within(seconds, lambda: next(checker.iter_errors(dict(schema)), None))


def _check_keywords(schema: Any) -> None:
    """Raise `UnusableSchemaError` for keywords whose combination jsonschema cannot check in bounded time."""
    waiting, seen, keys = [schema], set[int](), set[str]()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:  # YAML aliases may repeat one mapping very many times
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            keys |= value.keys()
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    if {"patternProperties", "unevaluatedProperties"} <= keys:
        raise UnusableSchemaError(
            "a schema with both `patternProperties` and `unevaluatedProperties` is not supported"
        )


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """Return the result of `work`; raises `UndecidedError` if it fails or takes too long."""
    from referencing.exceptions import Unresolvable

    token = _DEADLINE.set(time.monotonic() + seconds)
    try:
        return work()
    except Unresolvable as error:
        raise UnusableSchemaError(
            f"the schema refers to `{error.ref}`, which it does not contain; nothing is fetched"
        ) from None
    except PatternError as error:
        raise UnusableSchemaError(f"the schema has a pattern that cannot be used: {error}") from None
    except TimeoutError:
        raise UndecidedError(
            f"the check against the schema took too long; it was stopped after {seconds:g} seconds"
        ) from None
    except RecursionError:
        raise UndecidedError("the schema or the value is nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise UndecidedError(f"the schema cannot be applied: {error}") from None
    finally:
        _DEADLINE.reset(token)


@lru_cache(maxsize=16)
def _limit(dialect: Any) -> Any:
    """Return a dialect of JSON Schema whose keywords are checked in bounded time."""
    import attrs
    import jsonschema

    keywords = dict(dialect.VALIDATORS)
    for name, limited in _KEYWORDS.items():
        if name in keywords:
            keywords[name] = limited(keywords[name])
    extend: Any = jsonschema.validators.extend
    made = extend(dialect, {name: _timed(keyword) for name, keyword in keywords.items()})
    fields = [each for each in attrs.fields(made) if each.init]

    def evolve(self: Any, **changes: Any) -> Any:
        # A subschema may name a different dialect, which must be limited as well.
        schema = changes.setdefault("schema", self.schema)
        chosen = jsonschema.validators.validator_for(schema, default=made)
        for each in fields:
            changes.setdefault(each.alias, getattr(self, each.name))
        return (made if chosen is made else _limit(chosen))(**changes)

    made.evolve = evolve
    return made


def _timed(keyword: _Keyword) -> _Keyword:
    def timed(validator: Any, argument: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if time.monotonic() > _DEADLINE.get():
            raise TimeoutError
        yield from keyword(validator, argument, instance, schema) or ()

    return timed


def _found(pattern: str, text: str) -> bool:
    left = _DEADLINE.get() - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return search_pattern(pattern, text, seconds=min(_PATTERN_SECONDS, left)) is not None


def _pattern(_keyword: _Keyword) -> _Keyword:
    import jsonschema

    def pattern(validator: Any, argument: Any, instance: Any, _schema: Any) -> Iterator[Any]:
        if validator.is_type(instance, "string") and not _found(argument, instance):
            yield jsonschema.ValidationError(f"{instance!r} does not match {argument!r}")

    return pattern


def _pattern_properties(_keyword: _Keyword) -> _Keyword:
    def pattern_properties(validator: Any, argument: Any, instance: Any, _schema: Any) -> Iterator[Any]:
        if not validator.is_type(instance, "object"):
            return
        for pattern, schema in argument.items():
            for name, value in instance.items():
                if _found(pattern, name):
                    yield from validator.descend(value, schema, path=name, schema_path=pattern)

    return pattern_properties


def _additional_properties(keyword: _Keyword) -> _Keyword:
    def additional_properties(
        validator: Any, argument: Any, instance: Any, schema: Any
    ) -> Iterator[Any] | None:
        patterns = schema.get("patternProperties", {})
        if patterns and validator.is_type(instance, "object"):
            schema = {key: value for key, value in schema.items() if key != "patternProperties"}
            instance = {
                name: value
                for name, value in instance.items()
                if not any(_found(each, name) for each in patterns)
            }
        return keyword(validator, argument, instance, schema)

    return additional_properties


def _unique_items(_keyword: _Keyword) -> _Keyword:
    import jsonschema

    def unique_items(validator: Any, argument: Any, instance: Any, _schema: Any) -> Iterator[Any]:
        # jsonschema compares each item with all others.
        if not argument or not validator.is_type(instance, "array"):
            return
        if len(set(map(_comparable, instance))) < len(instance):
            yield jsonschema.ValidationError(f"{instance!r} has non-unique elements")

    return unique_items


def _comparable(value: Any) -> Any:
    """Return a hashable value that is equal for values that JSON Schema considers equal."""
    if isinstance(value, dict):
        return dict, frozenset((key, _comparable(each)) for key, each in value.items())
    if isinstance(value, list):
        return list, tuple(map(_comparable, value))
    return isinstance(value, bool), value


_KEYWORDS: Final[Mapping[str, Callable[[_Keyword], _Keyword]]] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
"""Replacements for keywords that jsonschema does not check in bounded time."""


_BY_TYPE: Final[dict[str, ShapeKind]] = {
    "string": "text",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "array": "list",
    "object": "mapping",
}
_CHOICES: Final = ("anyOf", "oneOf")


def declared_over(declared: Shape, used: Shape) -> Shape:
    """Return the shape of a value whose declaration takes precedence over its uses.

    `used` is normalized. The alternatives of a declared union are completed by the uses of their kind.
    """
    if declared.kind == "any":
        return Shape("any", optional=declared.optional or used.optional)
    if declared.kind == "unknown":
        filled = [_fill(each, each) for each in alternatives_of(used)]
    else:
        filled = [_fill(each, used.alternative(each.kind) or UNKNOWN) for each in alternatives_of(declared)]
    optional = replace(used, optional=True, needed=NOWHERE, refuses_null=False)
    return union_of(filled, optional if declared.optional else used)


def _fill(declared: Shape, used: Shape) -> Shape:
    """Return a declared shape of one kind, completed by the uses of that kind."""
    keys = dict(used.keys)
    for name, shape in declared.keys:
        keys[name] = declared_over(shape, keys[name]) if name in keys else shape
    element = declared.element
    if used.element is not None:
        element = used.element if element is None else declared_over(element, used.element)
    return Shape(declared.kind, keys=tuple(sorted(keys.items())), element=element, arguments=used.arguments)


def shape_of_schema(schema: Any, *, optional: bool = False) -> Shape:
    """Return the shape that a JSON Schema declares.

    Unknown if it declares none, or none that is supported.
    """
    if not isinstance(schema, Mapping):
        return Shape(optional=optional)
    optional = optional or "default" in schema
    for key in _CHOICES:
        if isinstance(schema.get(key), list) and "type" not in schema:
            return _of_choices(schema[key], optional=optional)
    types = schema.get("type")
    named = [types] if isinstance(types, str) else types if isinstance(types, list) else []
    optional = optional or (isinstance(types, list) and "null" in types)
    kinds = {_BY_TYPE.get(each, "any") for each in named if isinstance(each, str) and each != "null"}
    if "any" in kinds:
        return Shape("any" if isinstance(types, list) else "unknown", optional=optional)
    if not kinds and isinstance(schema.get("properties"), dict):
        kinds = {"mapping"}
    if not kinds and isinstance(schema.get("items"), dict):
        kinds = {"list"}
    if kinds == SCALARS - {"scalar"}:
        kinds = {"scalar"}
    return union_of([_of_kind(kind, schema) for kind in kinds], Shape(optional=optional))


def _of_choices(choices: list[Any], *, optional: bool) -> Shape:
    """Return the shape of a value that matches one of some schemas; unknown if one of them has no type."""
    found: Shape | None = None
    for choice in choices:
        if isinstance(choice, Mapping) and choice.get("type") == "null":
            optional = True
            continue
        shape = shape_of_schema(choice)
        if shape.kind in {"unknown", "any"}:
            return Shape(optional=optional)
        optional = optional or shape.optional
        found = merged_both(found, shape)
    return union_of(alternatives_of(found or UNKNOWN), Shape(optional=optional))


def _of_kind(kind: ShapeKind, schema: Mapping[str, Any]) -> Shape:
    """Return the shape that a schema declares for values of one kind."""
    if kind == "mapping":
        return Shape(kind, keys=tuple(sorted(_properties(schema))))
    items = schema.get("items")
    if kind == "list" and isinstance(items, dict):
        return Shape(kind, element=shape_of_schema(items))
    return Shape(kind)


def _properties(schema: Mapping[str, Any]) -> Iterator[tuple[str, Shape]]:
    properties = schema.get("properties")
    required = schema.get("required")
    needed = set(map(str, required)) if isinstance(required, list) else set()
    for name, below in (properties if isinstance(properties, dict) else {}).items():
        yield str(name), shape_of_schema(below, optional=bool(needed) and name not in needed)


def shape_of_value(value: Any) -> Shape:
    """Return the shape of a piece of data; the elements of a list are combined."""
    if isinstance(value, bool):
        return Shape("boolean")
    if isinstance(value, (int, float)):
        return Shape("number")
    if isinstance(value, str):
        return Shape("text")
    if isinstance(value, dict):
        keys: dict[str, Shape] = {}
        for key, item in value.items():
            shape = shape_of_value(item)
            keys[str(key)] = merge_shapes(keys[str(key)], shape) if str(key) in keys else shape
        return Shape("mapping", keys=tuple(sorted(keys.items())))
    if isinstance(value, (list, tuple)):
        element: Shape | None = None
        for item in value:
            element = merged_both(element, shape_of_value(item))
        return Shape("list", element=element)
    return UNKNOWN
