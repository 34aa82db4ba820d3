"""What a symbol is, and a place where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from promptls.semantic.flow.keys import Way
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
functions file, `own` a name of Jinja's or Prompt Poet's own, `metric` a function that an experiment names,
`named metric` and `model` a name that a header or the settings give to one, `experiment` a function in
Python, `column` one of a dataset that is no input."""

Use = Literal["declaration", "write", "read"]
Where = Literal["template", "header", "data", "python", "settings"]


class Occurrence(NamedTuple):
    """A place of a symbol: `span` holds its name in the file at `path`, without quotes around it.

    A `declaration` says that there is such a thing, a `write` gives it a value, a `read` takes it.
    `where` is what holds the place: Jinja or YAML of a template, what a template declares, a file
    of samples or rows, a Python program, a settings file. It `is_likely` where a name is all that
    says so, and where nothing leads from the symbol to it.
    """

    path: str
    span: Span
    use: Use
    where: Where = "template"
    is_likely: bool = False


@dataclass(frozen=True, slots=True)
class Symbol:
    """What is at a place of a file: `span`, in the file at `path`, is the name as it stands there.

    `home` is the file that the symbol belongs to, and `anchor` one of its places there; without
    one it is what the file takes from its caller, or the file itself. `name` is its name at home.
    Of a key, `way` leads to it from an input of `home`.
    """

    kind: SymbolKind
    name: str
    path: str
    span: Span
    home: str
    anchor: Span | None = None
    way: Way = ()
