"""What may stand at a place inside a Jinja tag: found from the tokens in front of it alone.

What follows the place does not matter, and a tag that is not closed is the normal case: somebody
is typing it.
"""

from __future__ import annotations

import re
from typing import Final

from promptls.syntax.jinja.expectation import Expected
from promptls.syntax.jinja.expected_by_keyword import expected_behind
from promptls.syntax.jinja.expected_in_string import expected_in_string
from promptls.syntax.jinja.tokens import tokenize
from promptls.text.span import Span

_WORD: Final = re.compile(r"\w*")


def expected_in_tag(text: str, inner_start: int, inner_end: int, place: int) -> Expected | None:
    """What may stand at `place` in an output or statement tag; None where nothing can be named.

    `text` is the tag's, `inner_start` and `inner_end` bound what stands between its delimiters.
    """
    tokens = tokenize(text, inner_start, place)[:-1]
    opened = next((i for i, token in enumerate(tokens) if token.kind == "unknown"), None)
    if opened is not None:
        token = tokens[opened]
        if token.text not in {"'", '"'}:
            return None
        return expected_in_string(text, inner_start, inner_end, place, tokens[: opened + 1])
    before, start = tokens, place
    if tokens and tokens[-1].end == place:
        if tokens[-1].kind == "name":
            before, start = tokens[:-1], tokens[-1].start
        elif tokens[-1].kind in {"integer", "float", "string"}:
            return None
    match = _WORD.match(text, place, max(place, inner_end))
    word = Span(start, match.end() if match else place)
    found = expected_behind(text, inner_start, before)
    return found._replace(word=word) if found else None
