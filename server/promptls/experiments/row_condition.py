"""The conditions that choose rows: expressions of Jinja that end in time.

A condition may come from the manifest of a run that somebody else made. It can call nothing that makes a long
text of a short one, such as `"a" * 10**10`, `"a".center(10**10)` or `text | replace("", text)`.
"""

from __future__ import annotations

from typing import Any, Final

from jinja2 import StrictUndefined
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range

_FILTERS: Final = """
abs capitalize count d default dictsort first float int items last length list lower map max min reject
rejectattr reverse round select selectattr sort string sum title trim unique upper wordcount
"""
_METHODS: Final = """
capitalize casefold count endswith find get index isalnum isalpha isascii isdecimal isdigit isidentifier
islower isnumeric isspace istitle isupper items keys lower lstrip partition removeprefix removesuffix rfind
rindex rpartition rsplit rstrip split splitlines startswith strip swapcase title upper values
"""
_MAX_POWER: Final = 1_000


class ConditionEnvironment(ImmutableSandboxedEnvironment):
    """Knows the tests of Jinja, and the filters, methods and operators that look at values."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined)
        self.filters = {name: each for name, each in self.filters.items() if name in _FILTERS.split()}
        self.globals = {"range": safe_range}

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Calculate with numbers alone: a text may be multiplied and formatted to any length."""
        for value in (left, right):
            if not isinstance(value, int | float):
                raise SecurityError(f"`{operator}` is for numbers, not for {type(value).__name__}")
        if operator == "**" and max(abs(left), abs(right)) > _MAX_POWER:
            raise SecurityError(f"`**` is for numbers up to {_MAX_POWER:,}")
        return super().call_binop(context, operator, left, right)

    def is_safe_callable(self, obj: Any) -> bool:
        """Return whether a condition may call this: `range`, and the methods that look at values."""
        name = getattr(obj, "__name__", "")
        owner = getattr(obj, "__self__", None)
        return obj is safe_range or (isinstance(owner, str | list | dict) and name in _METHODS.split())
