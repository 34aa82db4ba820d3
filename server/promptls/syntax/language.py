"""The language of a text: its host format, and how templates mark placeholders."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Host(Enum):
    """The format of the text around the placeholders."""

    YAML = "YAML"
    JSON = "JSON"
    TEXT = "text"
    """Anything else: Markdown, Python, rows of a dataset."""


class Dialect(Enum):
    """How a template marks placeholders."""

    JINJA = "Jinja"
    FIELDS = "{fields}"
    """As in `str.format` and OpenCompass. They are filled into values, after the host is parsed."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Language:
    """A host format with a dialect."""

    host: Host
    dialect: Dialect

    @property
    def has_tags(self) -> bool:
        """Whether Jinja tags are in the text itself, so that the host format is parsed after them."""
        return self.dialect is Dialect.JINJA


JINJA_YAML: Final = Language(Host.YAML, Dialect.JINJA)
JSON_FIELDS: Final = Language(Host.JSON, Dialect.FIELDS)
PLAIN_TEXT: Final = Language(Host.TEXT, Dialect.NONE)
