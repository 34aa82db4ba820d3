"""promptls: a language server, a command line and a library for prompt templates."""

from __future__ import annotations

__version__ = "0.1.0"
