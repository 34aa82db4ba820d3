"""promptls: a language server, a command line and a library for prompt templates."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
