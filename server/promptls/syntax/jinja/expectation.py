"""What may stand at a place inside a Jinja tag, as a value."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from promptls.syntax.jinja.nodes import Expression
from promptls.text.span import Span

What = Literal[
    "tag",
    "expression",
    "operator",
    "attribute",
    "filter",
    "test",
    "key",
    "value",
    "path",
    "template",
    "imported",
    "block",
    "target",
    "element",
    "words",
]
BY_ELEMENTS_KEY: Final = frozenset({"selectattr", "rejectattr", "groupby"})
"""Filters whose first argument names a key of each element."""
OPERATORS: Final = ("if", "else", "and", "or", "not in", "in", "is", "is not")
"""The words that may stand behind an operand."""


class Expected(NamedTuple):
    """What may stand at a place; spans and offsets count from the start of the tag.

    `what` is `tag` (a tag's name), `expression` (with a `target` one that it is compared with), `operator`
    (a word such as `if` behind an operand), `attribute` or `key` (of `target`), `filter`, `test`, `value`
    (a text that `target` is compared with), `path` (inside the quotes of a template's name), `template`
    (such a name, with its quotes), `imported` (a name of the template `template`), `block` (a block's
    name), `target` (a variable that is set), `element` (a key that the elements of the list `target` have),
    or `words` (nothing but one of `words`).
    `word` is what stands there already, to the left and the right of the place.
    """

    what: What
    word: Span
    keyword: str = ""
    target: Expression | None = None
    words: tuple[str, ...] = ()
    template: str = ""
    quote: str = ""
    calls: bool = False
    """Whether the place is an argument's beginning, where `name=` may stand too."""
