"""Symbols and their occurrences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from promptls.semantic.flow.read_keys import KeyPath
from promptls.text.positions import Span

SymbolKind = Literal[
    "input",
    "key",
    "attribute",
    "variable",
    "parameter",
    "macro",
    "import",
    "function",
    "own",
    "block",
    "part",
    "section",
    "file",
    "metric",
    "named metric",
    "model",
    "experiment",
    "column",
]
"""`key` is a key or attribute of an input's value, `attribute` one of a namespace, `function` one of a
functions file, `own` a name defined by Jinja or Prompt Poet, `metric` a function that an experiment names,
`named metric` and `model` a name defined by a header or the settings, `experiment` a function in Python,
`column` one of a dataset that is not an input."""

Use = Literal["declaration", "write", "read"]
Where = Literal["template", "header", "data", "python", "settings"]


class Occurrence(NamedTuple):
    """An occurrence of a symbol: `span` is its name in the file at `path`, without quotes.

    A `declaration` declares the symbol, a `write` assigns a value, a `read` uses it. `where` is the kind of
    the file or region: Jinja or YAML of a template, its declarations, a data file, a Python program, a
    settings file. `is_likely` is true for occurrences that were matched only by name, without a reference to
    the symbol.
    """

    path: str
    span: Span
    use: Use
    where: Where = "template"
    is_likely: bool = False


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol at a place of a file: `span`, in the file at `path`, is the name as written there.

    `home` is the file that the symbol belongs to, and `anchor` one of its occurrences there; without one, the
    symbol is an input of the file, or the file itself. `name` is its name in `home`. For a key, `key_path` is
    the path to it from an input of `home`.
    """

    kind: SymbolKind
    name: str
    path: str
    span: Span
    home: str
    anchor: Span | None = None
    key_path: KeyPath = ()
