"""Whether a value fits a JSON Schema, decided without the network and in bounded time.

The schema stands in the file that is checked, and opening a file must neither fetch what it
names nor hang on a pattern that it holds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

_SECONDS: Final = 0.2
"""How long one `pattern` may be tried on one text."""

_UNDECIDED: Final = (RecursionError, TypeError, ValueError, TimeoutError)


def schema_fault(value: Any, schema: dict[str, Any]) -> tuple[str, tuple[str | int, ...]]:
    """What is wrong with the value, in the words of jsonschema, and the keys that lead to it in the value.

    Nothing where that cannot be decided: where the schema itself is wrong, refers to another document, or
    takes too long.
    """
    return SchemaCheck(schema).fault(value)


class SchemaCheck:
    """Looks at many values against one schema, which is read once."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        import jsonschema
        import referencing

        self._validator: Any = None
        with contextlib.suppress(jsonschema.SchemaError, *_UNDECIDED):
            chosen = jsonschema.validators.validator_for(schema)
            chosen.check_schema(dict(schema))
            extend: Any = jsonschema.validators.extend
            validator = extend(chosen, {"pattern": _pattern})
            self._validator = validator(schema, registry=referencing.Registry())

    def error(self, value: Any) -> str:
        """What is wrong with the value; nothing where that cannot be decided."""
        return self.fault(value)[0]

    def fault(self, value: Any) -> tuple[str, tuple[str | int, ...]]:
        """The same, with the keys that lead to it."""
        from referencing.exceptions import Unresolvable

        if self._validator is None:
            return "", ()
        try:
            errors = self._validator.iter_errors(value)
            first = min(errors, key=lambda found: [str(step) for step in found.path], default=None)
        except (Unresolvable, *_UNDECIDED):
            return "", ()
        return (first.message, tuple(first.absolute_path)) if first else ("", ())


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
