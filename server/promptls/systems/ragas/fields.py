"""A text with `{name}` fields, filled in as Python's `str.format` does, but out of reach of Python itself."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment, SandboxedFormatter


def filled(text: str, inputs: Mapping[str, Any]) -> str:
    """The text with the inputs in its fields; raises ValueError where a field stands for none of them."""
    # Jinja's formatter keeps fields such as `{text.__class__}` from reaching into Python.
    formatter = SandboxedFormatter(SandboxedEnvironment(undefined=StrictUndefined))
    try:
        return formatter.vformat(text, (), inputs)
    except (LookupError, ValueError, AttributeError, TypeError, TemplateError) as error:
        raise ValueError(
            f"The text cannot be filled in, as its braces do not stand for inputs ({_said(error)}): "
            "write a brace that is meant as text twice, `{{` or `}}`."
        ) from error


def field_names(text: str) -> tuple[str, ...]:
    """The names of the text's fields, each once, in order; raises ValueError where braces are unbalanced.

    A field without a name counts as the empty name.
    """
    found: dict[str, None] = {}
    for _, field, form, _ in Formatter().parse(text):
        if field is not None:
            found[field.split(".")[0].split("[")[0]] = None
            if form and "{" in form:
                found.update(dict.fromkeys(field_names(form)))
    return tuple(found)


def _said(error: Exception) -> str:
    return f"there is no `{error.args[0]}`" if isinstance(error, KeyError) and error.args else str(error)
