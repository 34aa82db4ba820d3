"""How the texts of a Python configuration are made: plain, or so that more is known of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple


def _plain(text: str, _node: ast.expr | ast.keyword) -> str:
    return text


def _cut(_text: str, made: str) -> str:
    return made


def _joined(pieces: Sequence[Any]) -> Any:
    return "".join(map(str, pieces))


class Reader(NamedTuple):
    """How texts are made, for who wants to know more of them than their characters.

    `text` gives the text that a literal, or the name of an argument, is; `joined` what several pieces make,
    symbols among them; `cut` what is left of a text whose ends were cut off. `doubted` is told of each value
    that code which is not read may change. An `is_exact` reader makes a symbol of a text that depends on
    one, else the symbol's source stands in it.
    """

    text: Callable[[str, ast.expr | ast.keyword], str] = _plain
    joined: Callable[[Sequence[Any]], Any] = _joined
    cut: Callable[[str, str], str] = _cut
    doubted: Callable[[Any], None] = lambda _value: None
    is_exact: bool = False


PLAIN: Final = Reader()
