"""In which language a text is written: its host format, and how templates mark what is filled in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Host(Enum):
    """The format of the text around what is filled in."""

    YAML = "YAML"
    JSON = "JSON"
    TEXT = "text"
    """Anything else: Markdown, Python, rows of a dataset."""


class Dialect(Enum):
    """How a template marks what is filled in."""

    JINJA = "Jinja"
    FIELDS = "{fields}"
    """As `str.format` and OpenCompass have them. They are filled into values, after the host is read."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Language:
    """A host with a dialect."""

    host: Host
    dialect: Dialect

    @property
    def has_tags(self) -> bool:
        """Whether Jinja tags are in the text itself, so that the host is read behind them."""
        return self.dialect is Dialect.JINJA


JINJA_YAML: Final = Language(Host.YAML, Dialect.JINJA)
JSON_FIELDS: Final = Language(Host.JSON, Dialect.FIELDS)
PLAIN_TEXT: Final = Language(Host.TEXT, Dialect.NONE)
