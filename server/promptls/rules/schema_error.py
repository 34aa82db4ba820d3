"""Whether a value fits a JSON Schema, decided without the network and in bounded time.

The schema stands in the file that is checked, and opening a file must neither fetch what it
names nor hang on a pattern that it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

_SECONDS: Final = 0.2
"""How long one `pattern` may be tried on one text."""


def schema_error(value: Any, schema: dict[str, Any]) -> str:
    """What is wrong with the value, in the words of jsonschema; nothing where that cannot be decided.

    It cannot where the schema itself is wrong, refers to another document, or takes too long.
    """
    import jsonschema
    import referencing
    from referencing.exceptions import Unresolvable

    undecided = (jsonschema.SchemaError, Unresolvable, RecursionError, TypeError, ValueError, TimeoutError)
    try:
        chosen = jsonschema.validators.validator_for(schema)
        chosen.check_schema(schema)
        extend: Any = jsonschema.validators.extend
        validator = extend(chosen, {"pattern": _pattern})
        errors = validator(schema, registry=referencing.Registry()).iter_errors(value)
        first = min(errors, key=lambda found: [str(step) for step in found.path], default=None)
    except undecided:
        return ""
    return first.message if first else ""


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    """The keyword `pattern`, searched by an engine that can be told when to give up."""
    import jsonschema

    # tiktoken's own engine: the standard library's has no time limit. It has no type stubs.
    regex = import_module("regex")
    try:
        if isinstance(instance, str) and not regex.search(pattern, instance, timeout=_SECONDS):
            yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")
    except regex.error:
        return
